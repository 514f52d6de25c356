"""Converts decoded records to events: one function for each content of a value. A tombstone removes what it names.

The events depend on this record alone, and have what the product uses; the record has all fields.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from decoders import events as facts
from decoders import group_events as newer
from decoders.events import RecordEvent
from decoders.group_events import AssignmentRows
from decoders.schema import Fields, Record, RecordContent

_TRANSACTION_STATES: Final = (
    *("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead"),
    "PrepareEpochFence",
)
_MEMBER_STATES: Final = {0: "stable", 1: "unrevoked", 2: "unreleased"}
_STREAMS_MEMBER_STATES: Final = {1: "stable", 2: "unrevoked", 3: "unreleased"}  # from 1, unlike the other group types


def event_of(record: Record) -> RecordEvent:
    """Return the event of a record."""
    if record.value is None:
        return facts.Removed(record.type, record.key)
    fields = {**record.value, **record.key, "kind": record.type.group_kind}
    return _EVENTS[record.type.content or record.type.name](fields)


def _none_if_unset(number: int) -> int | None:
    """Return the number, None for Kafka's -1 ("not set")."""
    return None if number == -1 else number


def _offset_committed(fields: Fields) -> facts.OffsetCommitted:
    return facts.OffsetCommitted(
        group=fields["group"],
        topic=fields["topic"],
        partition=fields["partition"],
        offset=fields["offset"],
        leader_epoch=_none_if_unset(fields["leader_epoch"]),
        metadata=fields["metadata"],
        commit_timestamp=fields["commit_timestamp"],
        expire_timestamp=_none_if_unset(fields["expire_timestamp"]),
        topic_id=fields["topic_id"] if any(fields["topic_id"]) else None,
    )


def _classic_member(member: Fields) -> facts.ClassicMember:
    """Return the member. Without a rebalance timeout (v0) brokers use the session timeout."""
    timeout = member["session_timeout" if member["rebalance_timeout"] == -1 else "rebalance_timeout"]
    return facts.ClassicMember(**{**member, "rebalance_timeout": timeout})


def _classic_group(fields: Fields) -> facts.ClassicGroupRecorded:
    return facts.ClassicGroupRecorded(
        group=fields["group"],
        protocol_type=fields["protocol_type"],
        generation=fields["generation"],
        protocol=fields["protocol"],
        leader=fields["leader"],
        state_timestamp=_none_if_unset(fields["current_state_timestamp"]),
        members=tuple(map(_classic_member, fields["members"])),
    )


def _transaction(fields: Fields) -> facts.TransactionStateRecorded:
    status = fields["transaction_status"]
    return facts.TransactionStateRecorded(
        transactional_id=fields["transactional_id"],
        producer_id=fields["producer_id"],
        producer_epoch=fields["producer_epoch"],
        transaction_state=(
            _TRANSACTION_STATES[status] if 0 <= status < len(_TRANSACTION_STATES) else f"Unknown({status})"
        ),
        timeout=fields["transaction_timeout_ms"],
        partitions=_rows(fields["transaction_partitions"] or (), "topic", "partition_ids"),
        last_update_timestamp=fields["transaction_last_update_timestamp_ms"],
        start_timestamp=_none_if_unset(fields["transaction_start_timestamp_ms"]),
    )


def _share_partition(fields: Fields) -> facts.SharePartitionStateRecorded:
    """Return the event of a ShareSnapshotValue or ShareUpdateValue; updates have no state epoch."""
    return facts.SharePartitionStateRecorded(
        group=fields["group_id"],
        topic_id=fields["topic_id"],
        partition=fields["partition"],
        snapshot="state_epoch" in fields,
        leader_epoch=fields["leader_epoch"],
        start_offset=fields["start_offset"],
        delivery_complete_count=_none_if_unset(fields.get("delivery_complete_count", -1)),
        batches=_rows(fields["state_batches"], "first_offset", "last_offset", "delivery_state", "delivery_count"),
    )


def _group_epoch(fields: Fields) -> newer.GroupEpochRecorded:
    validated = _none_if_unset(fields.get("validated_topology_epoch", -1))
    return newer.GroupEpochRecorded(fields["group_id"], fields["kind"], fields["epoch"], validated)


def _partition_metadata(fields: Fields) -> newer.PartitionMetadataRecorded:
    topics = _rows(fields["topics"], "topic_id", "topic_name", "num_partitions")
    return newer.PartitionMetadataRecorded(fields["group_id"], topics)


