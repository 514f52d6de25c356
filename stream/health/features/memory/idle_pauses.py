"""Habits that are no fault: groups that commit the last record read, and that delete what they have read.

The lag of such a group is never below one offset. A record that cannot be processed also leaves a lag of one offset.
Two observations distinguish the two cases:

- An *idle pause* is a time without new records and without a change of the commit, which was made after the last
  record had been written. A group that pauses one offset before the end twice in a row, and continues at once each
  time, has read all records in these pauses.
- If all partitions of a group with members pause one offset before the end at the same time, none of them is stuck.

After a pause at any other distance the group no longer counts as such a group.

Log starts that follow the commits of a group: an application that deletes what it has read (DeleteRecords).

Kafka Streams purges its repartition topics right after a commit, up to the committed offset. The log start then moves
because the group reads, and says nothing about retention. Two properties show whose commits it follows:

- It moved to exactly an offset that the group had committed a short time before. Retention moves it to the first offset
  of a segment.
- Or it moved to an offset that the group passed within the last minute, while retention keeps every record for longer
  than these are old. This counts only if no other group committed exactly that offset.

Two such moves in a row show the habit, and one of another kind refutes it; after that, only the first property counts.
So a slower group on the same partition is not among these rows when the log start comes near, and is overtaken as by
retention.
"""

from typing import Final

import numpy as np

from stream.groups.commits.slots import slots_of_rows
from stream.health.columns import NOT_KNOWN, Flags, Ints, assigned, replaced, uniform
from stream.health.features import control_records
from stream.health.features import lag as lags
from stream.health.features.end_history import BracketQuality, EndHistory
from stream.health.features.lag import Lag
from stream.health.features.memory.columns import Changes, Memory
from stream.health.inputs import KEPT_FOREVER, HealthInputs

_LEAST_PAUSES: Final = 2
_LEAST_PARTITIONS: Final = 2
"""Partitions that must pause together: a single one may be stuck at its last record."""
_STILL: Final = 2
"""Ticks without any change after which a row is idle: a slow reader also pauses between two records."""
_AT_ONCE: Final = 3
"""Ticks in which a group reads on after an idle pause; one that does so later was not waiting for records."""


def advance_idle_pauses(memory: Memory, inputs: HealthInputs, lag: Lag) -> Changes:
    """Return the columns of idle pauses after a tick."""
    committed = inputs.spans.last_offset
    known = lag.known & (committed >= 0)
    same_end, same_commit = lag.end == memory.known_end, committed == memory.known_committed
    grew = known & ~same_end & (memory.known_end >= 0)
    written_after = replaced(memory.written_after, grew, memory.known_tick)
    still = replaced(memory.still_ticks + 1, ~(known & same_end & same_commit), 0)
    distance = _distances(inputs, lag, (still >= _STILL) & (inputs.spans.reached_time >= written_after))
    # From here on only the rows that were idle, and have gone on or may do so.
    was_idle = memory.idle_distance >= 0
    at = np.flatnonzero(was_idle & (grew | (memory.ticks_since_idle > 0) | ~same_commit))
    earlier = memory.idle_distance[at]
    began = grew[at] | (memory.ticks_since_idle[at] > 0)
    since_idle = np.where(began, np.maximum(memory.ticks_since_idle[at], 0) + 1, 0)
    moved = known[at] & (committed[at] > memory.known_committed[at])
    confirmed = moved & (since_idle > 0) & (since_idle <= _AT_ONCE)
    is_judged = moved | (since_idle > _AT_ONCE)
    left, gone_on, pauses = distance[at] < 0, at[confirmed], memory.idle_pauses[at]
    pauses = np.where(earlier == memory.usual_distance[at], pauses + 1, 1)[confirmed]
    together = _all_at_one(inputs, distance, known & (lag.end > 0))
    usual = replaced(assigned(memory.usual_distance, gone_on, earlier[confirmed]), together, 1)
    count = assigned(memory.idle_pauses, gone_on, pauses)
    count = replaced(count, together & (count < _LEAST_PAUSES), _LEAST_PAUSES)
    idle_distance = assigned(memory.idle_distance, at[left & is_judged], NOT_KNOWN)
    return {
        "known_committed": replaced(memory.known_committed, known, committed),
        "known_end": replaced(memory.known_end, known, lag.end),
        "known_tick": replaced(memory.known_tick, known, inputs.now),
        "written_after": written_after,
        "still_ticks": still,
        "idle_distance": replaced(idle_distance, distance >= 0, distance),
        "ticks_since_idle": assigned(uniform(0, known), at, np.where(left & ~is_judged, since_idle, 0)),
        "usual_distance": usual,
        "idle_pauses": count,
        "last_read": (usual == 1) & (count >= _LEAST_PAUSES),
    }


