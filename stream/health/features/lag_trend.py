"""Whether lag rises or falls over the commit window, told from the lag that was left right after each commit.

What is left after a commit is the group's own doing: the lag *between* commits rises in every group, by the hour in an
hourly batch. The window is cut into three equal parts. Lag rises if it does from part to part, in steps that are both a
good part of the whole rise, and if the rise is more than the noise of a few commits, measured against what was written
meanwhile. Nor is it a rise if a single slot brought nearly all of it: after a pause of a few seconds a group stays
behind by as much, and keeps its pace. One burst is therefore no trend, however big, whether it is worked off or not,
and no count of records is a limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from stream.health.features.end_history import UNKNOWN_OFFSET

if TYPE_CHECKING:
    from stream.groups.commits.slots import Slots
    from stream.health.columns import Codes, Flags, Ints, Reals
    from stream.health.features.end_history import EndHistory

FALLS: Final = -1
LEVEL: Final = 0
RISES: Final = 1
TOO_SHORT: Final = 2
"""Fewer commits than can show a trend."""

LEAST_SLOTS: Final = 6
"""Two for each of the three parts."""
_SHARE_OF_RISE: Final = 0.2
"""Each of the two steps from part to part is at least this share of the whole."""
_SHARE_OF_JUMP: Final = 0.6
"""A jump from one slot to the next is at least this share of the whole, and..."""
_NEXT_TO_JUMP: Final = 0.5
"""... the next greatest is less than this share of it: a group that falls behind burst by burst has several."""
_SHARE_OF_WRITTEN: Final = 0.03
"""The rise from the first to the last third is at least this share of what was written in the window."""


def classify_trend(  # noqa: PLR0917 - six columns of one table
    slots: Slots, rows: int, history: EndHistory, of_history: Ints, lag: Ints, written_since: Ints
) -> Codes:
    """Give each row's trend. `lag` is the present lag; `written_since` what the partition got since the first slot."""
    code = np.full(rows, TOO_SHORT, np.int8)
    left, known = _left_after_commit(slots, history, of_history)
    row, left = slots.row[known], left[known]
    parts, enough = _thirds(row, left, rows)
    first, middle, last = parts
    change = last - first
    size = np.abs(change)
    steady = (np.abs(middle - first) >= _SHARE_OF_RISE * size) & (np.abs(last - middle) >= _SHARE_OF_RISE * size)
    steady &= (np.sign(middle - first) == np.sign(change)) & (np.sign(last - middle) == np.sign(change))
    steady &= size > _SHARE_OF_WRITTEN * np.maximum(written_since, 0)
    steady &= ~_jumped(row, left, change, rows)
    code[enough] = LEVEL
    code[enough & steady & (change > 0) & (lag >= last)] = RISES
    code[enough & steady & (change < 0) & (lag <= middle)] = FALLS
    return code


def _left_after_commit(slots: Slots, history: EndHistory, of_history: Ints) -> tuple[Ints, Flags]:
    """Give the lag right after the last commit of each slot, and where it is known."""
    row = of_history[slots.row]
    known = row >= 0
    left = np.zeros(len(slots), np.int64)
    if known.any():
        end = history.end_at(row[known], slots.time[known])
        left[known] = np.maximum(end - slots.offset[known], 0)
        known[known] = end != UNKNOWN_OFFSET
    return left, known


def _thirds(row: Ints, left: Ints, rows: int) -> tuple[Reals, Flags]:
    """Give the mean of each third of each row's slots, and which rows have enough of them."""
    count = np.bincount(row, minlength=rows)
    start = np.concatenate(([0], np.cumsum(count)[:-1]))
    place = np.arange(len(row)) - start[row] if len(row) else row
    third = place * 3 // np.maximum(count[row], 1)
    cell = third * rows + row
    sums = np.bincount(cell, weights=left, minlength=3 * rows)
    sizes = np.bincount(cell, minlength=3 * rows)
    means: Reals = (sums / np.maximum(sizes, 1)).reshape(3, rows)
    return means, count >= LEAST_SLOTS


def _jumped(row: Ints, left: Ints, change: Reals, rows: int) -> Flags:
    """Tell where one step between neighbouring slots, in the direction of the change, makes up nearly all of it."""
    first = np.full(rows, -np.inf)
    second = np.full(rows, -np.inf)
    same = row[1:] == row[:-1]
    of = row[1:][same]
    step = (left[1:] - left[:-1])[same] * np.sign(change)[of]
    order = np.lexsort((step, of))
    of, step = of[order], step[order]
    last = np.flatnonzero(np.diff(of, append=rows) != 0)
    first[of[last]] = step[last]
    two = last[(last > 0) & (of[np.maximum(last - 1, 0)] == of[last])]
    second[of[two]] = step[two - 1]
    jumped: Flags = (first >= _SHARE_OF_JUMP * np.abs(change)) & (second < _NEXT_TO_JUMP * first)
    return jumped
