"""Groups that commit the offset of the last record they have read, not of the next one: learned from their idle pauses.

The lag of such a group is never below one offset. A record that cannot be processed also leaves a lag of one offset.
Two observations distinguish the two cases:

- An *idle pause* is a time without new records and without a change of the commit, which was made after the last
  record had been written. A group that pauses one offset before the end twice in a row, and continues at once each
  time, has read all records in these pauses.
- If all partitions of a group with members pause one offset before the end at the same time, none of them is stuck.

After a pause at any other distance the group no longer counts as such a group.
"""

from typing import Final

import numpy as np

from stream.health.columns import NOT_KNOWN, Flags, Ints
from stream.health.features import control_records
from stream.health.features import lag as lags
from stream.health.features.lag import Lag
from stream.health.features.memory.columns import Changes, Memory
from stream.health.inputs import HealthInputs

_LEAST_PAUSES: Final = 2
_LEAST_PARTITIONS: Final = 2
"""Partitions that must pause together: a single one may be stuck at its last record."""
_STILL: Final = 2
"""Ticks without any change after which a row is idle: a slow reader also pauses between two records."""
_AT_ONCE: Final = 3
"""Ticks in which a group reads on after an idle pause; one that does so later was not waiting for records."""


def advance(memory: Memory, inputs: HealthInputs, lag: Lag) -> Changes:
    """Return the columns of idle pauses after a tick."""
    committed = inputs.spans.last_offset
    known = lag.known & (committed >= 0)
    end = memory.known_end
    if len(inputs.ends.place):
        end = np.where(known, inputs.ends.high_watermark[lag.row], NOT_KNOWN)
    grew = known & (memory.known_end >= 0) & (end != memory.known_end)
    written_after = np.where(grew, memory.known_tick, memory.written_after)
    is_still = known & (end == memory.known_end) & (committed == memory.known_committed)
    still = np.where(is_still, memory.still_ticks + 1, 0)
    distance = _distances(inputs, lag, end, (still >= _STILL) & (inputs.spans.reached_time >= written_after))
    is_idle, was_idle = distance >= 0, memory.idle_distance >= 0
    since_idle = np.where(
        was_idle & (grew | (memory.ticks_since_idle > 0)), np.maximum(memory.ticks_since_idle, 0) + 1, 0
    )
    moved = known & was_idle & (committed > memory.known_committed)
    confirmed = moved & (since_idle > 0) & (since_idle <= _AT_ONCE)
    same = memory.idle_distance == memory.usual_distance
    count = np.where(confirmed, np.where(same, memory.idle_pauses + 1, 1), memory.idle_pauses)
    together = _all_at_one(inputs, distance, known & (end > 0))
    is_judged = moved | (since_idle > _AT_ONCE)
    usual = np.where(together, 1, np.where(confirmed, memory.idle_distance, memory.usual_distance))
    pauses = np.where(together, np.maximum(count, _LEAST_PAUSES), count)
    return {
        "known_committed": np.where(known, committed, memory.known_committed),
        "known_end": np.where(known, end, memory.known_end),
        "known_tick": np.where(known, inputs.now, memory.known_tick),
        "written_after": written_after,
        "still_ticks": still,
        "idle_distance": np.where(is_idle, distance, np.where(is_judged, NOT_KNOWN, memory.idle_distance)),
        "ticks_since_idle": np.where(is_idle | is_judged, 0, since_idle),
        "usual_distance": usual,
        "idle_pauses": pauses,
        "last_read": (usual == 1) & (pauses >= _LEAST_PAUSES),
    }


def _distances(inputs: HealthInputs, lag: Lag, end: Ints, idle: Flags) -> Ints:
    """Return the distance of idle rows from the last record; -1 for others, and where its offset is not known."""
    distance = np.full(len(idle), NOT_KNOWN, np.int64)
    rows = np.flatnonzero(idle)
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


def _all_at_one(inputs: HealthInputs, distance: Ints, written: Flags) -> Flags:
    """Return the rows of groups with members that pause one offset before the end on all `written` partitions."""
    at_one: Flags = distance == 1
    if not at_one.any():
        return at_one
    groups = len(inputs.groups.names)
    idle = np.bincount(inputs.group[at_one], minlength=groups)
    partitions = np.bincount(inputs.group[written], minlength=groups)
    whole = (idle >= _LEAST_PARTITIONS) & (idle == partitions) & (inputs.groups.members > 0)
    all_idle: Flags = at_one & whole[inputs.group]
    return all_idle
