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


class BurrowStatusTracker:
    """Updates the rings of all rows from tick to tick and applies Burrow's rules. Not thread-safe."""

    def __init__(self) -> None:
        self._rings = Rings.empty(0)
        # By ring: its row's key, and the position of its newest commit in the log.
        self._keys = self._positions = np.empty(0, np.int64)

    def update(self, window: Window, history: PartitionHistory, tick: int) -> BurrowStatuses:
        """Return the statuses of one tick. `window` is complete (not trimmed), `tick` in ms. Once per tick."""
        inputs = window.inputs
        history_row = history.find_rows(inputs, lags.place(inputs.topic, inputs.partition))
        self._align(history.memory.keys, window, history_row, history.high_watermark, tick)
        known, end = window.ends.high_watermark >= 0, window.ends.high_watermark
        new = known & (inputs.spans.last_position > self._positions) & (inputs.spans.commits > 0)
        self._positions = np.where(new, inputs.spans.last_position, self._positions)
        self._rings = Rings(
            offset=_appended(self._rings.offset, new, window.committed_offset),
            timestamp=_appended(self._rings.timestamp, new, window.commit_time),
            lag=_appended(self._rings.lag, new, np.maximum(end - window.committed_offset, 0)),
            ends=_appended(self._rings.ends, known, end),
        )
        status = burrow.evaluate(self._rings, inputs.now)
        status[self._rings.count == 0] = BurrowStatus.NOTFOUND
        return BurrowStatuses(self._rings, status)

    def _align(self, keys: Ints, window: Window, history_row: Ints, history: EndHistory, tick: int) -> None:
        """Reorder the rings to the rows of this tick; new rows begin with what is known of their past."""
        if len(keys) == len(self._keys) and (keys == self._keys).all():
            return
        rings, positions = Rings.empty(len(keys)), np.full(len(keys), NONE, np.int64)
        before = find_keys(self._keys, keys)
        known = before >= 0
        for field in dataclasses.fields(Rings):
            getattr(rings, field.name)[known] = getattr(self._rings, field.name)[before[known]]
        positions[known] = self._positions[before[known]]
        self._rings, self._positions, self._keys = rings, positions, keys.copy()
        _fill_new(rings, ~known, window, history_row, history=history, tick=tick)


def _fill_new(
    rings: Rings, is_new: Flags, window: Window, history_row: Ints, *, history: EndHistory, tick: int
) -> None:
    """Fill new rings with past ends and with their slots, without the newest commit, which `update` appends."""
    rows = np.flatnonzero(is_new & (history_row >= 0))
    if not len(rows) or not len(history):
        return
    for back in range(INTERVALS - 1, 0, -1):
        end = history.end_at(history_row[rows], np.full(len(rows), window.now - back * tick))
        rings.ends[rows, INTERVALS - back] = np.where(end >= 0, end, NONE)
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
    rings.offset[row, column], rings.timestamp[row, column] = slots.offset[slot], slots.time[slot]
    end = np.where(history_row[row] >= 0, history.end_at(np.maximum(history_row[row], 0), slots.time[slot]), NONE)
    rings.lag[row, column] = np.where(end >= 0, np.maximum(end - slots.offset[slot], 0), NONE)


def _appended(column: NDArray[np.int64], rows: Flags, value: Ints) -> NDArray[np.int64]:
    """Return the column with a value appended to these rows, whose oldest one is dropped."""
    return np.where(rows[:, None], np.column_stack([column[:, 1:], value]), column)
