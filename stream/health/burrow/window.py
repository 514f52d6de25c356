"""Burrow's windows of all rows side by side, moved on from tick to tick: `stream.health.burrow.rules.Ring` in columns.

Burrow sees every commit. Here the newest one of each tick is seen, which is what Burrow does with its option
`min-distance` at the length of a tick; commits never come late, for runs are in log order. A row that is new begins
with what its slots and the history of its ends tell, where Burrow would read the log again.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from stream.health.burrow.rules import INTERVALS, NONE, Rings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream.health.columns import Flags, Ints
    from stream.health.features.end_history import EndHistory
    from stream.health.features.window import Window


@dataclasses.dataclass(frozen=True, slots=True)
class _Columns:
    """One row per ring; slots from the right, newest last, `NONE` where there is none."""

    offset: NDArray[np.int64]
    timestamp: NDArray[np.int64]
    lag: NDArray[np.int64]
    ends: NDArray[np.int64]
    order: Ints
    """Position in the log of the newest commit."""

    @classmethod
    def empty(cls, rows: int) -> _Columns:
        """Give rings without commits."""
        offset, timestamp, lag, ends = (np.full((rows, INTERVALS), NONE, np.int64) for _ in range(4))
        return cls(offset, timestamp, lag, ends, np.full(rows, NONE, np.int64))


class RingTracker:
    """The rings of the rows of the last moment."""

    def __init__(self) -> None:
        self._columns = _Columns.empty(0)
        self._keys = np.empty(0, np.int64)

    def update(self, window: Window, keys: Ints, ends: Ints, history: EndHistory, tick: int) -> Rings:
        """Take in what one moment tells; `keys` are the rows' own numbers, `ends` their rows of the history (-1: none).

        Give the rings as Burrow has them.
        """
        self._carry(keys, window, ends, history, tick)
        known, high = window.ends.high_watermark >= 0, window.ends.high_watermark
        columns = self._columns
        _shift(columns.ends, known, high)
        position = window.inputs.spans.last_position
        new = known & (position > columns.order) & (window.inputs.spans.commits > 0)
        _shift(columns.offset, new, window.committed_offset)
        _shift(columns.timestamp, new, window.commit_time)
        _shift(columns.lag, new, np.maximum(high - window.committed_offset, 0))
        columns.order[new] = position[new]
        return _from_the_left(columns)

    def _carry(self, keys: Ints, window: Window, ends: Ints, history: EndHistory, tick: int) -> None:
        """Bring the rings into the order of this moment's rows; new rows begin with what is known of their past."""
        if len(keys) == len(self._keys) and (keys == self._keys).all():
            return
        columns = _Columns.empty(len(keys))
        met = np.zeros(len(keys), np.bool_)
        if len(self._keys):
            order = np.argsort(self._keys, kind="stable")
            at = np.minimum(np.searchsorted(self._keys[order], keys), len(order) - 1)
            met = self._keys[order[at]] == keys
            old = order[at[met]]
            for field in dataclasses.fields(_Columns):
                getattr(columns, field.name)[met] = getattr(self._columns, field.name)[old]
        self._columns, self._keys = columns, keys.copy()
        _begin(columns, ~met, window, ends, history=history, tick=tick)


def _begin(columns: _Columns, fresh: Flags, window: Window, ends: Ints, *, history: EndHistory, tick: int) -> None:
    """Fill fresh rings with their slots but for the newest commit, which comes as any other."""
    rows = np.flatnonzero(fresh & (ends >= 0))
    if not len(rows) or not len(history):
        return
    for back in range(INTERVALS - 1, 0, -1):
        end = history.end_at(ends[rows], np.full(len(rows), window.now - back * tick))
        columns.ends[rows, INTERVALS - back] = np.where(end >= 0, end, NONE)
    slots = window.inputs.slots
    mine = np.flatnonzero(fresh[slots.row] & (slots.time < window.commit_time[slots.row])) if len(slots) else rows[:0]
    row, last = slots.row[mine], np.append(slots.row[mine][1:] != slots.row[mine][:-1], True)
    if not len(row):
        return
    after = np.flatnonzero(last)  # the last slot of each row; the distance to it is the place from the right
    distance = after[np.searchsorted(after, np.arange(len(row)))] - np.arange(len(row))
    kept = distance < INTERVALS - 1
    row, mine, place = row[kept], mine[kept], INTERVALS - 1 - distance[kept]
    columns.offset[row, place], columns.timestamp[row, place] = slots.offset[mine], slots.time[mine]
    then = np.where(ends[row] >= 0, history.end_at(np.maximum(ends[row], 0), slots.time[mine]), NONE)
    columns.lag[row, place] = np.where(then >= 0, np.maximum(then - slots.offset[mine], 0), NONE)


def _shift(column: NDArray[np.int64], rows: Flags, value: Ints) -> None:
    """Put a value behind the others of these rows; the oldest goes."""
    column[rows, :-1] = column[rows, 1:]
    column[rows, -1] = value[rows]


def _from_the_left(columns: _Columns) -> Rings:
    """Give the rings with their slots from the left."""
    used = columns.offset != NONE
    count = used.sum(axis=1)
    at = np.arange(INTERVALS)[None, :] + (INTERVALS - count)[:, None]
    there = at < INTERVALS
    at = np.minimum(at, INTERVALS - 1)

    def moved(column: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(there, np.take_along_axis(column, at, axis=1), NONE)

    return Rings(
        moved(columns.offset), moved(columns.timestamp), moved(columns.lag), count.astype(np.int64), columns.ends
    )
