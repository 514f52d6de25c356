"""Converts decoded records to events. This is the only module that gives a meaning to tombstones.

Each record type has one entry in a table, found by its name: a function for its value (in `interpret_groups` for the
newer groups, else here) and one for its tombstone (all here). The events depend on this record alone.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

from decoders import cluster_events as cluster_facts
from decoders import events as facts
from decoders import group_events as group_facts
from decoders import interpret_groups as groups
from decoders.events import Event
from decoders.group_events import GroupKind
from decoders.interpret_groups import Fields, Record, none_if_unset

ToRecorded = Callable[[Fields, Fields], Any]
"""(key, value) -> event of a record with a value."""
ToRemoved = Callable[[Fields], Any]
"""key -> event of a tombstone."""
EventFunctions = tuple[ToRecorded, ToRemoved]

_TRANSACTION_STATES: Final = (
    *("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead"),
    "PrepareEpochFence",
)


def event_of(record: Record) -> Event:
    """Return the event of a record."""
    recorded, removed = _KEYED[record.type.name]
    found: Event = removed(record.key) if record.value is None else recorded(record.key, record.value)
    return found


def topic_id_or_none(uuid: bytes) -> bytes | None:
    """Return the topic id, None for Kafka's zero uuid ("unknown")."""
    return uuid if any(uuid) else None


def _offset_committed(key: Fields, value: Fields, *, legacy: bool) -> facts.OffsetCommitted:
    return facts.OffsetCommitted(
        group=key["group"],
        topic=key["topic"],
        partition=key["partition"],
        offset=value["offset"],
        leader_epoch=none_if_unset(value["leader_epoch"]),
        metadata=value["metadata"],
        commit_timestamp=value["commit_timestamp"],
        expire_timestamp=none_if_unset(value["expire_timestamp"]),
        topic_id=topic_id_or_none(value["topic_id"]),
        legacy=legacy,
    )


def _offset_removed(key: Fields, *, legacy: bool) -> facts.OffsetRemoved:
    return facts.OffsetRemoved(key["group"], key["topic"], key["partition"], legacy)


def _classic_member(member: Fields) -> facts.ClassicMember:
    """Return the member. Without a rebalance timeout (v0) brokers use the session timeout."""
    rebalance_timeout = none_if_unset(member["rebalance_timeout"])
    return facts.ClassicMember(
        **{**member, "rebalance_timeout": member["session_timeout"] if rebalance_timeout is None else rebalance_timeout}
    )


def _classic_group_recorded(key: Fields, value: Fields) -> facts.ClassicGroupRecorded:
    return facts.ClassicGroupRecorded(
        group=key["group"],
        protocol_type=value["protocol_type"],
        generation=value["generation"],
        protocol=value["protocol"],
        leader=value["leader"],
        state_timestamp=none_if_unset(value["current_state_timestamp"]),
        members=tuple(_classic_member(member) for member in value["members"]),
    )


def _classic_group_removed(key: Fields) -> facts.ClassicGroupRemoved:
    return facts.ClassicGroupRemoved(key["group"])


def _group_epoch(kind: GroupKind) -> EventFunctions:
    return (
        functools.partial(groups.group_epoch, kind),
        lambda key: group_facts.GroupEpochRemoved(key["group_id"], kind),
    )


def _member(kind: GroupKind, recorded: ToRecorded) -> EventFunctions:
    return recorded, lambda key: group_facts.MemberRemoved(key["group_id"], kind, key["member_id"])


def _target_assignment(kind: GroupKind) -> EventFunctions:
    return (
        functools.partial(groups.target_assignment, kind),
        lambda key: group_facts.TargetAssignmentRemoved(key["group_id"], kind),
    )


def _member_target(kind: GroupKind, recorded: ToRecorded) -> EventFunctions:
    return recorded, lambda key: group_facts.MemberTargetRemoved(key["group_id"], kind, key["member_id"])


def _member_assignment(kind: GroupKind, recorded: ToRecorded) -> EventFunctions:
    return recorded, lambda key: group_facts.MemberAssignmentRemoved(key["group_id"], kind, key["member_id"])


def _by_group(recorded: ToRecorded, removed: Callable[[str], Any]) -> EventFunctions:
    return recorded, lambda key: removed(key["group_id"])


