"""The exact rules of Burrow (LinkedIn), for those who move from it and want to compare. An alternative, not a part.

Two halves, as there. `Ring` is its store: the last commits of one partition by its rules of insertion
(core/internal/storage/inmemory.go). `evaluate` are its six rules over such rings, and `roll_up` its group status
(core/internal/evaluator/caching.go), here over whole columns. Its known oddities are kept: a single commit with lag is
STOP at once, a group whose slots were all filled in late is WARN, and time is compared in whole seconds. Which groups
it looks at (its lists, and that it forgets what has not committed for a week) is the caller's business.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream.health.columns import Codes, Flags, Ints

INTERVALS: Final = 10
"""Burrow's default length of a window, in commits and in end offsets."""
NONE: Final = -1
"""Burrow's nil: an empty slot, or a lag that is not known."""


class BurrowStatus(enum.IntEnum):
    """Burrow's words, with its numbers (protocol.StatusConstant)."""

    NOTFOUND = 0
    OK = 1
    WARN = 2
    ERR = 3
    STOP = 4
    STALL = 5
    REWIND = 6


@dataclasses.dataclass(slots=True)
class BurrowSlot:
    """One commit in a ring."""

    offset: int
    order: int
    """Its position in the offsets partition."""
    timestamp: int
    lag: int = NONE


class Ring:
    """The window of one (group, topic, partition): the newest commits, oldest first."""

    def __init__(self, intervals: int = INTERVALS, *, min_distance: int = 0) -> None:
        """Hold so many commits; one that comes less than `min_distance` seconds after its neighbour replaces it."""
        self._intervals = intervals
        self._min_distance = min_distance * 1_000
        self.slots: list[BurrowSlot] = []

    def commit(self, offset: int, order: int, timestamp: int, end: int | None) -> None:
        """Take a commit in; `end` is the newest end offset of the partition, and without one the commit is dropped."""
        if end is None or (len(self.slots) == self._intervals and self.slots[0].order >= order):
            return
        if not self.slots or order > self.slots[-1].order:
            self._append(BurrowSlot(offset, order, timestamp, max(0, end - offset)))
        else:
            self._insert(BurrowSlot(offset, order, timestamp))

    def _append(self, slot: BurrowSlot) -> None:
        if self.slots and slot.timestamp - self.slots[-1].timestamp < self._min_distance:
            # The older timestamp stays: else commits that are close together would never open a new slot.
            self.slots[-1] = dataclasses.replace(slot, timestamp=self.slots[-1].timestamp)
            return
        self.slots = [*self.slots, slot][-self._intervals :]

    def _insert(self, slot: BurrowSlot) -> None:
        """Put a commit that comes late where its order belongs; its lag at the time is not known."""
        if any(each.order == slot.order for each in self.slots):
            return
        at = sum(each.order < slot.order for each in self.slots)
        before = self.slots[at - 1] if at else None
        if before is not None and slot.timestamp - before.timestamp < self._min_distance:
            self.slots[at - 1] = dataclasses.replace(slot, timestamp=before.timestamp)
            return
        self.slots = [*self.slots[:at], slot, *self.slots[at:]][-self._intervals :]


@dataclasses.dataclass(frozen=True, slots=True)
class Rings:
    """Rings side by side: one row per ring, slots from the left, oldest first; `count` of them are filled."""

    offset: NDArray[np.int64]
    timestamp: NDArray[np.int64]
    lag: NDArray[np.int64]
    """`NONE` where not known."""
    count: Ints
    ends: NDArray[np.int64]
    """The newest end offsets, one per refresh, oldest first, as many as there are slots; `NONE` where there is none."""

    def __len__(self) -> int:
        return len(self.count)


