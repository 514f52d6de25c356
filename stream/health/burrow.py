"""The exact rules of Burrow (LinkedIn), for users who migrate from it and want to compare.

`evaluate` has its six rules over the windows of commits (`Rings`), those of core/internal/evaluator/caching.go, here
over whole columns. The known peculiarities are kept: a single commit with lag is STOP at once, a group whose slots were
all filled in late is WARN, and time is compared in whole seconds. Which groups are evaluated (Burrow's lists, and its
expiration of groups without a commit for a week) is up to the caller.

`BurrowStatusTracker` applies them tick after tick, whatever rules decide the verdicts. Burrow reads every commit. Here
only the newest commit of each tick is known, which is what Burrow does with its option `min-distance` at the length of
a tick. Commits never come late, because runs are in log order. A new row begins with its slots and the history of its
ends, where Burrow would read the log again.
"""

import dataclasses
import enum
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from stream.health.columns import Codes, Flags, Ints, find_keys
from stream.health.features import lag as lags
from stream.health.features.end_history import EndHistory
from stream.health.features.partition_history import PartitionHistory
from stream.health.features.window import Window

INTERVALS: Final = 10
"""Burrow's default window length, in commits and in end offsets."""
NONE: Final = -1
"""Burrow's nil: an empty slot, or an unknown lag."""


class BurrowStatus(enum.IntEnum):
    """Burrow's status names with their numbers (protocol.StatusConstant)."""

    NOTFOUND = 0
    OK = 1
    WARN = 2
    ERR = 3
    STOP = 4
    STALL = 5
    REWIND = 6


@dataclasses.dataclass(frozen=True, slots=True)
class Rings:
    """The windows (Go rings in Burrow) as columns: one row each, the newest slot last; `NONE` where there is none."""

    offset: NDArray[np.int64]
    timestamp: NDArray[np.int64]
    lag: NDArray[np.int64]
    """`NONE` also where not known."""
    ends: NDArray[np.int64]
    """The newest end offsets, one per refresh, as many as slots."""

    @classmethod
    def empty(cls, rows: int, intervals: int = INTERVALS) -> Self:
        """Return rings without commits."""
        return cls(*(np.full((rows, intervals), NONE, np.int64) for _ in dataclasses.fields(cls)))

    @property
    def count(self) -> Ints:
        """The number of filled slots of each ring."""
        count: Ints = (self.offset != NONE).sum(axis=1)
        return count


def evaluate(rings: Rings, now: int) -> Codes:
    """Return the status of each ring by the first of Burrow's rules that holds; `now` in ms. One without commits is OK.

    Its options `allowed-lag` and `minimum-complete` have their default, 0.
    """
    used, newest = rings.offset != NONE, rings.ends[:, -1]
    is_behind = (newest >= 0) & (newest > rings.offset[:, -1])
    rules: tuple[tuple[Any, BurrowStatus], ...] = (
        (~used.any(axis=1) | ~is_behind, BurrowStatus.OK),
        (_stopped(rings, used, now), BurrowStatus.STOP),
        (_rewound(rings, used), BurrowStatus.REWIND),
        ((used & (rings.lag == 0)).any(axis=1), BurrowStatus.OK),
        ((~used | (rings.offset == rings.offset[:, -1:])).all(axis=1), BurrowStatus.STALL),
        (_never_decreasing(rings, used), BurrowStatus.WARN),
    )
    return np.select([matched for matched, _ in rules], [status for _, status in rules], BurrowStatus.OK).astype(
        np.int8
    )


def _stopped(rings: Rings, used: Flags, now: int) -> Flags:
    """Return the rings without a commit for longer than the window spans, and without lag 0 at any recent end."""
    end, start = rings.timestamp[:, -1], rings.timestamp[np.arange(len(used)), np.argmax(used, axis=1)]
    late = now // 1_000 * 1_000 - end > end - start
    recently_without_lag = ((rings.ends >= 0) & (rings.ends <= rings.offset[:, -1:])).any(axis=1)
    stopped: Flags = late & ~recently_without_lag
    return stopped


def _rewound(rings: Rings, used: Flags) -> Flags:
    """Return the rings in which an offset is below the previous one, and no later one is as high as that again."""
    falls = used[:, :-1] & (rings.offset[:, 1:] < rings.offset[:, :-1])
    first = np.argmax(falls, axis=1)
    previous = rings.offset[np.arange(len(used)), first]
    later = np.arange(used.shape[1])[None, :] > first[:, None]
    again = (later & (rings.offset >= previous[:, None])).any(axis=1)
    rewound: Flags = falls.any(axis=1) & ~again
    return rewound


def _never_decreasing(rings: Rings, used: Flags) -> Flags:
    """Return the rings whose known lags never decrease; also those with fewer than two known lags."""
    known = used & (rings.lag != NONE)
    highest = np.maximum.accumulate(np.where(known, rings.lag, NONE), axis=1)
    never: Flags = (~known | (rings.lag >= highest)).all(axis=1)
    return never


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
        status = evaluate(self._rings, inputs.now)
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
