"""Tables of Kafka's message layouts: one row per field, in Kafka's order and with Kafka's version ranges.

`RECORD_TYPES` has all record types of `__consumer_offsets`, with the names of Kafka's CoordinatorRecordType. Numbers that
are not in it are unknown. Types without tables were removed from Kafka. The columns `group_kind` and `content` are the
only place that says which types belong to which kind of group; `types_with` selects by them.
"""

from typing import Final, Literal

from decoders.schema import RecordContent, RecordType
from decoders.tables import consumer, shapes, share, streams

# ruff: noqa: E501  # one line per type, so that the list is easy to scan
# fmt: off
RECORD_TYPES: Final = (
    RecordType(0, "LEGACY_OFFSET_COMMIT", shapes.LEGACY_OFFSET_COMMIT_KEY, shapes.OFFSET_COMMIT_VALUE, content=RecordContent.OFFSET),
    RecordType(1, "OFFSET_COMMIT", shapes.OFFSET_COMMIT_KEY, shapes.OFFSET_COMMIT_VALUE, content=RecordContent.OFFSET),
    RecordType(2, "GROUP_METADATA", shapes.GROUP_METADATA_KEY, shapes.GROUP_METADATA_VALUE, group_kind="classic", content=RecordContent.CLASSIC_GROUP),
    RecordType(3, "CONSUMER_GROUP_METADATA", shapes.by_group("ConsumerGroupMetadataKey"), consumer.METADATA_VALUE, group_kind="consumer", content=RecordContent.GROUP_EPOCH),
    RecordType(4, "CONSUMER_GROUP_PARTITION_METADATA", shapes.by_group("ConsumerGroupPartitionMetadataKey"), consumer.PARTITION_METADATA_VALUE, (consumer.PARTITION_METADATA_VALUE_3_7,), group_kind="consumer", content=RecordContent.SUBSCRIBED_TOPICS),
    RecordType(5, "CONSUMER_GROUP_MEMBER_METADATA", shapes.by_member("ConsumerGroupMemberMetadataKey"), consumer.MEMBER_METADATA_VALUE, (consumer.MEMBER_METADATA_VALUE_3_7,), group_kind="consumer", content=RecordContent.MEMBER),
    RecordType(6, "CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA", shapes.by_group("ConsumerGroupTargetAssignmentMetadataKey"), consumer.TARGET_ASSIGNMENT_METADATA_VALUE, group_kind="consumer", content=RecordContent.TARGET_EPOCH),
    RecordType(7, "CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER", shapes.by_member("ConsumerGroupTargetAssignmentMemberKey"), consumer.TARGET_ASSIGNMENT_MEMBER_VALUE, (consumer.TARGET_ASSIGNMENT_MEMBER_VALUE_3_7,), group_kind="consumer", content=RecordContent.TARGET_ASSIGNMENT),
    RecordType(8, "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT", shapes.by_member("ConsumerGroupCurrentMemberAssignmentKey"), consumer.CURRENT_MEMBER_ASSIGNMENT_VALUE, (consumer.CURRENT_MEMBER_ASSIGNMENT_VALUE_3_7,), group_kind="consumer", content=RecordContent.CURRENT_ASSIGNMENT),
    RecordType(9, "SHARE_GROUP_PARTITION_METADATA", None, None),
    RecordType(10, "SHARE_GROUP_MEMBER_METADATA", shapes.by_member("ShareGroupMemberMetadataKey"), share.MEMBER_METADATA_VALUE, group_kind="share", content=RecordContent.MEMBER),
    RecordType(11, "SHARE_GROUP_METADATA", shapes.by_group("ShareGroupMetadataKey"), share.METADATA_VALUE, (share.METADATA_VALUE_4_0,), group_kind="share", content=RecordContent.GROUP_EPOCH),
    RecordType(12, "SHARE_GROUP_TARGET_ASSIGNMENT_METADATA", shapes.by_group("ShareGroupTargetAssignmentMetadataKey"), share.TARGET_ASSIGNMENT_METADATA_VALUE, group_kind="share", content=RecordContent.TARGET_EPOCH),
    RecordType(13, "SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER", shapes.by_member("ShareGroupTargetAssignmentMemberKey"), share.TARGET_ASSIGNMENT_MEMBER_VALUE, group_kind="share", content=RecordContent.TARGET_ASSIGNMENT),
    RecordType(14, "SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT", shapes.by_member("ShareGroupCurrentMemberAssignmentKey"), share.CURRENT_MEMBER_ASSIGNMENT_VALUE, group_kind="share", content=RecordContent.CURRENT_ASSIGNMENT),
    RecordType(15, "SHARE_GROUP_STATE_PARTITION_METADATA", shapes.by_group("ShareGroupStatePartitionMetadataKey"), share.STATE_PARTITION_METADATA_VALUE, (share.STATE_PARTITION_METADATA_VALUE_4_0,), group_kind="share", content=RecordContent.SHARE_TOPICS),
    RecordType(16, "CONSUMER_GROUP_REGULAR_EXPRESSION", consumer.REGULAR_EXPRESSION_KEY, consumer.REGULAR_EXPRESSION_VALUE, group_kind="consumer", content=RecordContent.RESOLVED_REGEX),
    RecordType(17, "STREAMS_GROUP_METADATA", shapes.by_group("StreamsGroupMetadataKey"), streams.METADATA_VALUE, group_kind="streams", content=RecordContent.GROUP_EPOCH),
    RecordType(18, "STREAMS_GROUP_PARTITION_METADATA", None, None),
    RecordType(19, "STREAMS_GROUP_MEMBER_METADATA", shapes.by_member("StreamsGroupMemberMetadataKey"), streams.MEMBER_METADATA_VALUE, group_kind="streams", content=RecordContent.MEMBER),
    RecordType(20, "STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA", shapes.by_group("StreamsGroupTargetAssignmentMetadataKey"), streams.TARGET_ASSIGNMENT_METADATA_VALUE, group_kind="streams", content=RecordContent.TARGET_EPOCH),
    RecordType(21, "STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER", shapes.by_member("StreamsGroupTargetAssignmentMemberKey"), streams.TARGET_ASSIGNMENT_MEMBER_VALUE, group_kind="streams", content=RecordContent.TARGET_ASSIGNMENT),
    RecordType(22, "STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT", shapes.by_member("StreamsGroupCurrentMemberAssignmentKey"), streams.CURRENT_MEMBER_ASSIGNMENT_VALUE, group_kind="streams", content=RecordContent.CURRENT_ASSIGNMENT),
    RecordType(23, "STREAMS_GROUP_TOPOLOGY", shapes.by_group("StreamsGroupTopologyKey"), streams.TOPOLOGY_VALUE, group_kind="streams", content=RecordContent.TOPOLOGY),
)
# fmt: on

