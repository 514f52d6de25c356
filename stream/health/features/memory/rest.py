"""Groups that commit the offset of the last record they have read, not of the next one: learned from their rests.

The lag of such a group is never below one offset. A record that cannot be processed also leaves a lag of one offset.
Two observations distinguish the two cases:

- A *rest* is a time without new records and without a change of the commit, which was made after the last record had
  been written. A group that rests one offset before the end twice in a row, and continues at once each time, has read
  all records during these rests.
- If all partitions of a group with members rest one offset before the end at the same time, none of them is stuck.

After a rest at any other distance the group no longer counts as such a group.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.health.columns import NOT_KNOWN
from stream.health.features import control_records
from stream.health.features import lag as lags
from stream.health.features.memory.memory_columns import MemoryColumns

if TYPE_CHECKING:
    from stream.health.columns import Flags, Ints
    from stream.health.features.lag import Lag
    from stream.health.inputs import HealthInputs

_LEAST_RESTS: Final = 2
_LEAST_PARTITIONS: Final = 2
"""Partitions that must rest together: a single one may be stuck at its last record."""
_STILL: Final = 2
"""Ticks without any change after which a row rests: a slow reader also pauses between two records."""
_AT_ONCE: Final = 3
"""Ticks in which a group reads on after a rest; one that does so later was not waiting for records."""


@dataclasses.dataclass(frozen=True, slots=True)
class RestMemory(MemoryColumns):
    """One element per row; -1 where there is none, or it is not known. Times in ms."""

    committed: Ints
    """The value at the last tick with a known value."""
    end: Ints
    """At that tick."""
    observed: Ints
    """The time of that tick."""
    end_after: Ints
    """The last tick at which the end was lower: the last record was written later."""
    still: Ints
    """Ticks in a row in which neither the end nor the commit has moved."""
    distance: Ints
    """The distance from the end in the present rest, or in the last one while it is not judged yet."""
    left: Ints
    """Ticks since new records ended that rest; 0: they have not."""
    habit: Ints
    """The distance of the last rests."""
    rests: Ints
    """The number of consecutive rests at that distance that ended with progress."""


def advance(memory: RestMemory, inputs: HealthInputs, lag: Lag) -> tuple[RestMemory, Flags]:
    """Return the memory after a tick, and the rows of groups that commit the last offset they have read."""
    committed = inputs.spans.last_offset
    known = lag.known & (committed >= 0)
    end = np.where(known, inputs.ends.high_watermark[lag.row], NOT_KNOWN) if len(inputs.ends.place) else memory.end
    grew = known & (memory.end >= 0) & (end != memory.end)
    end_after = np.where(grew, memory.observed, memory.end_after)
    still = np.where(known & (end == memory.end) & (committed == memory.committed), memory.still + 1, 0)
    distance = _rest_distances(inputs, lag, end, (still >= _STILL) & (inputs.spans.reached_time >= end_after))
    rests, had_rest = distance >= 0, memory.distance >= 0
    left = np.where(had_rest & (grew | (memory.left > 0)), np.maximum(memory.left, 0) + 1, 0)
    moved = known & had_rest & (committed > memory.committed)
    confirmed = moved & (left > 0) & (left <= _AT_ONCE)
    same = memory.distance == memory.habit
    count = np.where(confirmed, np.where(same, memory.rests + 1, 1), memory.rests)
    together = _all_rest_at_one(inputs, distance, known & (end > 0))
    is_judged = moved | (left > _AT_ONCE)
    advanced = RestMemory(
        committed=np.where(known, committed, memory.committed),
        end=np.where(known, end, memory.end),
        observed=np.where(known, inputs.now, memory.observed),
        end_after=end_after,
        still=still,
        distance=np.where(rests, distance, np.where(is_judged, NOT_KNOWN, memory.distance)),
        left=np.where(rests | is_judged, 0, left),
        habit=np.where(together, 1, np.where(confirmed, memory.distance, memory.habit)),
        rests=np.where(together, np.maximum(count, _LEAST_RESTS), count),
    )
    last_read: Flags = (advanced.habit == 1) & (advanced.rests >= _LEAST_RESTS)
    return advanced, last_read


def _rest_distances(inputs: HealthInputs, lag: Lag, end: Ints, resting: Flags) -> Ints:
    """Return the distance of resting rows from the last record; -1 for others, and where its offset is not known."""
    distance = np.full(len(resting), NOT_KNOWN, np.int64)
    rows = np.flatnonzero(resting)
    if not len(rows) or inputs.tails is None:
        distance[rows] = lag.lag[rows]
        return distance
    places = lags.place(inputs.topic[rows], inputs.partition[rows])
    unread = control_records.remove_markers(
        lag.lag[rows],
        np.ones(len(rows), np.bool_),
        places,
        next_offset=end[rows] - lag.lag[rows],
        end=end[rows],
        tails=inputs.tails,
    )
    distance[rows] = np.where((unread.lag == 0) | unread.tail_known, unread.lag, NOT_KNOWN)
    return distance


def _all_rest_at_one(inputs: HealthInputs, distance: Ints, written: Flags) -> Flags:
    """Return the rows of groups with members that rest one offset before the end on all `written` partitions."""
    at_one: Flags = distance == 1
    if not at_one.any():
        return at_one
    groups = len(inputs.groups.names)
    resting = np.bincount(inputs.group[at_one], minlength=groups)
    partitions = np.bincount(inputs.group[written], minlength=groups)
    whole = (resting >= _LEAST_PARTITIONS) & (resting == partitions) & (inputs.groups.members > 0)
    all_rest: Flags = at_one & whole[inputs.group]
    return all_rest
