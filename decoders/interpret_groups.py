"""Events from values of the newer group types: one function per record type, (key, value) -> event. No tombstones."""

import dataclasses
from typing import Any, Final

from decoders import group_events as facts
from decoders.group_events import GroupKind, Tasks, TopicPartitions
from decoders.schema import Message, RecordType

Fields = dict[str, Any]
"""Field name to value: int, bool, str, bytes (also for a uuid: 16 raw bytes), None, a tuple, or nested Fields."""


def none_if_unset(number: int) -> int | None:
    """Return the number, None for Kafka's -1 ("not set")."""
    return None if number == -1 else number


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """One record of an internal topic.

    `key` and `value` have every field of their tables; fields that the version of the value does not have are set to
    their defaults. `version` and `value` are None for a tombstone. `layout` is the table that the value was read with:
    `value` or one of `older_layouts` of the type.
    """

    type: RecordType
    key: Fields
    version: int | None
    value: Fields | None
    layout: Message | None


_MEMBER_STATES: Final = {0: "stable", 1: "unrevoked", 2: "unreleased"}
_STREAMS_MEMBER_STATES: Final = {1: "stable", 2: "unrevoked", 3: "unreleased"}  # from 1, unlike the other group types


def group_epoch(kind: GroupKind, key: Fields, value: Fields) -> facts.GroupEpochRecorded:
    """Return the event of types 3, 11 and 17."""
    return facts.GroupEpochRecorded(
        group=key["group_id"],
        kind=kind,
        group_epoch=value["epoch"],
        metadata_hash=value.get("metadata_hash") or None,
        validated_topology_epoch=none_if_unset(value.get("validated_topology_epoch", -1)),
    )


def partition_metadata(key: Fields, value: Fields) -> facts.PartitionMetadataRecorded:
    """Return the event of type 4."""
    topics = ((topic["topic_id"], topic["topic_name"], topic["num_partitions"]) for topic in value["topics"])
    return facts.PartitionMetadataRecorded(key["group_id"], tuple(topics))


def consumer_member(key: Fields, value: Fields) -> facts.ConsumerMemberRecorded:
    """Return the event of type 5. A member of the new protocol has no classic metadata, or null."""
    classic = value.get("classic_member_metadata") or {"session_timeout_ms": 0, "supported_protocols": ()}
    protocols = tuple((row["name"], row["metadata"]) for row in classic["supported_protocols"])
    return facts.ConsumerMemberRecorded(
        group=key["group_id"],
        member_id=key["member_id"],
        instance_id=value["instance_id"],
        rack_id=value["rack_id"],
        client_id=value["client_id"],
        client_host=value["client_host"],
        topics=value["subscribed_topic_names"],
        topic_regex=value["subscribed_topic_regex"] or None,
        rebalance_timeout=value["rebalance_timeout_ms"],
        server_assignor=value["server_assignor"],
        classic_session_timeout=classic["session_timeout_ms"] if protocols else None,
        classic_protocols=protocols,
    )


def share_member(key: Fields, value: Fields) -> facts.ShareMemberRecorded:
    """Return the event of type 10."""
    return facts.ShareMemberRecorded(
        group=key["group_id"],
        member_id=key["member_id"],
        rack_id=value["rack_id"],
        client_id=value["client_id"],
        client_host=value["client_host"],
        topics=value["subscribed_topic_names"],
    )


def streams_member(key: Fields, value: Fields) -> facts.StreamsMemberRecorded:
    """Return the event of type 19."""
    endpoint = value["user_endpoint"]
    return facts.StreamsMemberRecorded(
        group=key["group_id"],
        member_id=key["member_id"],
        instance_id=value["instance_id"],
        rack_id=value["rack_id"],
        client_id=value["client_id"],
        client_host=value["client_host"],
        rebalance_timeout=value["rebalance_timeout_ms"],
        topology_epoch=value["topology_epoch"],
        process_id=value["process_id"],
        endpoint=None if endpoint is None else f"{endpoint['host']}:{endpoint['port']}",
        client_tags=tuple((tag["key"], tag["value"]) for tag in value["client_tags"]),
    )


def target_assignment(kind: GroupKind, key: Fields, value: Fields) -> facts.TargetAssignmentRecorded:
    """Return the event of types 6, 12 and 20. A timestamp of 0 is the default of the tag and means unknown."""
    timestamp = value["assignment_timestamp"] or None
    return facts.TargetAssignmentRecorded(key["group_id"], kind, value["assignment_epoch"], timestamp)


