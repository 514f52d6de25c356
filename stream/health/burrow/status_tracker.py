"""The status of every partition by Burrow's rules, tick after tick, whatever rules decide the verdicts.

Burrow reads every commit. Here only the newest commit of each tick is known, which is what Burrow does with its option
`min-distance` at the length of a tick. Commits never come late, because runs are in log order. A new row begins with
its slots and the history of its ends, where Burrow would read the log again.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from stream.health.burrow import rules as burrow
from stream.health.burrow.rules import INTERVALS, NONE, BurrowStatus, Rings
from stream.health.columns import Codes, Flags, Ints, find_keys
from stream.health.features import lag as lags
from stream.health.features.end_history import EndHistory
from stream.health.features.partition_history import PartitionHistory
from stream.health.features.window import Window


@dataclasses.dataclass(frozen=True, slots=True)
class BurrowStatuses:
    """Burrow's view of one tick, one element per row."""

    rings: Rings
    status: Codes
    """`BurrowStatus`; NOTFOUND for a row without a commit."""

    @property
    def complete(self) -> Flags:
        """True where every slot of the window is filled (Burrow's `complete` is 1.0)."""
        is_complete: Flags = self.rings.count == INTERVALS
        return is_complete


@dataclasses.dataclass(frozen=True, slots=True)
class _Columns:
    """One row per ring; slots from the right, newest last, `NONE` where there is none."""

    offset: NDArray[np.int64]
    timestamp: NDArray[np.int64]
    lag: NDArray[np.int64]
    ends: NDArray[np.int64]
    order: Ints
    """Position of the newest commit in the log."""

    @classmethod
    def empty(cls, rows: int) -> _Columns:
        """Return rings without commits."""
        offset, timestamp, lag, ends = (np.full((rows, INTERVALS), NONE, np.int64) for _ in range(4))
        return cls(offset, timestamp, lag, ends, np.full(rows, NONE, np.int64))


class BurrowStatusTracker:
    """Updates the rings of all rows from tick to tick and applies Burrow's rules. Not thread-safe."""

    def __init__(self) -> None:
        self._columns = _Columns.empty(0)
        self._keys = np.empty(0, np.int64)

    def update(self, window: Window, history: PartitionHistory, tick: int) -> BurrowStatuses:
        """Return the statuses of one tick. `window` is complete (not trimmed), `tick` in ms. Once per tick."""
        inputs = window.inputs
        history_row = history.find_rows(inputs, lags.place(inputs.topic, inputs.partition))
        self._align(history.memory.keys, window, history_row, history.high_watermark, tick)
        known, end = window.ends.high_watermark >= 0, window.ends.high_watermark
        columns = self._columns
        _append(columns.ends, known, end)
        position = window.inputs.spans.last_position
        new = known & (position > columns.order) & (window.inputs.spans.commits > 0)
        _append(columns.offset, new, window.committed_offset)
        _append(columns.timestamp, new, window.commit_time)
        _append(columns.lag, new, np.maximum(end - window.committed_offset, 0))
        columns.order[new] = position[new]
        rings = _left_aligned(columns)
        status = burrow.evaluate(rings, inputs.now)
        status[rings.count == 0] = BurrowStatus.NOTFOUND
        return BurrowStatuses(rings, status)

    def _align(self, keys: Ints, window: Window, history_row: Ints, history: EndHistory, tick: int) -> None:
        """Reorder the rings to the rows of this tick; new rows begin with what is known of their past."""
        if len(keys) == len(self._keys) and (keys == self._keys).all():
            return
        columns = _Columns.empty(len(keys))
        position = find_keys(self._keys, keys)
        known = position >= 0
        for field in dataclasses.fields(_Columns):
            getattr(columns, field.name)[known] = getattr(self._columns, field.name)[position[known]]
        self._columns, self._keys = columns, keys.copy()
        _fill_new(columns, ~known, window, history_row, history=history, tick=tick)


def _fill_new(
    columns: _Columns, is_new: Flags, window: Window, history_row: Ints, *, history: EndHistory, tick: int
) -> None:
    """Fill new rings with past ends and with their slots, without the newest commit, which `update` appends."""
    rows = np.flatnonzero(is_new & (history_row >= 0))
    if not len(rows) or not len(history):
        return
    for back in range(INTERVALS - 1, 0, -1):
        end = history.end_at(history_row[rows], np.full(len(rows), window.now - back * tick))
        columns.ends[rows, INTERVALS - back] = np.where(end >= 0, end, NONE)
    slots = window.inputs.slots
    if not len(slots):
        return
    slot = np.flatnonzero(is_new[slots.row] & (slots.time < window.commit_time[slots.row]))
    row = slots.row[slot]
    if not len(row):
        return
    last = np.flatnonzero(np.append(row[1:] != row[:-1], True))
    from_right = last[np.searchsorted(last, np.arange(len(row)))] - np.arange(len(row))
    kept = from_right < INTERVALS - 1
    row, slot, column = row[kept], slot[kept], INTERVALS - 1 - from_right[kept]
    columns.offset[row, column], columns.timestamp[row, column] = slots.offset[slot], slots.time[slot]
    end = np.where(history_row[row] >= 0, history.end_at(np.maximum(history_row[row], 0), slots.time[slot]), NONE)
    columns.lag[row, column] = np.where(end >= 0, np.maximum(end - slots.offset[slot], 0), NONE)


def _append(column: NDArray[np.int64], rows: Flags, value: Ints) -> None:
    """Append a value to these rows; their oldest one is dropped."""
    column[rows, :-1] = column[rows, 1:]
    column[rows, -1] = value[rows]


def _left_aligned(columns: _Columns) -> Rings:
    """Return the rings with their slots from the left."""
    count = (columns.offset != NONE).sum(axis=1)
    at = np.arange(INTERVALS)[None, :] + (INTERVALS - count)[:, None]
    is_filled = at < INTERVALS
    at = np.minimum(at, INTERVALS - 1)

    def shifted(column: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(is_filled, np.take_along_axis(column, at, axis=1), NONE)

    return Rings(
        shifted(columns.offset), shifted(columns.timestamp), shifted(columns.lag), count.astype(np.int64), columns.ends
    )
