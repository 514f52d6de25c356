"""Tables of Kafka's message layouts: one row per field, in Kafka's order and with Kafka's version ranges.

`RECORD_TYPES` has all record types of `__consumer_offsets`, with the names of Kafka's CoordinatorRecordType. Numbers that
are not in it are unknown. Types without tables were removed from Kafka.
"""

from __future__ import annotations

from typing import Final, Literal

from decoders.schema import RecordType
from decoders.tables import classic, consumer, metadata, offsets, share, share_state, streams, transaction

# ruff: noqa: E501  # one line per type, so that the list is easy to scan
# fmt: off
RECORD_TYPES: Final = (
    RecordType(0, "LEGACY_OFFSET_COMMIT", offsets.LEGACY_OFFSET_COMMIT_KEY, offsets.OFFSET_COMMIT_VALUE, tracked=True),
    RecordType(1, "OFFSET_COMMIT", offsets.OFFSET_COMMIT_KEY, offsets.OFFSET_COMMIT_VALUE, tracked=True),
    RecordType(2, "GROUP_METADATA", classic.GROUP_METADATA_KEY, classic.GROUP_METADATA_VALUE, tracked=True),
    RecordType(3, "CONSUMER_GROUP_METADATA", consumer.METADATA_KEY, consumer.METADATA_VALUE, tracked=True),
    RecordType(4, "CONSUMER_GROUP_PARTITION_METADATA", consumer.PARTITION_METADATA_KEY, consumer.PARTITION_METADATA_VALUE, (consumer.PARTITION_METADATA_VALUE_3_7,), tracked=True),
    RecordType(5, "CONSUMER_GROUP_MEMBER_METADATA", consumer.MEMBER_METADATA_KEY, consumer.MEMBER_METADATA_VALUE, (consumer.MEMBER_METADATA_VALUE_3_7,), tracked=True),
    RecordType(6, "CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA", consumer.TARGET_ASSIGNMENT_METADATA_KEY, consumer.TARGET_ASSIGNMENT_METADATA_VALUE, tracked=True),
    RecordType(7, "CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER", consumer.TARGET_ASSIGNMENT_MEMBER_KEY, consumer.TARGET_ASSIGNMENT_MEMBER_VALUE, (consumer.TARGET_ASSIGNMENT_MEMBER_VALUE_3_7,), tracked=True),
    RecordType(8, "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT", consumer.CURRENT_MEMBER_ASSIGNMENT_KEY, consumer.CURRENT_MEMBER_ASSIGNMENT_VALUE, (consumer.CURRENT_MEMBER_ASSIGNMENT_VALUE_3_7,), tracked=True),
    RecordType(9, "SHARE_GROUP_PARTITION_METADATA", None, None),
    RecordType(10, "SHARE_GROUP_MEMBER_METADATA", share.MEMBER_METADATA_KEY, share.MEMBER_METADATA_VALUE, tracked=True),
    RecordType(11, "SHARE_GROUP_METADATA", share.METADATA_KEY, share.METADATA_VALUE, (share.METADATA_VALUE_4_0,), tracked=True),
    RecordType(12, "SHARE_GROUP_TARGET_ASSIGNMENT_METADATA", share.TARGET_ASSIGNMENT_METADATA_KEY, share.TARGET_ASSIGNMENT_METADATA_VALUE, tracked=True),
    RecordType(13, "SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER", share.TARGET_ASSIGNMENT_MEMBER_KEY, share.TARGET_ASSIGNMENT_MEMBER_VALUE, tracked=True),
    RecordType(14, "SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT", share.CURRENT_MEMBER_ASSIGNMENT_KEY, share.CURRENT_MEMBER_ASSIGNMENT_VALUE, tracked=True),
    RecordType(15, "SHARE_GROUP_STATE_PARTITION_METADATA", share.STATE_PARTITION_METADATA_KEY, share.STATE_PARTITION_METADATA_VALUE, (share.STATE_PARTITION_METADATA_VALUE_4_0,), tracked=True),
    RecordType(16, "CONSUMER_GROUP_REGULAR_EXPRESSION", consumer.REGULAR_EXPRESSION_KEY, consumer.REGULAR_EXPRESSION_VALUE, tracked=True),
    RecordType(17, "STREAMS_GROUP_METADATA", streams.METADATA_KEY, streams.METADATA_VALUE, tracked=True),
    RecordType(18, "STREAMS_GROUP_PARTITION_METADATA", None, None),
    RecordType(19, "STREAMS_GROUP_MEMBER_METADATA", streams.MEMBER_METADATA_KEY, streams.MEMBER_METADATA_VALUE, tracked=True),
    RecordType(20, "STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA", streams.TARGET_ASSIGNMENT_METADATA_KEY, streams.TARGET_ASSIGNMENT_METADATA_VALUE, tracked=True),
    RecordType(21, "STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER", streams.TARGET_ASSIGNMENT_MEMBER_KEY, streams.TARGET_ASSIGNMENT_MEMBER_VALUE, tracked=True),
    RecordType(22, "STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT", streams.CURRENT_MEMBER_ASSIGNMENT_KEY, streams.CURRENT_MEMBER_ASSIGNMENT_VALUE, tracked=True),
    RecordType(23, "STREAMS_GROUP_TOPOLOGY", streams.TOPOLOGY_KEY, streams.TOPOLOGY_VALUE, tracked=True),
)
# fmt: on

BY_NUMBER: Final = {row.number: row for row in RECORD_TYPES}
TRANSACTION_TYPES: Final = {row.number: row for row in transaction.TRANSACTION_TYPES}
SHARE_STATE_TYPES: Final = {row.number: row for row in share_state.SHARE_STATE_TYPES}
METADATA_TYPES: Final = {row.number: row for row in metadata.METADATA_TYPES}


def tracking(number: int) -> Literal["tracked", "known", "unknown"]:
    """Return whether the job uses records of this type ("tracked"), only recognises them ("known"), or does neither.

    A removed type is unknown, as in current brokers.
    """
    row = BY_NUMBER.get(number)
    if row is None or row.removed:
        return "unknown"
    return "tracked" if row.tracked else "known"
