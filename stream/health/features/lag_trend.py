"""The trend of the lag over the commit window, computed from the lag left right after each commit.

The lag after a commit depends on the group alone. The lag *between* commits rises in every group, for an hour in an
hourly batch. The window is cut into three equal parts. The lag rises if its mean rises from part to part, if each of
the two steps is a considerable share of the whole rise, and if the rise exceeds the noise of a few commits, measured
against what was written meanwhile. It does not rise if a single slot brought nearly all of it: after a pause of a few
seconds a group stays behind by as much and keeps its pace. So one burst is no trend, however large, whether the group
works it off or not, and no count of records is a limit.

A group that has become slower is known to fall behind before that: each of the last three slots brought a part of the
rise, which is more than the window had before, while as much was written as before. So it is no burst of producers.
"""

from typing import Final

import numpy as np

from stream.groups.commits.slots import Slots, slots_of_rows
from stream.health.columns import Codes, Flags, Ints, Reals, max_by_owner
from stream.health.features.end_history import UNKNOWN_OFFSET, EndHistory
from stream.health.inputs import NO_OWNER, HealthInputs

FALLS: Final = -1
LEVEL: Final = 0
RISES: Final = 1
TOO_SHORT: Final = 2
"""Too few commits to show a trend."""

LEAST_SLOTS: Final = 6
"""Two for each of the three parts."""
_SHARE_OF_RISE: Final = 0.2
"""Each of the two steps from part to part is at least this share of the whole change."""
_SHARE_OF_JUMP: Final = 0.6
"""A jump from one slot to the next is at least this share of the whole change, and..."""
_NEXT_TO_JUMP: Final = 0.5
"""... the second greatest step is less than this share of it: a group that falls behind burst by burst has several."""
_RAMP: Final = 3
"""The number of slots that show that a group has become slower."""
_USUAL_RATE: Final = 1.2
"""As much is written as before: at most this much of the earlier rate."""
_READS_LESS: Final = 0.85
"""The group reads at most this share of what is written in these slots."""
_SHARE_OF_WRITTEN: Final = 0.03
"""The change from the first to the last third is at least this share of what was written in the window."""


def trend_of_rows(
    slots: Slots, rows: Ints, history: EndHistory, history_row: Ints, *, lag: Ints, end: Ints, window_start: Ints
) -> Codes:
    """Return the trend of each of these `rows` of the table, `TOO_SHORT` where there are too few slots.

    `slots` are those of `rows`, numbered by their position in `rows`. The other columns are of the whole table: the row
    in the history (-1: none), the present lag, the end offset, and the first time (ms) of the commit window.
    """
    code = np.full(len(rows), TOO_SHORT, np.int8)
    enough = np.flatnonzero(np.bincount(slots.row, minlength=len(rows)) >= LEAST_SLOTS)
    if not len(enough):
        return code
    slots, rows = slots_of_rows(slots, enough, len(rows)), rows[enough]
    row = history_row[rows]
    first_end = history.end_at(np.maximum(row, 0), window_start[rows])
    written = np.where(first_end >= 0, end[rows] - first_end, 0)
    code[enough] = classify_trend(slots, len(rows), history, row, lag[rows], written)
    return code


def classify_trend(  # noqa: PLR0917 - columns of one table
    slots: Slots, rows: int, history: EndHistory, history_row: Ints, lag: Ints, written: Ints
) -> Codes:
    """Return the trend of each of `rows` rows.

    `lag` is the present lag, `written` the number of offsets written since the first slot of the row.
    """
    code = np.full(rows, TOO_SHORT, np.int8)
    end, known = _ends_at_commits(slots, history, history_row)
    row, end, offset = slots.row[known], end[known], slots.offset[known]
    left = np.maximum(end - offset, 0)
    means, enough = _mean_of_thirds(row, left, rows)
    first, middle, last = means
    change = last - first
    size = np.abs(change)
    steady = (np.abs(middle - first) >= _SHARE_OF_RISE * size) & (np.abs(last - middle) >= _SHARE_OF_RISE * size)
    steady &= (np.sign(middle - first) == np.sign(change)) & (np.sign(last - middle) == np.sign(change))
    steady &= size > _SHARE_OF_WRITTEN * np.maximum(written, 0)
    steady &= ~_has_jump(row, left, change, rows)
    code[enough] = LEVEL
    code[enough & steady & (change > 0) & (lag >= last)] = RISES
    code[enough & steady & (change < 0) & (lag <= middle)] = FALLS
    _, newest = _first_and_last_slots(row, rows)
    for current in (0, 1):  # the newest slot may have just begun
        slower = _became_slower(row, end, offset, slots.time[known], newest - current)
        now = newest[slower]
        code[slower[left[now] >= left[now - current]]] = RISES
    return code


