"""Events of the newer group types: consumer groups (KIP-848), share groups and streams groups.

Events that the three types share have a `kind`. The state of a group is spread over many records: the group epoch, the
epoch of the target assignment, and per member its metadata, target assignment and current assignment. Each event here
comes from one of those records.
"""

import dataclasses
from typing import Any, Literal

from decoders.events import RecordEvent

GroupKind = Literal["consumer", "share", "streams"]
AssignmentRows = tuple[tuple[str, Any, tuple[int, ...]], ...]
"""(role, id, partitions). Of a streams member: active, standby or warmup, and a subtopology id. Of others: "" and a
topic id; these records have no topic names."""


@dataclasses.dataclass(frozen=True, slots=True)
class GroupEpochRecorded(RecordEvent):
    """The epoch of a group (types 3, 11 and 17).

    `validated_topology_epoch` is set for streams groups only (KIP-1071), None if unknown.
    """

    group: str
    kind: GroupKind
    group_epoch: int
    validated_topology_epoch: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionMetadataRecorded(RecordEvent):
    """The topics as the coordinator last saw them for a consumer group (type 4, up to 4.0): (id, name, partitions)."""

    group: str
    topics: tuple[tuple[bytes, str, int], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class MemberRecorded(RecordEvent):
    """A member joined or changed (types 5, 10 and 19). What its type does not have is None, or no topics.

    Members of a streams group have a `topology_epoch` and no topics, those of a share group no instance id and no
    timeout. `classic_session_timeout` is set while the member uses the classic protocol.
    """

    group: str
    kind: GroupKind
    member_id: str
    client_id: str
    client_host: str
    rack_id: str | None = None
    instance_id: str | None = None
    topics: tuple[str, ...] = ()
    topic_regex: str | None = None
    rebalance_timeout: int | None = None
    server_assignor: str | None = None
    classic_session_timeout: int | None = None
    topology_epoch: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class TargetAssignmentRecorded(RecordEvent):
    """The epoch of the target assignment of a group (types 6, 12 and 20); the timestamp is set since 4.3."""

    group: str
    kind: GroupKind
    assignment_epoch: int
    assignment_timestamp: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class MemberTargetRecorded(RecordEvent):
    """The target assignment of a member (types 7, 13 and 21); written for members whose target changed."""

    group: str
    kind: GroupKind
    member_id: str
    assigned: AssignmentRows


@dataclasses.dataclass(frozen=True, slots=True)
class MemberAssignmentRecorded(RecordEvent):
    """The current assignment of a member at this member epoch (types 8, 14 and 22).

    `member_state` is "stable", "unrevoked", "unreleased" or "unknown", None if the layout (3.7) has no state. An epoch
    of -2 marks a static member that left temporarily and keeps its partitions. A member owns what it is to give up
    (`pending_revocation`) until it has confirmed that; share members have none.
    """

    group: str
    kind: GroupKind
    member_id: str
    member_epoch: int
    member_state: str | None
    assigned: AssignmentRows
    pending_revocation: AssignmentRows = ()


@dataclasses.dataclass(frozen=True, slots=True)
class TopicRegexResolved(RecordEvent):
    """The topics that a regular expression matched (type 16)."""

    group: str
    topic_regex: str
    topics: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ShareTopicsRecorded(RecordEvent):
    """The partitions for which share group state is initializing, initialized or being deleted (type 15).

    Rows are (topic id, name, partitions), in `deleting` (topic id, name). A partition can be in both `initializing` and
    `initialized`.
    """

    group: str
    initializing: tuple[tuple[bytes, str, tuple[int, ...]], ...]
    initialized: tuple[tuple[bytes, str, tuple[int, ...]], ...]
    deleting: tuple[tuple[bytes, str], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Subtopology:
    """One part of a streams topology: the topics that it reads."""

    subtopology_id: str
    source_topics: tuple[str, ...]
    source_topic_regex: tuple[str, ...]
    repartition_source_topics: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class StreamsTopologyRecorded(RecordEvent):
    """The topology of a streams group (type 23)."""

    group: str
    topology_epoch: int
    subtopologies: tuple[Subtopology, ...]