def side_by_side(rings: Sequence[Ring], ends: Sequence[Sequence[int]], intervals: int = INTERVALS) -> Rings:
    """Lay rings out as columns."""
    shape = (len(rings), intervals)
    offset, timestamp, lag, known_ends = (np.full(shape, NONE, np.int64) for _ in range(4))
    for row, (ring, known) in enumerate(zip(rings, ends, strict=True)):
        filled = len(ring.slots)
        offset[row, :filled] = [slot.offset for slot in ring.slots]
        timestamp[row, :filled] = [slot.timestamp for slot in ring.slots]
        lag[row, :filled] = [slot.lag for slot in ring.slots]
        newest = list(known)[-intervals:]
        known_ends[row, intervals - len(newest) :] = newest
    return Rings(offset, timestamp, lag, np.array([len(ring.slots) for ring in rings], np.int64), known_ends)


def evaluate(rings: Rings, now: int, *, allowed_lag: int = 0, minimum_complete: float = 0.0) -> Codes:
    """Give each ring its status. The first of Burrow's rules that holds decides; `now` in ms.

    A ring without commits is OK, as one with less than `minimum_complete` of its slots filled.
    """
    rows = np.arange(len(rings))
    some = rings.count > 0
    last = np.maximum(rings.count - 1, 0)
    used = np.arange(rings.offset.shape[1])[None, :] < rings.count[:, None]
    newest = rings.ends[:, -1]
    current = np.where(newest >= 0, np.maximum(newest - rings.offset[rows, last], 0), 0)
    complete = rings.count / rings.offset.shape[1]
    lagless = used & (rings.lag != NONE) & (rings.lag <= allowed_lag)
    rules: tuple[tuple[Any, BurrowStatus], ...] = (
        (~some | (complete < minimum_complete), BurrowStatus.OK),
        (current <= allowed_lag, BurrowStatus.OK),
        (_stopped(rings, last, now), BurrowStatus.STOP),
        (_rewound(rings, used), BurrowStatus.REWIND),
        (lagless.any(axis=1), BurrowStatus.OK),
        ((~used | (rings.offset == rings.offset[:, :1])).all(axis=1), BurrowStatus.STALL),
        (_never_less(rings, used), BurrowStatus.WARN),
    )
    status: Codes = np.select([found for found, _ in rules], [each for _, each in rules], BurrowStatus.OK).astype(
        np.int8
    )
    return status


def _stopped(rings: Rings, last: Ints, now: int) -> Flags:
    """No commit for longer than the window spans, and no recent end that was at or below the last commit."""
    rows = np.arange(len(rings))
    end, start = rings.timestamp[rows, last], rings.timestamp[:, 0]
    late = now // 1_000 * 1_000 - end > end - start
    recently_zero = ((rings.ends >= 0) & (rings.ends <= rings.offset[rows, last][:, None])).any(axis=1)
    stopped: Flags = late & ~recently_zero
    return stopped


def _rewound(rings: Rings, used: Flags) -> Flags:
    """See whether an offset is below the one before it, and none from there on is as high as that again."""
    falls = used[:, 1:] & (rings.offset[:, 1:] < rings.offset[:, :-1])
    first = np.argmax(falls, axis=1)
    before = rings.offset[np.arange(len(rings)), first]
    after = used & (np.arange(used.shape[1])[None, :] > first[:, None])
    again = (after & (rings.offset >= before[:, None])).any(axis=1)
    rewound: Flags = falls.any(axis=1) & ~again
    return rewound


def _never_less(rings: Rings, used: Flags) -> Flags:
    """See whether the known lags never get smaller; fewer than two of them never do."""
    known = used & (rings.lag != NONE)
    highest = np.maximum.accumulate(np.where(known, rings.lag, NONE), axis=1)
    never: Flags = (~known | (rings.lag >= highest)).all(axis=1)
    return never


def roll_up(status: Codes, of: Ints, groups: int) -> Codes:
    """Give each group its status: the greatest of its partitions, where all above ERR count as ERR.

    A group without partitions is NOTFOUND.
    """
    worst = np.full(groups, BurrowStatus.NOTFOUND, np.int8)
    np.maximum.at(worst, of, np.minimum(status, BurrowStatus.ERR).astype(np.int8))
    return worst