def _ends_at_commits(slots: Slots, history: EndHistory, history_row: Ints) -> tuple[Ints, Flags]:
    """Return the end at the last commit of each slot, and where it is known."""
    row = history_row[slots.row]
    known = row >= 0
    end = np.full(len(slots), UNKNOWN_OFFSET)
    if known.any():
        end[known] = history.end_at(row[known], slots.time[known])
    return end, end != UNKNOWN_OFFSET


def _first_and_last_slots(row: Ints, rows: int) -> tuple[Ints, Ints]:
    """Return the positions of the first and the last slot of each row; without any, the last is before the first."""
    count = np.bincount(row, minlength=rows)
    end = np.cumsum(count)
    return end - count, end - 1


def _became_slower(row: Ints, end: Ints, offset: Ints, time: Ints, newest: Ints) -> Ints:
    """Return the rows that left more and more up to their slots `newest`, although no more was written than before."""
    first, _ = _first_and_last_slots(row, len(newest))
    found = np.flatnonzero(newest - first + 1 >= LEAST_SLOTS)
    first, last = first[found], newest[found]
    begin = last - _RAMP
    left = np.maximum(end - offset, 0)
    ramp = left[last[:, None] + np.arange(-_RAMP, 1)]
    change = ramp[:, -1] - ramp[:, 0]
    slower = (change > 0) & (np.diff(ramp, axis=1) >= _SHARE_OF_RISE * change[:, None]).all(axis=1)
    before = np.arange(len(row)) <= newest[row] - _RAMP
    peak = max_by_owner(left[before], row[before], len(newest), 0)[found]
    written, read = end[last] - end[begin], offset[last] - offset[begin]
    earlier = (end[begin] - end[first]) * (time[last] - time[begin])
    slower &= (change > peak) & (written * (time[begin] - time[first]) <= _USUAL_RATE * earlier)
    slower &= (read >= 0) & (read <= _READS_LESS * written)
    became_slower: Ints = found[slower]
    return became_slower


def _mean_of_thirds(row: Ints, left: Ints, rows: int) -> tuple[Reals, Flags]:
    """Return the means of the thirds of each row's slots (3 x rows), and which rows have enough slots."""
    count = np.bincount(row, minlength=rows)
    start = np.concatenate(([0], np.cumsum(count)[:-1]))
    position = np.arange(len(row)) - start[row] if len(row) else row
    third = position * 3 // np.maximum(count[row], 1)
    cell = third * rows + row
    sums = np.bincount(cell, weights=left, minlength=3 * rows)
    sizes = np.bincount(cell, minlength=3 * rows)
    means: Reals = (sums / np.maximum(sizes, 1)).reshape(3, rows)
    return means, count >= LEAST_SLOTS


def _has_jump(row: Ints, left: Ints, change: Reals, rows: int) -> Flags:
    """Return the rows in which one step between neighbouring slots makes up nearly all of the change."""
    greatest = np.full(rows, -np.inf)
    second = np.full(rows, -np.inf)
    same_row = row[1:] == row[:-1]
    owner = row[1:][same_row]
    step = (left[1:] - left[:-1])[same_row] * np.sign(change)[owner]
    order = np.lexsort((step, owner))
    owner, step = owner[order], step[order]
    last = np.flatnonzero(np.diff(owner, append=rows) != 0)
    greatest[owner[last]] = step[last]
    has_two = last[(last > 0) & (owner[np.maximum(last - 1, 0)] == owner[last])]
    second[owner[has_two]] = step[has_two - 1]
    return (greatest >= _SHARE_OF_JUMP * np.abs(change)) & (second < _NEXT_TO_JUMP * greatest)


def unowned_rows(inputs: HealthInputs) -> Flags:
    """Return the partitions that no member reads: none owns it, or none of the members subscribes to its topic."""
    unowned = np.zeros(len(inputs), np.bool_)
    if inputs.owner is not None:
        unowned |= inputs.owner == NO_OWNER
    if inputs.subscribed is not None:
        unowned |= (inputs.subscribed == 0) & (inputs.groups.members > 0)[inputs.group]
    return unowned


def stuck_rows(
    unread: Flags, readable: Flags, overdue: Flags, restarting: Flags, before_new_transaction: Flags
) -> Flags:
    """Return the overdue rows that a member can read and that neither a restart nor a new transaction explains.

    A row is overdue if it has been idle for longer than its patience, and the last rebalance of its group is longer ago
    than its patience or than a process may take to restart.
    """
    return unread & readable & overdue & ~restarting & ~before_new_transaction
