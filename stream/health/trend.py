"""Whether lag rises or falls over the commit window, told from the lag that was left right after each commit.

What is left after a commit is the group's own doing: the lag *between* commits rises in every group, by the hour in an
hourly batch. The window is cut into three equal parts. Lag rises if it does from part to part, in steps that are both a
good part of the whole rise, and if the rise is more than the noise of a few commits, measured against what was written
meanwhile. One burst that is worked off is therefore no trend, however big, and no count of records is a limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from stream.health.history import UNKNOWN_OFFSET

if TYPE_CHECKING:
    from stream.groups.window import Slots
    from stream.health.columns import Codes, Flags, Ints, Reals
    from stream.health.history import History

FALLS: Final = -1
LEVEL: Final = 0
RISES: Final = 1
TOO_SHORT: Final = 2
"""Fewer commits than can show a trend."""

LEAST_SLOTS: Final = 6
"""Two for each of the three parts."""
_SHARE_OF_RISE: Final = 0.2
"""Each of the two steps is at least this share of the whole: so a single jump is no trend."""
_SHARE_OF_WRITTEN: Final = 0.03
"""The rise from the first to the last third is at least this share of what was written in the window."""


def trend(slots: Slots, rows: int, history: History, of_history: Ints, lag: Ints, written_since: Ints) -> Codes:  # noqa: PLR0917 - six columns of one table
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
    code[enough] = LEVEL
    code[enough & steady & (change > 0) & (lag >= last)] = RISES
    code[enough & steady & (change < 0) & (lag <= middle)] = FALLS
    return code


def _left_after_commit(slots: Slots, history: History, of_history: Ints) -> tuple[Ints, Flags]:
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