def _transaction(key: Fields, value: Fields) -> cluster_facts.TransactionStateRecorded:
    """Return the event of a TransactionLogValue."""
    status = value["transaction_status"]
    partitions = value["transaction_partitions"] or ()
    return cluster_facts.TransactionStateRecorded(
        transactional_id=key["transactional_id"],
        producer_id=value["producer_id"],
        producer_epoch=value["producer_epoch"],
        transaction_state=(
            _TRANSACTION_STATES[status] if 0 <= status < len(_TRANSACTION_STATES) else f"Unknown({status})"
        ),
        timeout=value["transaction_timeout_ms"],
        partitions=tuple((row["topic"], row["partition_ids"]) for row in partitions),
        last_update_timestamp=value["transaction_last_update_timestamp_ms"],
        start_timestamp=none_if_unset(value["transaction_start_timestamp_ms"]),
        previous_producer_id=none_if_unset(value["previous_producer_id"]),
        next_producer_id=none_if_unset(value["next_producer_id"]),
        client_transaction_version=value["client_transaction_version"],
    )


def _share_partition(key: Fields, value: Fields) -> cluster_facts.SharePartitionStateRecorded:
    """Return the event of a ShareSnapshotValue or ShareUpdateValue; updates have no state epoch and no timestamps."""
    return cluster_facts.SharePartitionStateRecorded(
        group=key["group_id"],
        topic_id=key["topic_id"],
        partition=key["partition"],
        snapshot="state_epoch" in value,
        snapshot_epoch=value["snapshot_epoch"],
        state_epoch=value.get("state_epoch"),
        leader_epoch=value["leader_epoch"],
        start_offset=value["start_offset"],
        delivery_complete_count=none_if_unset(value.get("delivery_complete_count", -1)),
        create_timestamp=value.get("create_timestamp"),
        write_timestamp=value.get("write_timestamp"),
        batches=tuple(
            (row["first_offset"], row["last_offset"], row["delivery_state"], row["delivery_count"])
            for row in value["state_batches"]
        ),
    )


def _share_partition_removed(key: Fields) -> cluster_facts.SharePartitionStateRemoved:
    return cluster_facts.SharePartitionStateRemoved(key["group_id"], key["topic_id"], key["partition"])


_KEYED: Final[Mapping[str, EventFunctions]] = {
    # By record type: the event of a value and the event of a tombstone.
    "LEGACY_OFFSET_COMMIT": (
        functools.partial(_offset_committed, legacy=True),
        functools.partial(_offset_removed, legacy=True),
    ),
    "OFFSET_COMMIT": (
        functools.partial(_offset_committed, legacy=False),
        functools.partial(_offset_removed, legacy=False),
    ),
    "GROUP_METADATA": (_classic_group_recorded, _classic_group_removed),
    "CONSUMER_GROUP_METADATA": _group_epoch("consumer"),
    "CONSUMER_GROUP_PARTITION_METADATA": _by_group(groups.partition_metadata, group_facts.PartitionMetadataRemoved),
    "CONSUMER_GROUP_MEMBER_METADATA": _member("consumer", groups.consumer_member),
    "CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA": _target_assignment("consumer"),
    "CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER": _member_target(
        "consumer", functools.partial(groups.member_target, "consumer")
    ),
    "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT": _member_assignment(
        "consumer", functools.partial(groups.member_assignment, "consumer")
    ),
    "CONSUMER_GROUP_REGULAR_EXPRESSION": (
        groups.topic_regex,
        lambda key: group_facts.TopicRegexRemoved(key["group_id"], key["regular_expression"]),
    ),
    "SHARE_GROUP_METADATA": _group_epoch("share"),
    "SHARE_GROUP_MEMBER_METADATA": _member("share", groups.share_member),
    "SHARE_GROUP_TARGET_ASSIGNMENT_METADATA": _target_assignment("share"),
    "SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER": _member_target("share", functools.partial(groups.member_target, "share")),
    "SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT": _member_assignment(
        "share", functools.partial(groups.member_assignment, "share")
    ),
    "SHARE_GROUP_STATE_PARTITION_METADATA": _by_group(groups.share_topics, group_facts.ShareTopicsRemoved),
    "STREAMS_GROUP_METADATA": _group_epoch("streams"),
    "STREAMS_GROUP_MEMBER_METADATA": _member("streams", groups.streams_member),
    "STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA": _target_assignment("streams"),
    "STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER": _member_target("streams", groups.streams_member_target),
    "STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT": _member_assignment("streams", groups.streams_member_assignment),
    "STREAMS_GROUP_TOPOLOGY": _by_group(groups.topology, group_facts.StreamsTopologyRemoved),
    "TRANSACTION_LOG": (
        _transaction,
        lambda key: cluster_facts.TransactionalIdExpired(key["transactional_id"]),
    ),
    "SHARE_SNAPSHOT": (_share_partition, _share_partition_removed),
    "SHARE_UPDATE": (_share_partition, _share_partition_removed),
}
