"""What the records of the newer group kinds mean: consumer groups (KIP-848), share groups, streams groups.

`kind` says which of the three where they share a fact. A group's state is spread over many records: the group epoch,
the target assignment's epoch, and per member its metadata, target and current assignment; every fact here is one of
them.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

GroupKind = Literal["consumer", "share", "streams"]
TopicPartitions = tuple[tuple[bytes, tuple[int, ...]], ...]
"""(topic id, partitions) of an assignment; these records know topics by id only."""
Tasks = tuple[tuple[str, tuple[int, ...]], ...]
"""(subtopology id, partitions) of a streams assignment."""


@dataclasses.dataclass(frozen=True, slots=True)
class GroupEpochRecorded:
    """A group stands at this group epoch (types 3, 11 and 17).

    `metadata_hash` is of the subscribed topics, None where the writer had none. The topology epochs are those of
    streams groups (KIP-1071), None elsewhere and where unknown.
    """

    group: str
    kind: GroupKind
    group_epoch: int
    metadata_hash: int | None
    validated_topology_epoch: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class GroupEpochRemoved:
    """The group itself is gone as this kind: deleted, expired or converted (tombstones of types 3, 11 and 17)."""

    group: str
    kind: GroupKind


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionMetadataRecorded:
    """A consumer group saw these topics when it last looked (type 4, up to 4.0): (topic id, name, partitions)."""

    group: str
    topics: tuple[tuple[bytes, str, int], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionMetadataRemoved:
    """The topics seen are forgotten (tombstone of type 4, written by every group deletion since 4.1)."""

    group: str


@dataclasses.dataclass(frozen=True, slots=True)
class ConsumerMemberRecorded:
    """A member joined or changed (type 5). `classic_session_timeout` is set while it speaks the classic protocol."""

    group: str
    member_id: str
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    topics: tuple[str, ...]
    topic_regex: str | None
    rebalance_timeout: int
    server_assignor: str | None
    classic_session_timeout: int | None
    classic_protocols: tuple[tuple[str, bytes], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ShareMemberRecorded:
    """A member of a share group joined or changed (type 10)."""

    group: str
    member_id: str
    rack_id: str | None
    client_id: str
    client_host: str
    topics: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class StreamsMemberRecorded:
    """A member of a streams group joined or changed (type 19). `endpoint` is "host:port" of interactive queries."""

    group: str
    member_id: str
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout: int
    topology_epoch: int
    process_id: str
    endpoint: str | None
    client_tags: tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class MemberRemoved:
    """A member left or was fenced (tombstones of types 5, 10 and 19)."""

    group: str
    kind: GroupKind
    member_id: str


@dataclasses.dataclass(frozen=True, slots=True)
class TargetAssignmentRecorded:
    """A new target assignment stands for the whole group (types 6, 12 and 20); its time is known from 4.3 on."""

    group: str
    kind: GroupKind
    assignment_epoch: int
    assignment_timestamp: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class TargetAssignmentRemoved:
    """No target assignment stands any more (tombstones of types 6, 12 and 20)."""

    group: str
    kind: GroupKind


@dataclasses.dataclass(frozen=True, slots=True)
class MemberTargetRecorded:
    """A member is to own these partitions (types 7 and 13); written for members whose target changed."""

    group: str
    kind: GroupKind
    member_id: str
    partitions: TopicPartitions


@dataclasses.dataclass(frozen=True, slots=True)
class StreamsMemberTargetRecorded:
    """A streams member is to run these tasks (type 21)."""

    group: str
    member_id: str
    active: Tasks
    standby: Tasks
    warmup: Tasks


@dataclasses.dataclass(frozen=True, slots=True)
class MemberTargetRemoved:
    """A member has no target any more (tombstones of types 7, 13 and 21)."""

    group: str
    kind: GroupKind
    member_id: str


@dataclasses.dataclass(frozen=True, slots=True)
class MemberAssignmentRecorded:
    """A member owns these partitions at this member epoch (types 8 and 14).

    `member_state` is "stable", "unrevoked", "unreleased" or "unknown", None where the layout (3.7) has none. An epoch
    of -2 is a static member that is away: it still owns what it owned. Share members have nothing pending.
    """

    group: str
    kind: GroupKind
    member_id: str
    member_epoch: int
    previous_member_epoch: int
    member_state: str | None
    partitions: TopicPartitions
    pending_revocation: TopicPartitions


@dataclasses.dataclass(frozen=True, slots=True)
class StreamsMemberAssignmentRecorded:
    """A streams member runs these tasks at this member epoch (type 22); `pending_...` are to be given up."""

    group: str
    member_id: str
    member_epoch: int
    previous_member_epoch: int
    member_state: str
    active: Tasks
    standby: Tasks
    warmup: Tasks
    pending_active: Tasks
    pending_standby: Tasks
    pending_warmup: Tasks


@dataclasses.dataclass(frozen=True, slots=True)
class MemberAssignmentRemoved:
    """A member owns nothing any more (tombstones of types 8, 14 and 22)."""

    group: str
    kind: GroupKind
    member_id: str


@dataclasses.dataclass(frozen=True, slots=True)
class TopicRegexResolved:
    """A regular expression matched these topics, at this version of the metadata and time (type 16)."""

    group: str
    topic_regex: str
    topics: tuple[str, ...]
    metadata_version: int
    resolved_timestamp: int


@dataclasses.dataclass(frozen=True, slots=True)
class TopicRegexRemoved:
    """Nobody in the group subscribes to the regular expression any more (tombstone of type 16)."""

    group: str
    topic_regex: str


@dataclasses.dataclass(frozen=True, slots=True)
class ShareTopicsRecorded:
    """The share group's state of these partitions is being set up, is set up, or goes (type 15).

    Rows are (topic id, name, partitions) and (topic id, name). One partition can stand in both of the first two.
    """

    group: str
    initializing: tuple[tuple[bytes, str, tuple[int, ...]], ...]
    initialized: tuple[tuple[bytes, str, tuple[int, ...]], ...]
    deleting: tuple[tuple[bytes, str], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ShareTopicsRemoved:
    """The share group keeps no partition state any more (tombstone of type 15)."""

    group: str


@dataclasses.dataclass(frozen=True, slots=True)
class Subtopology:
    """One part of a streams topology: what it reads and the internal topics it keeps."""

    subtopology_id: str
    source_topics: tuple[str, ...]
    source_topic_regex: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    repartition_source_topics: tuple[str, ...]
    state_changelog_topics: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class StreamsTopologyRecorded:
    """A streams group runs this topology (type 23)."""

    group: str
    topology_epoch: int
    subtopologies: tuple[Subtopology, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class StreamsTopologyRemoved:
    """The topology is gone (tombstone of type 23, the last record of a streams group)."""

    group: str


GroupEvent = (
    GroupEpochRecorded
    | GroupEpochRemoved
    | PartitionMetadataRecorded
    | PartitionMetadataRemoved
    | ConsumerMemberRecorded
    | ShareMemberRecorded
    | StreamsMemberRecorded
    | MemberRemoved
    | TargetAssignmentRecorded
    | TargetAssignmentRemoved
    | MemberTargetRecorded
    | StreamsMemberTargetRecorded
    | MemberTargetRemoved
    | MemberAssignmentRecorded
    | StreamsMemberAssignmentRecorded
    | MemberAssignmentRemoved
    | TopicRegexResolved
    | TopicRegexRemoved
    | ShareTopicsRecorded
    | ShareTopicsRemoved
    | StreamsTopologyRecorded
    | StreamsTopologyRemoved
)