def _member(fields: Fields) -> newer.MemberRecorded:
    """Return the event of types 5, 10 and 19. A member of the new protocol has no classic metadata, or null."""
    classic = fields.get("classic_member_metadata")
    return newer.MemberRecorded(
        group=fields["group_id"],
        kind=fields["kind"],
        member_id=fields["member_id"],
        client_id=fields["client_id"],
        client_host=fields["client_host"],
        rack_id=fields["rack_id"],
        instance_id=fields.get("instance_id"),
        topics=fields.get("subscribed_topic_names", ()),
        topic_regex=fields.get("subscribed_topic_regex") or None,
        rebalance_timeout=fields.get("rebalance_timeout_ms"),
        server_assignor=fields.get("server_assignor"),
        classic_session_timeout=classic["session_timeout_ms"] if classic and classic["supported_protocols"] else None,
        topology_epoch=fields.get("topology_epoch"),
    )


def _target_epoch(fields: Fields) -> newer.TargetAssignmentRecorded:
    """Return the event of types 6, 12 and 20. A timestamp of 0 is the default of the tag and means unknown."""
    timestamp = fields["assignment_timestamp"] or None
    return newer.TargetAssignmentRecorded(fields["group_id"], fields["kind"], fields["assignment_epoch"], timestamp)


def _member_target(fields: Fields) -> newer.MemberTargetRecorded:
    is_streams = fields["kind"] == "streams"
    assigned = _tasks(fields, "{}_tasks") if is_streams else _partitions(fields["topic_partitions"])
    return newer.MemberTargetRecorded(fields["group_id"], fields["kind"], fields["member_id"], assigned)


def _member_assignment(fields: Fields) -> newer.MemberAssignmentRecorded:
    if fields["kind"] == "streams":
        states = _STREAMS_MEMBER_STATES
        assigned, pending = (_tasks(fields, name) for name in ("{}_tasks", "{}_tasks_pending_revocation"))
    else:
        states = _MEMBER_STATES
        assigned = _partitions(fields["assigned_partitions"])
        pending = _partitions(fields.get("partitions_pending_revocation", ()))
    return newer.MemberAssignmentRecorded(
        group=fields["group_id"],
        kind=fields["kind"],
        member_id=fields["member_id"],
        member_epoch=fields["member_epoch"],
        member_state=states.get(fields["state"], "unknown") if "state" in fields else None,
        assigned=assigned,
        pending_revocation=pending,
    )


def _share_topics(fields: Fields) -> newer.ShareTopicsRecorded:
    named = ("topic_id", "topic_name", "partitions")
    return newer.ShareTopicsRecorded(
        group=fields["group_id"],
        initializing=_rows(fields.get("initializing_topics", ()), *named),
        initialized=_rows(fields["initialized_topics"], *named),
        deleting=_rows(fields["deleting_topics"], "topic_id", "topic_name"),
    )


def _topology(fields: Fields) -> newer.StreamsTopologyRecorded:
    parts = tuple(
        newer.Subtopology(
            part["subtopology_id"],
            part["source_topics"],
            part["source_topic_regex"],
            tuple(topic["name"] for topic in part["repartition_source_topics"]),
        )
        for part in fields["subtopologies"]
    )
    return newer.StreamsTopologyRecorded(fields["group_id"], fields["epoch"], parts)


def _rows(rows: Any, *names: str) -> tuple[Any, ...]:
    """Return these fields of each row."""
    return tuple(tuple(row[name] for name in names) for row in rows)


def _partitions(rows: Any) -> AssignmentRows:
    return tuple(("", row["topic_id"], row["partitions"]) for row in rows)


def _tasks(fields: Fields, name: str) -> AssignmentRows:
    return tuple(
        (role, row["subtopology_id"], row["partitions"])
        for role in ("active", "standby", "warmup")
        for row in fields[name.format(role)]
    )


_EVENTS: Final[Mapping[RecordContent | str, Callable[[Fields], RecordEvent]]] = {
    RecordContent.OFFSET: _offset_committed,
    RecordContent.CLASSIC_GROUP: _classic_group,
    RecordContent.GROUP_EPOCH: _group_epoch,
    RecordContent.SUBSCRIBED_TOPICS: _partition_metadata,
    RecordContent.MEMBER: _member,
    RecordContent.TARGET_EPOCH: _target_epoch,
    RecordContent.TARGET_ASSIGNMENT: _member_target,
    RecordContent.CURRENT_ASSIGNMENT: _member_assignment,
    RecordContent.RESOLVED_REGEX: lambda fields: newer.TopicRegexResolved(
        fields["group_id"], fields["regular_expression"], fields["topics"]
    ),
    RecordContent.SHARE_TOPICS: _share_topics,
    RecordContent.TOPOLOGY: _topology,
    # Of other topics, by record type.
    "TRANSACTION_LOG": _transaction,
    "SHARE_SNAPSHOT": _share_partition,
    "SHARE_UPDATE": _share_partition,
}