def member_target(kind: GroupKind, key: Fields, value: Fields) -> facts.MemberTargetRecorded:
    """Return the event of types 7 and 13."""
    return facts.MemberTargetRecorded(key["group_id"], kind, key["member_id"], _partitions(value["topic_partitions"]))


def streams_member_target(key: Fields, value: Fields) -> facts.StreamsMemberTargetRecorded:
    """Return the event of type 21."""
    return facts.StreamsMemberTargetRecorded(
        group=key["group_id"],
        member_id=key["member_id"],
        active=_tasks(value["active_tasks"]),
        standby=_tasks(value["standby_tasks"]),
        warmup=_tasks(value["warmup_tasks"]),
    )


def member_assignment(kind: GroupKind, key: Fields, value: Fields) -> facts.MemberAssignmentRecorded:
    """Return the event of types 8 and 14."""
    state = value.get("state")
    return facts.MemberAssignmentRecorded(
        group=key["group_id"],
        kind=kind,
        member_id=key["member_id"],
        member_epoch=value["member_epoch"],
        previous_member_epoch=value["previous_member_epoch"],
        member_state=None if state is None else _MEMBER_STATES.get(state, "unknown"),
        partitions=_partitions(value["assigned_partitions"]),
        pending_revocation=_partitions(value.get("partitions_pending_revocation", ())),
    )


def streams_member_assignment(key: Fields, value: Fields) -> facts.StreamsMemberAssignmentRecorded:
    """Return the event of type 22."""
    return facts.StreamsMemberAssignmentRecorded(
        group=key["group_id"],
        member_id=key["member_id"],
        member_epoch=value["member_epoch"],
        previous_member_epoch=value["previous_member_epoch"],
        member_state=_STREAMS_MEMBER_STATES.get(value["state"], "unknown"),
        active=_tasks(value["active_tasks"]),
        standby=_tasks(value["standby_tasks"]),
        warmup=_tasks(value["warmup_tasks"]),
        pending_active=_tasks(value["active_tasks_pending_revocation"]),
        pending_standby=_tasks(value["standby_tasks_pending_revocation"]),
        pending_warmup=_tasks(value["warmup_tasks_pending_revocation"]),
    )


def topic_regex(key: Fields, value: Fields) -> facts.TopicRegexResolved:
    """Return the event of type 16."""
    return facts.TopicRegexResolved(
        key["group_id"], key["regular_expression"], value["topics"], value["version"], value["timestamp"]
    )


def share_topics(key: Fields, value: Fields) -> facts.ShareTopicsRecorded:
    """Return the event of type 15."""
    return facts.ShareTopicsRecorded(
        group=key["group_id"],
        initializing=_named_partitions(value.get("initializing_topics", ())),
        initialized=_named_partitions(value["initialized_topics"]),
        deleting=tuple((topic["topic_id"], topic["topic_name"]) for topic in value["deleting_topics"]),
    )


def topology(key: Fields, value: Fields) -> facts.StreamsTopologyRecorded:
    """Return the event of type 23."""
    return facts.StreamsTopologyRecorded(
        key["group_id"], value["epoch"], tuple(_subtopology(part) for part in value["subtopologies"])
    )


def _subtopology(part: Fields) -> facts.Subtopology:
    return facts.Subtopology(
        subtopology_id=part["subtopology_id"],
        source_topics=part["source_topics"],
        source_topic_regex=part["source_topic_regex"],
        repartition_sink_topics=part["repartition_sink_topics"],
        repartition_source_topics=tuple(topic["name"] for topic in part["repartition_source_topics"]),
        state_changelog_topics=tuple(topic["name"] for topic in part["state_changelog_topics"]),
    )


def _partitions(rows: Any) -> TopicPartitions:
    return tuple((row["topic_id"], row["partitions"]) for row in rows)


def _named_partitions(rows: Any) -> tuple[tuple[bytes, str, tuple[int, ...]], ...]:
    return tuple((row["topic_id"], row["topic_name"], row["partitions"]) for row in rows)


def _tasks(rows: Any) -> Tasks:
    return tuple((row["subtopology_id"], row["partitions"]) for row in rows)
