"""What comes in: everything health needs to know of one moment, as columns. Values only.

Two kinds of columns are optional, because another part of the monitor may not have them (yet, or on this cluster): what
is asked from the cluster beyond the ends, and what the membership records tell. Left out, the rules that live on them
stay silent; nothing is guessed.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING

from stream.groups.commits.slots import no_slots
from stream.health.features.offset_out_of_range import CommitOrigins

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from stream.groups.commits.runs import Spans
    from stream.groups.commits.slots import Slots
    from stream.health.columns import Codes, Flags, Ints
    from stream.health.features.control_records import LogTails
    from stream.health.features.lag import Lag, PartitionEnds

NO_COMMIT = -1
"""In `spans.last_offset`: a partition that a member owns, or that belongs to a subscribed topic, without any commit."""


class GroupStage(enum.IntEnum):
    """Where a group stands, in the words of all kinds of groups."""

    UNKNOWN = 0
    """Not known."""
    OFFSETS_ONLY = 1
    """A simple group: it has no members by its nature."""
    EMPTY = 2
    REBALANCING = 3
    """Preparing or completing a rebalance, assigning, reconciling, not ready."""
    STABLE = 4


@dataclasses.dataclass(frozen=True, slots=True)
class GroupInputs:
    """One element per name of a group. Moments in ms, -1 where there was none or it is not known."""

    names: Sequence[str]
    stage: Codes
    since: Ints
    """Since when it is in this stage with these members: the last rebalance, or when it became empty."""
    members: Ints
    """-1: not known."""
    rebalances: Ints
    """Live ones (no replayed history) within the last `Limits.storm`."""
    emptied: Ints
    """When the group last became empty, and when it last ceased to be (-1 while it still is)."""
    refilled: Ints
    static: NDArray[np.bool_]
    """Some member has a group instance id."""
    share: NDArray[np.bool_]
    """Share groups, which commit no offsets."""


@dataclasses.dataclass(frozen=True, slots=True)
class OpenTransaction:
    """Who holds a partition back, as far as the cluster tells."""

    producer_id: int
    transactional_id: str | None = None
    since: int | None = None
    hanging: bool | None = None
    """Nobody is going to end it."""


@dataclasses.dataclass(frozen=True, slots=True)
class HealthInputs:
    """One moment. Rows are (group, topic, partition), sorted by these; numbers are places in the lists of names."""

    now: int
    """When the ends had been read, after the commits (ms)."""
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
    """Numbers of topics that have another id than at the tick before."""
    subscribed: Codes | None = None
    """Whether any member subscribes to the topic: 1, 0, or -1 not known."""
    owner: Ints | None = None
    """Number of the member that owns the partition (any numbering within its group), -2 nobody, -1 not known."""
    expiry: Ints | None = None
    """When the broker forgets the offset; negative: never, or not known."""
    retention: Ints | None = None
    """How long the topic keeps records (retention.ms); -1: for ever, compacted, or not known."""
    tails: LogTails | None = None
    """None: nobody reads tails, and a lag is taken for data. Else a row is undecided until its tail has been read."""
    transactions: Mapping[tuple[int, int], OpenTransaction] = dataclasses.field(default_factory=dict)
    """By (topic number, partition)."""
    hidden: Flags | None = None
    """Rows whose newest commits an open transaction may hide from the log; None: of no row."""
    reasons: NDArray[np.object_] | None = None
    """Why the ends of a row are not known, where they are not."""
    lag: Lag | None = None
    """Each row held against its end, where that has been done already."""
    read_until: Ints | None = None
    """Per row: all its commits up to then are known (ms). None: up to now."""
    answered_since: Ints | None = None
    """Per row: since when its coordinator stores commits again after a pause (ms); -1, or None: there was none."""

    def trim(self) -> HealthInputs:
        """Give what is still looked at after the judgement; the commit windows alone are more than all the rest."""
        return dataclasses.replace(
            self, slots=no_slots(), origins=CommitOrigins(), lag=None, read_until=None, answered_since=None
        )

    def __len__(self) -> int:
        return len(self.group)


NO_OWNER = -2
"""In `HealthInputs.owner`: the members are known, and none of them owns the partition."""
