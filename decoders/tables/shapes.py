"""Message shapes shared by many tables: keys of a group or of a member, and messages that are always flexible.

Classic groups: record type 2 of `__consumer_offsets` (Kafka's GroupMetadataKey and GroupMetadataValue).

Written: v0 by 0.9 and 0.10.0; v1 since 0.10.1 (rebalance timeout, KIP-62); v2 since 2.1-IV0 (state timestamp,
KIP-211); v3 since 2.3-IV0 (static membership, KIP-345). v4 (flexible) is readable since 3.5, but no release writes
it.

Offset commits: record types 0 and 1 of `__consumer_offsets` (Kafka's OffsetCommitKey and OffsetCommitValue).

Written: v0 by 0.8.2; v1 by 0.9 to 2.0, and by later releases for commits with an explicit retention; v2 by the 2.1-IV0
protocol (KIP-211 removed the expire timestamp); v3 from 2.1-IV1 to 4.0 (leader epoch, KIP-320); v4 since 4.1
(flexible, topic id). Type 0 keys are those of 0.8.2. Their values are read in every version, as in brokers up to 4.0
(4.1 reads only v0).

Records of `__transaction_state` (Kafka's TransactionLogKey and TransactionLogValue), one per transactional id.

v1 (flexible) is written since 4.0 if the feature transaction.version is at least 1 (KIP-890). The partitions are null
while the state is Empty. If a transaction commits offsets of a group, they include the group's partition of
`__consumer_offsets`.
"""

from typing import Final

from decoders.schema import BYTES, INT8, INT16, INT32, INT64, STRING, UUID, ArrayOf, Field, Message, message, struct


def by_group(name: str) -> Message:
    """Return the table of a key with a group id."""
    return message(name, Field("group_id", STRING))


def by_member(name: str) -> Message:
    """Return the table of a key with a group id and a member id."""
    return message(name, Field("group_id", STRING), Field("member_id", STRING))


def flexible(name: str, *fields: Field) -> Message:
    """Return the table of a message that is flexible in its only version."""
    return message(name, *fields, flexible="0+")


def target_epoch(name: str) -> Message:
    """Return the table of the epoch of a target assignment."""
    # The timestamp since 4.3.
    return flexible(name, Field("assignment_epoch", INT32), Field("assignment_timestamp", INT64, tag=0))


GROUP_METADATA_KEY: Final = message("GroupMetadataKey", Field("group", STRING))

MEMBER_METADATA: Final = struct(
    "MemberMetadata",
    Field("member_id", STRING),
    Field("group_instance_id", STRING, "3+", nullable="3+", default=None),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("rebalance_timeout", INT32, "1+", default=-1),
    Field("session_timeout", INT32),
    Field("subscription", BYTES),
    Field("assignment", BYTES),
)

GROUP_METADATA_VALUE: Final = message(
    "GroupMetadataValue",
    Field("protocol_type", STRING),
    Field("generation", INT32),
    Field("protocol", STRING, nullable="0+"),
    Field("leader", STRING, nullable="0+"),
    Field("current_state_timestamp", INT64, "2+", default=-1),
    Field("members", ArrayOf(MEMBER_METADATA)),
    valid="0-4",
    flexible="4+",
)


_KEY: Final = (Field("group", STRING), Field("topic", STRING), Field("partition", INT32, minimum=0))
LEGACY_OFFSET_COMMIT_KEY: Final = message("LegacyOffsetCommitKey", *_KEY)
OFFSET_COMMIT_KEY: Final = message("OffsetCommitKey", *_KEY)

OFFSET_COMMIT_VALUE: Final = message(
    "OffsetCommitValue",
    Field("offset", INT64),
    Field("leader_epoch", INT32, "3+", default=-1),
    Field("metadata", STRING),
    Field("commit_timestamp", INT64),
    Field("expire_timestamp", INT64, "1", default=-1),
    Field("topic_id", UUID, "4+", tag=0),
    valid="0-4",
    flexible="4+",
)


TRANSACTION_LOG_KEY: Final = message("TransactionLogKey", Field("transactional_id", STRING))
_PARTITIONS: Final = struct("PartitionsSchema", Field("topic", STRING), Field("partition_ids", ArrayOf(INT32)))
TRANSACTION_LOG_VALUE: Final = message(
    "TransactionLogValue",
    Field("producer_id", INT64),
    Field("previous_producer_id", INT64, "1+", default=-1, tag=0),
    Field("next_producer_id", INT64, "1+", default=-1, tag=1),
    Field("producer_epoch", INT16),
    Field("next_producer_epoch", INT16, "1+", default=-1, tag=3),
    Field("transaction_timeout_ms", INT32),
    Field("transaction_status", INT8),
    Field("transaction_partitions", ArrayOf(_PARTITIONS), nullable="0+"),
    Field("transaction_last_update_timestamp_ms", INT64),
    Field("transaction_start_timestamp_ms", INT64),
    Field("client_transaction_version", INT16, "1+", tag=2),
    valid="0-1",
    flexible="1+",
)
