"""The inputs of one evaluation, as columns: everything that health needs to know about one tick.

Columns that other parts of the monitor may not have (yet, or on this cluster) are optional: what has to be requested
from the cluster in addition to the ends, and what comes from membership records. Without a column the rules that need
it match nothing; nothing is guessed.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stream.groups.commits.runs import Spans, no_spans
from stream.groups.commits.slots import Slots
from stream.groups.membership.model import MemberClient
from stream.health.columns import NOT_KNOWN, Codes, Flags, Ints, uniform
from stream.health.features.control_records import LogTails
from stream.health.features.lag import Lag, PartitionEnds
from stream.health.features.offset_out_of_range import CommitOrigins
from stream.health.share.progress import ShareProgress

NO_COMMIT: Final = -1
"""In `spans.last_offset`: a partition that a member owns, or of a subscribed topic, without any commit."""
KEPT_FOREVER: Final = 1 << 62
"""In `HealthInputs.kept`: retention never removes a record."""
NO_OWNER: Final = -2
"""In `HealthInputs.owner`: the members are known, and none of them owns the partition."""


_ONLY_EVALUATED: Final = ("first_offset", "first_position", "first_time", "last_position", "reached_position")
"""Columns of spans that no sentence needs."""


class GroupStage(enum.IntEnum):
    """The state of a group, in terms that fit all group protocols."""

    UNKNOWN = 0
    OFFSETS_ONLY = 1
    """A simple group: it commits offsets and never has members."""
    EMPTY = 2
    REBALANCING = 3
    """Preparing or completing a rebalance, assigning, reconciling, not ready."""
    STABLE = 4
    MIRRORED = 5
    """Another program writes its offsets here, as the configuration says, and it has no members."""


@dataclasses.dataclass(frozen=True, slots=True)
class GroupInputs:
    """One element per group name. Times in ms; -1: never, or not known."""

    names: Sequence[str]
    stage: Codes
    since: Ints
    """Since when it is in this stage with these members: the last rebalance, or when it became empty."""
    members: Ints
    """-1: not known."""
    rebalances: Ints
    """Number of rebalances within the last `HealthLimits.storm_window`, without those of replayed history."""
    emptied: Ints
    """When the group last became empty."""
    refilled: Ints
    """When it last ceased to be empty; -1 while it is."""
    static: NDArray[np.bool_]
    """At least one member has a group.instance.id."""
    share: NDArray[np.bool_]
    """Share groups (KIP-932), which commit no offsets."""
    generation: Ints
    """The generation of a classic group; -1 also for other groups."""
    joined: Ints
    """Number of members that joined and that left with the last rebalance."""
    left: Ints

    def take(self, position: Ints) -> GroupInputs:
        """Return the groups at these positions."""
        columns = {field.name: getattr(self, field.name)[position] for field in dataclasses.fields(self)[1:]}
        return GroupInputs([self.names[at] for at in position.tolist()], **columns)


@dataclasses.dataclass(frozen=True, slots=True)
class Subscribers:
    """Members of one group that subscribe to the same topics."""

    topics: tuple[str, ...]
    clients: tuple[MemberClient, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class FencedInstance:
    """A group.instance.id that two clients use in turns."""

    instance_id: str
    changes: int
    """How often its member id has changed lately."""
    since: int
    """The first of these changes (ms)."""


@dataclasses.dataclass(frozen=True, slots=True)
class OpenTransaction:
    """The open transaction that blocks a partition, as far as the cluster knows it."""

    producer_id: int
    transactional_id: str | None = None
    since: int | None = None
    """When it began (ms)."""
    hanging: bool | None = None
    """No coordinator will end it (KIP-664)."""


@dataclasses.dataclass(frozen=True, slots=True)
class FailedReplica:
    """A replica that is offline although its broker is in the cluster: its log directory has failed."""

    broker: int
    directories: tuple[str, ...]
    """The failed log directories of the broker; empty: not known."""


@dataclasses.dataclass(frozen=True, slots=True)
class AbortStreak:
    """The offset commits of a row that were aborted with their transactions since its last commit. Times in ms."""

    count: int
    first_time: int
    last_time: int
    producer_id: int
    """The producer of the last one."""


@dataclasses.dataclass(frozen=True, slots=True)
class RemovedCommits:
    """One element per row; -1: not recently, or not known."""

    time: Ints
    """When a tombstone removed the committed offset (ms)."""
    expired: Ints
    """1: it had expired, 0: it was deleted before its time."""
    forgotten: Ints
    """When (ms), if that was before its time and the group was alive."""


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetsOutage:
    """Partitions of `__consumer_offsets` without a known end offset: their groups can neither commit nor be read."""

    since: Ints
    """Per row: since when (ms) the offsets partition of its group has no known end; -1: it has one."""
    partition: Ints
    """Per row: the offsets partition of its group."""
    reasons: Mapping[int, str]
    """Why the end is not known, by offsets partition."""


@dataclasses.dataclass(frozen=True, slots=True)
class HealthInputs:
    """One tick. Rows are (group, topic, partition), sorted by these; groups and topics are positions in their lists."""

    now: int
    """When the ends had been read (ms); commits were read before."""
    groups: GroupInputs
    topics: Sequence[str]
    group: Ints
    topic: Ints
    partition: NDArray[np.int32]
    spans: Spans
    slots: Slots
    """Of the rows of `spans`, sorted by row and number."""
    ends: PartitionEnds
    """Places numbered by `topics`."""
    origins: CommitOrigins = dataclasses.field(default_factory=CommitOrigins)
    recreated: Ints | None = None
    """Topics whose topic id differs from that of the previous tick."""
    subscribed: Codes | None = None
    """1: a member subscribes to the topic; 0: none does; -1: not known."""
    owner: Ints | None = None
    """The member that owns the partition, by its position in `clients`; `NO_OWNER`, or -1: not known."""
    clients: Sequence[MemberClient] = ()
    """The members of all groups; empty: they have no names."""
    subscribers: Mapping[int, tuple[Subscribers, ...]] = dataclasses.field(default_factory=dict)
    """The groups whose members subscribe to different topics, with the members of each subscription."""
    joined: Mapping[int, tuple[MemberClient, ...]] = dataclasses.field(default_factory=dict)
    """The members that joined each group last, as far as this process has seen it. By group."""
    fenced: Mapping[int, FencedInstance] = dataclasses.field(default_factory=dict)
    """The groups with two clients of one instance id. By group."""
    expiry: Ints | None = None
    """When the broker expires the offset (ms); negative: never, or not known."""
    removed: RemovedCommits | None = None
    """The offsets of rows that were recently removed, in whatever way."""
    retention: Ints | None = None
    """Time (ms) for which the topic keeps records (retention.ms); -1: for ever, compacted, or not known."""
    kept: Ints | None = None
    """Time (ms) for which retention keeps every record of the topic, which its size does not limit; `KEPT_FOREVER`, or
    -1: not known, or its size is limited."""
    gapless: Flags | None = None
    """The topic is known not to be compacted: between two of its offsets there is a record, or a marker."""
    tails: LogTails | None = None
    """None: tails are not read, and all lag counts as data. Otherwise a row is undecided until its tail is read."""
    transactions: Mapping[tuple[int, int], OpenTransaction] = dataclasses.field(default_factory=dict)
    """By (topic, partition)."""
    aborts: Mapping[int, AbortStreak] = dataclasses.field(default_factory=dict)
    """By row; most rows have none."""
    hidden: Flags | None = None
    """Rows whose newest commits an open transaction may hide from the reader of the log; None: none."""
    reasons: NDArray[np.object_] | None = None
    """Why the ends of a row are not known; None in rows with known ends."""
    failed_replicas: Mapping[int, tuple[FailedReplica, ...]] = dataclasses.field(default_factory=dict)
    """The failed replicas of rows whose partitions have no leader, as of the last poll of the cluster. By row."""
    checkpoint_topics: Sequence[str] = ()
    """The topics of the cluster in which MirrorMaker 2 writes checkpoints of groups."""
    lag: Lag | None = None
    """The lag of each row if it has been computed already."""
    read_until: Ints | None = None
    """Per row: all commits up to this time (ms) are known. None: up to `now`."""
    answered_since: Ints | None = None
    """Per row: since when (ms) its coordinator stores commits again after an outage; -1, or None: no outage."""
    offsets_outage: OffsetsOutage | None = None
    """None: the ends of all offsets partitions are known."""
    share_progress: ShareProgress | None = None
    """The progress of share groups at the last poll of the cluster; None: not polled."""

    def trim(self) -> HealthInputs:
        """Return the inputs without those that only the evaluation needs; commit windows are most of the memory."""
        unused: dict[str, Any] = dict.fromkeys(_ONLY_EVALUATED, uniform(NOT_KNOWN, self.group))
        return dataclasses.replace(
            self,
            spans=dataclasses.replace(self.spans, **unused),
            slots=Slots.empty(),
            origins=CommitOrigins(),
            lag=None,
            read_until=None,
            answered_since=None,
        )

    def without_columns(self) -> HealthInputs:
        """Return only the groups, the topics, and which rows there are."""
        none = np.empty(0, np.int64)
        return HealthInputs(
            now=self.now,
            groups=self.groups,
            topics=self.topics,
            group=self.group,
            topic=self.topic,
            partition=self.partition,
            spans=no_spans(),
            slots=Slots.empty(),
            ends=PartitionEnds(none, none, none, np.empty(0, np.bool_)),
        )

    def __len__(self) -> int:
        return len(self.group)