def _distances(inputs: HealthInputs, lag: Lag, idle: Flags) -> Ints:
    """Return the distance of idle rows from the last record; -1 for others, and where its offset is not known."""
    distance = replaced(uniform(NOT_KNOWN, idle), idle, lag.lag)
    if inputs.tails is None:
        return distance
    rows = np.flatnonzero(idle)
    places = lags.place(inputs.topic[rows], inputs.partition[rows])
    unread = control_records.remove_markers(
        lag.lag[rows],
        np.ones(len(rows), np.bool_),
        places,
        next_offset=lag.end[rows] - lag.lag[rows],
        end=lag.end[rows],
        tails=inputs.tails,
    )
    return assigned(distance, rows, np.where((unread.lag == 0) | unread.tail_known, unread.lag, NOT_KNOWN))


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


_LEAST_MOVES: Final = 2
_DELAY: Final = 60_000
"""Time (ms) that a program may take from reading a committed offset to deleting the records below it."""


def advance_own_deletes(
    memory: Memory, inputs: HealthInputs, lag: Lag, history: EndHistory, history_row: Ints
) -> Changes:
    """Return the columns of own deletes after a tick.

    Where retention never deletes, a group counts as one that deletes its own records until the log start has moved in
    another way. A loss of such a group is proven below the log start of the last tick if the commits are known since
    then: the group commits first, but the log start may be known before the commit.
    """
    known = lag.known & (inputs.spans.last_offset >= 0)
    start, moves = lag.start, memory.start_moves
    has_moved = known & (start != memory.log_start)
    moved = np.flatnonzero(has_moved & (memory.log_start >= 0) & (start > memory.log_start))
    if len(moved):
        moves = moves.copy()
        follows, is_refuted = _judged(memory, inputs, lag, history, history_row, moved, moves[moved] != 0)
        moves[moved[is_refuted]] = 0
        moves[moved[follows]] = np.maximum(moves[moved[follows]], 0) + 1
    own: Flags = moves >= _LEAST_MOVES
    if inputs.kept is not None:
        own |= (inputs.kept == KEPT_FOREVER) & (moves != 0)
    unproven = own
    if own.any():
        read_until = inputs.now if inputs.read_until is None else inputs.read_until
        is_proven = (inputs.spans.last_offset < memory.log_start) & (memory.known_tick <= read_until)
        unproven = own & ~is_proven
    return {
        "log_start": replaced(memory.log_start, has_moved, start),
        "start_moves": moves,
        "deletes_own": own,
        "loss_unproven": unproven,
    }


def _judged(  # noqa: PLR0917 - columns of one table
    memory: Memory, inputs: HealthInputs, lag: Lag, history: EndHistory, history_row: Ints, rows: Ints, may_pass: Flags
) -> tuple[Flags, Flags]:
    """Return for each of these rows, whose log start has moved, whether it followed the group, and whether it did not.

    Neither holds where the log start is above the commit and newer commits may exist. Without an equal offset, only
    rows that `may_pass` follow.
    """
    committed, earlier = inputs.spans.last_offset[rows], memory.known_committed[rows]
    end_row = lag.row[rows]
    start = lag.start[rows]
    slots = slots_of_rows(inputs.slots, rows, len(inputs))
    exact = (start == committed) | (start == earlier)
    exact[slots.row[slots.offset == start[slots.row]]] = True
    low = np.where(earlier >= 0, earlier, committed)
    is_old = slots.time <= inputs.now - _DELAY
    low[slots.row[is_old]] = np.minimum(slots.offset[is_old], low[slots.row[is_old]])
    passed = may_pass & (low <= start) & (start <= committed) & _is_kept(inputs, history, history_row, rows, start)
    follows: Flags = exact | (passed & ~np.isin(end_row, end_row[exact]))
    is_late = np.zeros(len(rows), np.bool_) if inputs.read_until is None else inputs.read_until[rows] < inputs.now
    refuted: Flags = ~follows & ~((start > committed) & is_late)
    return follows, refuted


def _is_kept(inputs: HealthInputs, history: EndHistory, history_row: Ints, rows: Ints, start: Ints) -> Flags:
    """Return the rows whose last removed record is one that retention still keeps."""
    if inputs.kept is None:
        return np.zeros(len(rows), np.bool_)
    kept, row = inputs.kept[rows], history_row[rows]
    written, quality = history.time_of(np.maximum(row, 0), start - 1)
    is_young = (row >= 0) & (quality == BracketQuality.BETWEEN) & (inputs.now - written < kept)
    is_kept: Flags = is_young | (kept == KEPT_FOREVER)
    return is_kept
