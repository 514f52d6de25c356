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

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.health.features.commit_interval import slots_of_rows
from stream.health.features.end_history import BracketQuality
from stream.health.features.memory.memory_columns import MemoryColumns
from stream.health.inputs import KEPT_FOREVER

if TYPE_CHECKING:
    from stream.health.columns import Flags, Ints
    from stream.health.features.end_history import EndHistory
    from stream.health.features.lag import Lag
    from stream.health.features.memory.rest import RestMemory
    from stream.health.inputs import HealthInputs

_LEAST_MOVES: Final = 2
_DELAY: Final = 60_000
"""Time (ms) that a program may take from reading a committed offset to deleting the records below it."""


@dataclasses.dataclass(frozen=True, slots=True)
class OwnDeletesMemory(MemoryColumns):
    """One element per row; -1: not known."""

    log_start: Ints
    """At the last tick with a known value."""
    moves: Ints
    """The number of consecutive moves of the log start that followed the commits of the group."""


def advance(  # noqa: PLR0917 - columns of one table
    memory: OwnDeletesMemory,
    before: RestMemory,
    inputs: HealthInputs,
    lag: Lag,
    history: EndHistory,
    history_row: Ints,
) -> tuple[OwnDeletesMemory, Flags]:
    """Return the memory after a tick, and the rows of groups that delete their own records.

    Where retention never deletes, a group counts as such until the log start has moved in another way. `before` has the
    committed offsets of the last tick.
    """
    known = lag.known & (inputs.spans.last_offset >= 0)
    start = inputs.ends.log_start[lag.row] if len(inputs.ends.place) else memory.log_start
    moves = memory.moves
    moved = np.flatnonzero(known & (memory.log_start >= 0) & (start > memory.log_start))
    if len(moved):
        moves = moves.copy()
        follows, is_refuted = _judged(before, inputs, lag, history, history_row, moved, moves[moved] != 0)
        moves[moved[is_refuted]] = 0
        moves[moved[follows]] = np.maximum(moves[moved[follows]], 0) + 1
    own: Flags = moves >= _LEAST_MOVES
    if inputs.kept is not None:
        own |= (inputs.kept == KEPT_FOREVER) & (moves != 0)
    return OwnDeletesMemory(np.where(known, start, memory.log_start), moves), own


def is_loss_proven(memory: OwnDeletesMemory, before: RestMemory, inputs: HealthInputs) -> Flags:
    """Return the rows that are below the log start of the last tick, and whose commits are known since then.

    A group that deletes what it has read commits first, but the log start may be known before the commit.
    """
    read_until = inputs.now if inputs.read_until is None else inputs.read_until
    proven: Flags = (inputs.spans.last_offset < memory.log_start) & (before.observed <= read_until)
    return proven


def _judged(  # noqa: PLR0917 - columns of one table
    before: RestMemory,
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
    committed, earlier = inputs.spans.last_offset[rows], before.committed[rows]
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
