"""Consumer groups of KIP-848: record types 3 to 8 and 16 of `__consumer_offsets`. All values are v0 and flexible.

First written by 3.7 (early access). 3.8 changed the layout of types 4, 5, 7 and 8 *without a new version*; the `_3_7`
tables are the old layouts. Tagged fields were added later; if absent they have their default.
"""

from typing import Final

from decoders.schema import BYTES, INT8, INT16, INT32, INT64, STRING, UUID, ArrayOf, Field, message, struct
from decoders.tables.shapes import flexible, target_epoch

METADATA_VALUE: Final = flexible(
    "ConsumerGroupMetadataValue",
    Field("epoch", INT32),
    Field("metadata_hash", INT64, tag=0),  # 4.1 (KIP-1101): replaces type 4
)

_PARTITION_RACKS: Final = struct("PartitionMetadata", Field("partition", INT32), Field("racks", ArrayOf(STRING)))
_TOPIC_METADATA: Final = struct(
    "TopicMetadata",
    Field("topic_id", UUID),
    Field("topic_name", STRING),
    Field("num_partitions", INT32),
    Field("partition_metadata", ArrayOf(_PARTITION_RACKS)),
)
PARTITION_METADATA_VALUE: Final = flexible(
    "ConsumerGroupPartitionMetadataValue", Field("topics", ArrayOf(_TOPIC_METADATA))
)
PARTITION_METADATA_VALUE_3_7: Final = flexible(
    "ConsumerGroupPartitionMetadataValue", Field("epoch", INT32), Field("topics", ArrayOf(_TOPIC_METADATA))
)

_CLASSIC_PROTOCOL: Final = struct("ClassicProtocol", Field("name", STRING), Field("metadata", BYTES))
_CLASSIC_MEMBER_METADATA: Final = struct(
    "ClassicMemberMetadata",
    Field("session_timeout_ms", INT32),
    Field("supported_protocols", ArrayOf(_CLASSIC_PROTOCOL)),
)
_MEMBER_FIELDS: Final = (
    Field("instance_id", STRING, nullable="0+"),
    Field("rack_id", STRING, nullable="0+"),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("subscribed_topic_names", ArrayOf(STRING)),
    Field("subscribed_topic_regex", STRING, nullable="0+"),
    Field("rebalance_timeout_ms", INT32, default=-1),
    Field("server_assignor", STRING, nullable="0+"),
)
MEMBER_METADATA_VALUE: Final = flexible(
    "ConsumerGroupMemberMetadataValue",
    *_MEMBER_FIELDS,
    # Set only while the member uses the classic protocol; for other members brokers write an explicit null.
    Field("classic_member_metadata", _CLASSIC_MEMBER_METADATA, nullable="0+", tag=0),
)
_ASSIGNOR_3_7: Final = struct(
    "Assignor",
    Field("name", STRING),
    Field("minimum_version", INT16),
    Field("maximum_version", INT16),
    Field("reason", INT8),
    Field("version", INT16),
    Field("metadata", BYTES),
)
MEMBER_METADATA_VALUE_3_7: Final = flexible(
    "ConsumerGroupMemberMetadataValue", *_MEMBER_FIELDS, Field("assignors", ArrayOf(_ASSIGNOR_3_7))
)

TARGET_ASSIGNMENT_METADATA_VALUE: Final = target_epoch("ConsumerGroupTargetAssignmentMetadataValue")

_TOPIC_PARTITION: Final = struct("TopicPartition", Field("topic_id", UUID), Field("partitions", ArrayOf(INT32)))
TARGET_ASSIGNMENT_MEMBER_VALUE: Final = flexible(
    "ConsumerGroupTargetAssignmentMemberValue", Field("topic_partitions", ArrayOf(_TOPIC_PARTITION))
)
TARGET_ASSIGNMENT_MEMBER_VALUE_3_7: Final = flexible(
    "ConsumerGroupTargetAssignmentMemberValue",
    Field("error", INT8),
    Field("topic_partitions", ArrayOf(_TOPIC_PARTITION)),
    Field("metadata_version", INT16),
    Field("metadata_bytes", BYTES),
)

_OWNED_PARTITIONS: Final = struct(
    "TopicPartitions",
    Field("topic_id", UUID),
    Field("partitions", ArrayOf(INT32)),
    Field("assignment_epochs", ArrayOf(INT32), nullable="0+", tag=0),  # 4.3; one per partition
)
CURRENT_MEMBER_ASSIGNMENT_VALUE: Final = flexible(
    "ConsumerGroupCurrentMemberAssignmentValue",
    Field("member_epoch", INT32),
    Field("previous_member_epoch", INT32),
    Field("state", INT8),
    Field("assigned_partitions", ArrayOf(_OWNED_PARTITIONS)),
    Field("partitions_pending_revocation", ArrayOf(_OWNED_PARTITIONS)),
)
CURRENT_MEMBER_ASSIGNMENT_VALUE_3_7: Final = flexible(
    "ConsumerGroupCurrentMemberAssignmentValue",
    Field("member_epoch", INT32),
    Field("previous_member_epoch", INT32),
    Field("target_member_epoch", INT32),
    Field("assigned_partitions", ArrayOf(_TOPIC_PARTITION)),
    Field("partitions_pending_revocation", ArrayOf(_TOPIC_PARTITION)),
    Field("partitions_pending_assignment", ArrayOf(_TOPIC_PARTITION)),
    Field("error", INT8),
    Field("metadata_version", INT16),
    Field("metadata_bytes", BYTES),
)

REGULAR_EXPRESSION_KEY: Final = message(
    "ConsumerGroupRegularExpressionKey", Field("group_id", STRING), Field("regular_expression", STRING)
)
REGULAR_EXPRESSION_VALUE: Final = flexible(
    "ConsumerGroupRegularExpressionValue",
    Field("topics", ArrayOf(STRING)),
    Field("version", INT64),
    Field("timestamp", INT64),
)