BY_NUMBER: Final = {row.number: row for row in RECORD_TYPES}
TRANSACTION_TYPES: Final = {
    0: RecordType(0, "TRANSACTION_LOG", shapes.TRANSACTION_LOG_KEY, shapes.TRANSACTION_LOG_VALUE),
}
SHARE_STATE_TYPES: Final = {
    0: RecordType(0, "SHARE_SNAPSHOT", share.SNAPSHOT_KEY, share.SNAPSHOT_VALUE, (share.SNAPSHOT_VALUE_4_0,)),
    1: RecordType(1, "SHARE_UPDATE", share.UPDATE_KEY, share.UPDATE_VALUE, (share.UPDATE_VALUE_4_0,)),
}


def types_with(*contents: RecordContent, group_kind: str | None = None) -> frozenset[int]:
    """Return the numbers of the record types of `__consumer_offsets` with one of these contents and of this group kind.

    No contents, or None as group kind, means any.
    """
    return frozenset(
        row.number
        for row in RECORD_TYPES
        if row.content is not None
        and (not contents or row.content in contents)
        and (group_kind is None or row.group_kind == group_kind)
    )


def tracking(number: int) -> Literal["tracked", "known", "unknown"]:
    """Return whether the job uses records of this type ("tracked"), only recognises them ("known"), or does neither.

    A removed type is unknown, as in current brokers.
    """
    row = BY_NUMBER.get(number)
    if row is None or row.removed:
        return "unknown"
    return "known" if row.content is None else "tracked"
