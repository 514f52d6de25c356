"""Streams groups of KIP-1071: record types 17 and 19 to 23 of `__consumer_offsets`. All values are v0 and flexible.

First written by 4.1 (early access). Their offsets are type 1 records; the group id is the application id.
"""

from typing import Final

from decoders.schema import INT8, INT16, INT32, INT64, STRING, UINT16, ArrayOf, Field, struct
from decoders.tables.shapes import flexible, target_epoch

_KEY_VALUE: Final = struct("KeyValue", Field("key", STRING), Field("value", STRING))

METADATA_VALUE: Final = flexible(
    "StreamsGroupMetadataValue",
    Field("epoch", INT32),
    Field("metadata_hash", INT64),
    Field("validated_topology_epoch", INT32, default=-1, tag=0),  # 4.2
    Field("last_assignment_configs", ArrayOf(_KEY_VALUE), nullable="0+", tag=1),  # 4.2
    Field("stored_description_topology_epoch", INT32, default=-1, tag=2),  # 4.4; -2 = uncertain
    Field("failed_description_topology_epoch", INT32, default=-1, tag=3),  # 4.4
)

_ENDPOINT: Final = struct("Endpoint", Field("host", STRING), Field("port", UINT16))
MEMBER_METADATA_VALUE: Final = flexible(
    "StreamsGroupMemberMetadataValue",
    Field("instance_id", STRING, nullable="0+"),
    Field("rack_id", STRING, nullable="0+"),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("rebalance_timeout_ms", INT32, default=-1),
    Field("topology_epoch", INT32),
    Field("process_id", STRING),
    Field("user_endpoint", _ENDPOINT, nullable="0+", default=None),
    Field("client_tags", ArrayOf(_KEY_VALUE)),
)

TARGET_ASSIGNMENT_METADATA_VALUE: Final = target_epoch("StreamsGroupTargetAssignmentMetadataValue")

_TASK_IDS: Final = struct("TaskIds", Field("subtopology_id", STRING), Field("partitions", ArrayOf(INT32)))
TARGET_ASSIGNMENT_MEMBER_VALUE: Final = flexible(
    "StreamsGroupTargetAssignmentMemberValue",
    Field("active_tasks", ArrayOf(_TASK_IDS)),
    Field("standby_tasks", ArrayOf(_TASK_IDS)),
    Field("warmup_tasks", ArrayOf(_TASK_IDS)),
)

_OWNED_TASK_IDS: Final = struct(
    "TaskIds",
    Field("subtopology_id", STRING),
    Field("partitions", ArrayOf(INT32)),
    Field("assignment_epochs", ArrayOf(INT32), nullable="0+", tag=0),  # 4.2; one per partition
)
CURRENT_MEMBER_ASSIGNMENT_VALUE: Final = flexible(
    "StreamsGroupCurrentMemberAssignmentValue",
    Field("member_epoch", INT32),
    Field("previous_member_epoch", INT32),
    Field("state", INT8),  # from 1, not from 0 as in the other group types
    Field("active_tasks", ArrayOf(_OWNED_TASK_IDS)),
    Field("standby_tasks", ArrayOf(_OWNED_TASK_IDS)),
    Field("warmup_tasks", ArrayOf(_OWNED_TASK_IDS)),
    Field("active_tasks_pending_revocation", ArrayOf(_OWNED_TASK_IDS)),
    Field("standby_tasks_pending_revocation", ArrayOf(_OWNED_TASK_IDS)),
    Field("warmup_tasks_pending_revocation", ArrayOf(_OWNED_TASK_IDS)),
)

_TOPIC_CONFIG: Final = struct("TopicConfig", Field("key", STRING), Field("value", STRING))
_TOPIC: Final = struct(
    "TopicInfo",
    Field("name", STRING),
    Field("partitions", INT32),
    Field("replication_factor", INT16),
    Field("topic_configs", ArrayOf(_TOPIC_CONFIG)),
)
_COPARTITION_GROUP: Final = struct(
    "CopartitionGroup",
    Field("source_topics", ArrayOf(INT16)),
    Field("source_topic_regex", ArrayOf(INT16)),
    Field("repartition_source_topics", ArrayOf(INT16)),
)
_SUBTOPOLOGY: Final = struct(
    "Subtopology",
    Field("subtopology_id", STRING),
    Field("source_topics", ArrayOf(STRING)),
    Field("source_topic_regex", ArrayOf(STRING)),
    Field("state_changelog_topics", ArrayOf(_TOPIC)),
    Field("repartition_sink_topics", ArrayOf(STRING)),
    Field("repartition_source_topics", ArrayOf(_TOPIC)),
    Field("copartition_groups", ArrayOf(_COPARTITION_GROUP)),
)
TOPOLOGY_VALUE: Final = flexible(
    "StreamsGroupTopologyValue", Field("epoch", INT32), Field("subtopologies", ArrayOf(_SUBTOPOLOGY))
)
