"""Share groups of KIP-932: record types 10 to 15 of `__consumer_offsets`. All values are version 0 and flexible.

First written by 4.0 (early access). 4.1 changed types 11 and 15 without a new version; the `_4_0` tables are the old
layouts. A share group commits no offsets to this topic; its positions are in `__share_group_state`.

Records of `__share_group_state` (KIP-932): the state of each share group in each partition.

A snapshot (type 0) is the full state of a partition, an update (type 1) has the changes since then; a snapshot with a
higher epoch replaces the previous one. 4.0 (early access) wrote both as the same version 0, but with an epoch of two
bytes and without timestamps.
"""

from typing import Final

from decoders.schema import INT8, INT16, INT32, INT64, STRING, UINT16, UUID, ArrayOf, Field, message, struct
from decoders.tables.shapes import flexible, target_epoch

MEMBER_METADATA_VALUE: Final = flexible(
    "ShareGroupMemberMetadataValue",
    Field("rack_id", STRING, nullable="0+"),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("subscribed_topic_names", ArrayOf(STRING)),
)

METADATA_VALUE: Final = flexible("ShareGroupMetadataValue", Field("epoch", INT32), Field("metadata_hash", INT64))
METADATA_VALUE_4_0: Final = flexible("ShareGroupMetadataValue", Field("epoch", INT32))

TARGET_ASSIGNMENT_METADATA_VALUE: Final = target_epoch("ShareGroupTargetAssignmentMetadataValue")

_TOPIC_PARTITIONS: Final = struct("TopicPartitions", Field("topic_id", UUID), Field("partitions", ArrayOf(INT32)))
TARGET_ASSIGNMENT_MEMBER_VALUE: Final = flexible(
    "ShareGroupTargetAssignmentMemberValue", Field("topic_partitions", ArrayOf(_TOPIC_PARTITIONS))
)

CURRENT_MEMBER_ASSIGNMENT_VALUE: Final = flexible(
    "ShareGroupCurrentMemberAssignmentValue",
    Field("member_epoch", INT32),
    Field("previous_member_epoch", INT32),
    Field("state", INT8),
    Field("assigned_partitions", ArrayOf(_TOPIC_PARTITIONS)),
)

_TOPIC_PARTITIONS_NAMED: Final = struct(
    "TopicPartitionsInfo", Field("topic_id", UUID), Field("topic_name", STRING), Field("partitions", ArrayOf(INT32))
)
_TOPIC_NAMED: Final = struct("TopicInfo", Field("topic_id", UUID), Field("topic_name", STRING))
STATE_PARTITION_METADATA_VALUE: Final = flexible(
    "ShareGroupStatePartitionMetadataValue",
    Field("initializing_topics", ArrayOf(_TOPIC_PARTITIONS_NAMED)),
    Field("initialized_topics", ArrayOf(_TOPIC_PARTITIONS_NAMED)),
    Field("deleting_topics", ArrayOf(_TOPIC_NAMED)),
)
STATE_PARTITION_METADATA_VALUE_4_0: Final = flexible(
    "ShareGroupStatePartitionMetadataValue",
    Field("initialized_topics", ArrayOf(_TOPIC_PARTITIONS_NAMED)),
    Field("deleting_topics", ArrayOf(_TOPIC_NAMED)),
)


_STATE_KEY: Final = (Field("group_id", STRING), Field("topic_id", UUID), Field("partition", INT32))
SNAPSHOT_KEY: Final = message("ShareSnapshotKey", *_STATE_KEY)
UPDATE_KEY: Final = message("ShareUpdateKey", *_STATE_KEY)

_STATE_BATCH: Final = struct(
    "StateBatch",
    Field("first_offset", INT64),
    Field("last_offset", INT64),
    Field("delivery_state", INT8),
    Field("delivery_count", INT16),
)

SNAPSHOT_VALUE: Final = flexible(
    "ShareSnapshotValue",
    Field("snapshot_epoch", INT32),
    Field("state_epoch", INT32),
    Field("leader_epoch", INT32),
    Field("start_offset", INT64),
    Field("delivery_complete_count", INT32, default=-1, tag=0),
    Field("create_timestamp", INT64),
    Field("write_timestamp", INT64),
    Field("state_batches", ArrayOf(_STATE_BATCH)),
)

UPDATE_VALUE: Final = flexible(
    "ShareUpdateValue",
    Field("snapshot_epoch", INT32),
    Field("leader_epoch", INT32),
    Field("start_offset", INT64),
    Field("delivery_complete_count", INT32, default=-1, tag=0),
    Field("state_batches", ArrayOf(_STATE_BATCH)),
)

SNAPSHOT_VALUE_4_0: Final = flexible(
    "ShareSnapshotValue",
    Field("snapshot_epoch", UINT16),
    Field("state_epoch", INT32),
    Field("leader_epoch", INT32),
    Field("start_offset", INT64),
    Field("state_batches", ArrayOf(_STATE_BATCH)),
)

UPDATE_VALUE_4_0: Final = flexible(
    "ShareUpdateValue",
    Field("snapshot_epoch", UINT16),
    Field("leader_epoch", INT32),
    Field("start_offset", INT64),
    Field("state_batches", ArrayOf(_STATE_BATCH)),
)
