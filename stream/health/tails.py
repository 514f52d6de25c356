"""Lag that is no data: the control markers and aborted records at the end of a transactional topic.

A transaction ends with a marker that takes an offset and is given to no consumer. A client that commits "last record +
1" then stands below the high watermark for ever, though it has read all there is. Neither the ends nor
offsets-for-times tell this from a last record that cannot be read: only the tail of the log does. So this module says
which tails are worth a fetch, and applies what the fetch found. A tail stays what it is until the end moves, so each is
read once; while records arrive none is read at all.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from stream.health.columns import Flags, Ints
    from stream.health.lag import Distances

READABLE: Final = 1_000
"""A tail of more offsets than this is not fetched, to spare the brokers: so many markers and nothing else are rare."""


@dataclasses.dataclass(frozen=True, slots=True)
class Tails:
    """What was found at the ends of partitions; one row each, sorted by place (as in `stream.health.lag.Ends`)."""

    place: Ints
    end: Ints
    """The high watermark up to which the tail was read: it holds as long as the partition still ends there."""
    data_from: Ints
    """Where the fetch began: below it nothing was looked at."""
    data_end: Ints
    """1 + the offset of the last record of data (no marker, not aborted), `data_from` if there is none."""


@dataclasses.dataclass(frozen=True, slots=True)
class Unread:
    """One element per commit."""

    lag: Ints
    """The lag without what is no data."""
    read: Flags
    """The tail is known to hold what this lag says."""


def unread(lag: Ints, known: Flags, places: Ints, *, next_offset: Ints, end: Ints, tails: Tails | None) -> Unread:
    """Take out of each lag what its tail is known to hold that is no data.

    `next_offset` is max(committed, log start). A tail that was read at another end, or from above the commit, says
    nothing of it, unless it holds data.
    """
    if tails is None or not len(tails.place):
        return Unread(lag, np.zeros(len(lag), np.bool_))
    at = np.minimum(np.searchsorted(tails.place, places), len(tails.place) - 1)
    holds = known & (tails.place[at] == places) & (tails.end[at] == end) & (tails.data_from[at] <= next_offset)
    data = np.maximum(tails.data_end[at] - next_offset, 0)
    return Unread(np.where(holds, np.minimum(data, lag), lag), holds)


def without_markers(ends: Distances, committed: Ints, places: Ints, tails: Tails | None) -> Distances:
    """Take out of what is lost the offsets that are known to have held no data when they were still there."""
    if tails is None or not len(tails.place):
        return ends
    at = np.minimum(np.searchsorted(tails.place, places), len(tails.place) - 1)
    holds = (ends.lost > 0) & (tails.place[at] == places) & (tails.end[at] == ends.high_watermark)
    holds &= tails.data_from[at] <= committed
    data = np.clip(tails.data_end[at] - committed, 0, ends.lost)
    return dataclasses.replace(ends, lost=np.where(holds, data, ends.lost))


def worth_reading(found: Unread, known: Flags, end_is_still: Flags, most: int = READABLE) -> Flags:
    """Tell which commits stand before a short tail that does not move, and that nobody has looked at."""
    return known & ~found.read & end_is_still & (found.lag > 0) & (found.lag <= most)
