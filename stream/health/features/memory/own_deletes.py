"""Log starts that follow the commits of a group: an application that deletes what it has read (DeleteRecords).

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

from stream.health.columns import Flags, Ints
from stream.health.features.commit_interval import slots_of_rows
from stream.health.features.end_history import BracketQuality, EndHistory
from stream.health.features.lag import Lag
from stream.health.features.memory.columns import Changes, Memory
from stream.health.inputs import KEPT_FOREVER, HealthInputs

_LEAST_MOVES: Final = 2
_DELAY: Final = 60_000
"""Time (ms) that a program may take from reading a committed offset to deleting the records below it."""


def advance(memory: Memory, inputs: HealthInputs, lag: Lag, history: EndHistory, history_row: Ints) -> Changes:
    """Return the columns of own deletes after a tick.

    Where retention never deletes, a group counts as one that deletes its own records until the log start has moved in
    another way. A loss of such a group is proven below the log start of the last tick if the commits are known since
    then: the group commits first, but the log start may be known before the commit.
    """
    known = lag.known & (inputs.spans.last_offset >= 0)
    start = inputs.ends.log_start[lag.row] if len(inputs.ends.place) else memory.log_start
    moves = memory.start_moves
    moved = np.flatnonzero(known & (memory.log_start >= 0) & (start > memory.log_start))
    if len(moved):
        moves = moves.copy()
        follows, is_refuted = _judged(memory, inputs, lag, history, history_row, moved, moves[moved] != 0)
        moves[moved[is_refuted]] = 0
        moves[moved[follows]] = np.maximum(moves[moved[follows]], 0) + 1
    own: Flags = moves >= _LEAST_MOVES
    if inputs.kept is not None:
        own |= (inputs.kept == KEPT_FOREVER) & (moves != 0)
    read_until = inputs.now if inputs.read_until is None else inputs.read_until
    is_proven = (inputs.spans.last_offset < memory.log_start) & (memory.known_tick <= read_until)
    return {
        "log_start": np.where(known, start, memory.log_start),
        "start_moves": moves,
        "deletes_own": own,
        "loss_unproven": own & ~is_proven,
    }


def _judged(  # noqa: PLR0917 - columns of one table
    memory: Memory,
    inputs: HealthInputs,
    lag: Lag,
    history: EndHistory,
    history_row: Ints,
    rows: Ints,
    may_pass: Flags,
) -> tuple[Flags, Flags]:
    """Return for each of these rows, whose log start has moved, whether it followed the group, and whether it did not.

    Neither holds where the log start is above the commit and newer commits may exist. Without an equal offset, only
    rows that `may_pass` follow.
    """
    committed, earlier = inputs.spans.last_offset[rows], memory.known_committed[rows]
    end_row = lag.row[rows]
    start = inputs.ends.log_start[end_row]
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
