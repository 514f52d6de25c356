"""The exact rules of Burrow (LinkedIn), for users who migrate from it and want to compare.

`evaluate` has its six rules over the windows of commits (`Rings`), `roll_up` its group status, both of
core/internal/evaluator/caching.go, here over whole columns. The known peculiarities are kept: a single commit with lag
is STOP at once, a group whose slots were all filled in late is WARN, and time is compared in whole seconds. Which
groups are evaluated (Burrow's lists, and its expiration of groups without a commit for a week) is up to the caller.
"""

import dataclasses
import enum
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from stream.health.columns import Codes, Flags, Ints

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


def evaluate(rings: Rings, now: int, *, allowed_lag: int = 0, minimum_complete: float = 0.0) -> Codes:
    """Return the status of each ring by the first of Burrow's rules that holds; `now` in ms.

    A ring without commits is OK, and so is one with less than `minimum_complete` of its slots filled.
    """
    count, used, newest = rings.count, rings.offset != NONE, rings.ends[:, -1]
    current = np.where(newest >= 0, np.maximum(newest - rings.offset[:, -1], 0), 0)
    without_lag = used & (rings.lag != NONE) & (rings.lag <= allowed_lag)
    rules: tuple[tuple[Any, BurrowStatus], ...] = (
        ((count == 0) | (count / used.shape[1] < minimum_complete), BurrowStatus.OK),
        (current <= allowed_lag, BurrowStatus.OK),
        (_stopped(rings, used, now), BurrowStatus.STOP),
        (_rewound(rings, used), BurrowStatus.REWIND),
        (without_lag.any(axis=1), BurrowStatus.OK),
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


def roll_up(status: Codes, group: Ints, groups: int) -> Codes:
    """Return the status of each group: the greatest of its partitions, where all above ERR count as ERR.

    A group without partitions is NOTFOUND.
    """
    worst = np.full(groups, BurrowStatus.NOTFOUND, np.int8)
    np.maximum.at(worst, group, np.minimum(status, BurrowStatus.ERR).astype(np.int8))
    return worst
