"""Lag that is no data: the control markers and aborted records at the end of a transactional topic.

A transaction ends with a marker that takes an offset and is given to no consumer. A client that commits "last record +
1" then stands below the high watermark for ever, though it has read all there is. Neither the ends nor
offsets-for-times tell this from a last record that cannot be read: only the tail of the log does. So this module says
which tails are worth a fetch, and applies what the fetch found. A tail stays what it is until the end moves, so each is
read once; while records arrive none is read at all.

A tail that cannot be read proves nothing: its offsets may all be markers. No verdict that needs an unread record may
rest on such a lag alone.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream.health.columns import Flags, Ints
    from stream.health.features.lag import OffsetDistances

READABLE: Final = 1_000
"""A tail of more offsets than this is not fetched, to spare the brokers: so many markers and nothing else are rare."""


@dataclasses.dataclass(frozen=True, slots=True)
class LogTails:
    """What was found at the ends of partitions; one row each, sorted by place (as in `lag.Ends`)."""

    place: Ints
    end: Ints
    """The high watermark up to which the tail was read: it holds as long as the partition still ends there."""
    data_from: Ints
    """Where the fetch began: below it nothing was looked at."""
    data_end: Ints
    """1 + the offset of the last record of data (no marker, not aborted), `data_from` if there is none."""
    unreadable: Ints = dataclasses.field(default_factory=lambda: np.empty(0, np.int64))
    """Places whose tails cannot be read, sorted."""
    reasons: NDArray[Any] = dataclasses.field(default_factory=lambda: np.empty(0, object))
    """Why, a word per element of `unreadable`."""

    def reason(self, place: int) -> str | None:
        """Return why the tail of a place cannot be read, None if nothing prevents it."""
        at = int(np.searchsorted(self.unreadable, place))
        return str(self.reasons[at]) if at < len(self.unreadable) and self.unreadable[at] == place else None


@dataclasses.dataclass(frozen=True, slots=True)
class UnreadData:
    """One element per commit."""

    lag: Ints
    """The lag without what is no data."""
    tail_known: Flags
    """The tail is known to hold what this lag says."""


@dataclasses.dataclass(frozen=True, slots=True)
class TailState:
    """What the tails of their partitions mean for the rows of a moment; one element per row."""

    wanted: Flags
    """Worth reading: the lag may be no data."""
    pending: Flags
    """... and it has not been read yet, nor given up."""
    unproven: Flags
    """It cannot be read, and all that seems to be unread or lost may be transaction markers."""
    first_unread: Ints
    """The first offset that may hold an unread record: see `first_unread`."""
    in_use: Flags
    """What is known of the tail counts for this row, although the end of the partition may have moved since."""


def remove_markers(
    lag: Ints, known: Flags, places: Ints, *, next_offset: Ints, end: Ints, tails: LogTails | None
) -> UnreadData:
    """Take out of each lag what its tail is known to hold that is no data.

    `next_offset` is max(committed, log start). A tail that was read at another end, or from above the commit, says
    nothing of it, unless it holds data.
    """
    if tails is None or not len(tails.place):
        return UnreadData(lag, np.zeros(len(lag), np.bool_))
    at = np.minimum(np.searchsorted(tails.place, places), len(tails.place) - 1)
    holds = known & (tails.place[at] == places) & (tails.end[at] == end) & (tails.data_from[at] <= next_offset)
    data = np.maximum(tails.data_end[at] - next_offset, 0)
    return UnreadData(np.where(holds, np.minimum(data, lag), lag), holds)


def remove_markers_from_lost(
    ends: OffsetDistances, committed: Ints, places: Ints, tails: LogTails | None
) -> OffsetDistances:
    """Take out of what is lost the offsets that are known to have held no data when they were still there."""
    if tails is None or not len(tails.place):
        return ends
    at = np.minimum(np.searchsorted(tails.place, places), len(tails.place) - 1)
    holds = (ends.lost > 0) & (tails.place[at] == places) & (tails.end[at] == ends.high_watermark)
    holds &= tails.data_from[at] <= committed
    data = np.clip(tails.data_end[at] - committed, 0, ends.lost)
    return dataclasses.replace(ends, lost=np.where(holds, data, ends.lost))


def worth_fetching(found: UnreadData, known: Flags, end_is_still: Flags, most: int = READABLE) -> Flags:
    """Tell which commits stand before a short tail that does not move, and that nobody has looked at."""
    return known & ~found.tail_known & end_is_still & (found.lag > 0) & (found.lag <= most)


def first_unread(next_offset: Ints, places: Ints, end: Ints, tails: LogTails | None) -> Ints:
    """Return for each commit the first offset that may hold an unread record.

    That is `next_offset`, or the end up to which the tail was read if nothing but markers and aborted records was found
    from there on. It stays true when the partition has grown since: only what came later has been waiting.
    """
    if tails is None or not len(tails.place):
        return next_offset
    at = np.minimum(np.searchsorted(tails.place, places), len(tails.place) - 1)
    read_to = tails.end[at]
    nothing = (tails.place[at] == places) & (tails.data_end[at] <= next_offset) & (next_offset <= read_to)
    return np.where(nothing & (read_to <= end), read_to, next_offset)


def unreadable(places: Ints, tails: LogTails | None) -> Flags:
    """Return which commits belong to a partition whose tail cannot be read."""
    if tails is None or not len(tails.unreadable):
        return np.zeros(len(places), np.bool_)
    at = np.minimum(np.searchsorted(tails.unreadable, places), len(tails.unreadable) - 1)
    found: Flags = tails.unreadable[at] == places
    return found


def may_hold_nothing(lag: Ints, next_offset: Ints, ends: OffsetDistances) -> Flags:
    """Return which commits stand before a short stretch of offsets that may hold no record, as far as the ends tell.

    The stretch is the lag and what retention has removed before it. While a transaction is open, its first record
    stands at the last stable offset: then there is one.
    """
    stretch = lag + np.maximum(ends.lost, 0)
    open_ = (next_offset <= ends.last_stable) & (ends.last_stable < ends.high_watermark)
    found: Flags = (stretch > 0) & (stretch <= READABLE) & ~open_
    return found


def tail_state(  # noqa: PLR0917 - columns of one table
    found: UnreadData,
    judged: Flags,
    still: Flags,
    next_offset: Ints,
    places: Ints,
    ends: OffsetDistances,
    tails: LogTails | None,
) -> TailState:
    """Return what the tails mean for rows with a commit and a known lag (`judged`), others have none of it.

    `found` is what `remove_markers` returned for them, `still` tells which ends have not moved for a tick.
    """
    wanted = worth_fetching(found, judged, still)
    refused = unreadable(places, tails)
    unproven = refused & judged & may_hold_nothing(found.lag, next_offset, ends)
    oldest = first_unread(next_offset, places, ends.high_watermark, tails)
    unread_yet = wanted & ~refused if tails is not None else np.zeros(len(wanted), np.bool_)
    return TailState(wanted, unread_yet, unproven, oldest, unproven | (oldest > next_offset))
