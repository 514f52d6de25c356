"""Lag without data: the control records and aborted records at the end of a transactional topic.

A transaction ends with a control record (marker) that takes an offset and is returned to no consumer. A client that
commits "last record + 1" then stays below the high watermark although it has read everything. Neither the ends nor
ListOffsets by timestamp distinguish this from a last record that cannot be processed; only the tail of the log does.
This module selects the tails that are worth a fetch and applies the results. A tail does not change until the end
moves, so each is fetched once; while records arrive none is fetched.

A tail that cannot be read proves nothing: all of its offsets may be markers. No verdict that needs an unread record may
rest on such a lag alone.
"""

import dataclasses
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stream.health.columns import Flags, Ints, assigned
from stream.health.features.lag import OffsetDistances

READABLE: Final = 1_000
"""Longer tails are not fetched, to limit the load on the brokers: more markers without any data are rare."""


@dataclasses.dataclass(frozen=True, slots=True)
class LogTails:
    """The tails that were fetched, one row each, sorted by place (as in `lag.PartitionEnds`)."""

    place: Ints
    end: Ints
    """The high watermark up to which the tail was read; the row is valid while the partition still ends there."""
    data_from: Ints
    """The offset at which the fetch began."""
    data_end: Ints
    """1 + the offset of the last record of data (no marker, not aborted), `data_from` if there is none."""
    unreadable: Ints = dataclasses.field(default_factory=lambda: np.empty(0, np.int64))
    """Places whose tails cannot be read, sorted."""
    reasons: NDArray[Any] = dataclasses.field(default_factory=lambda: np.empty(0, object))
    """The reason for each element of `unreadable`."""

    def reason(self, place: int) -> str | None:
        """Return why the tail of a place cannot be read, None if it can."""
        at = int(np.searchsorted(self.unreadable, place))
        return str(self.reasons[at]) if at < len(self.unreadable) and self.unreadable[at] == place else None


@dataclasses.dataclass(frozen=True, slots=True)
class UnreadData:
    """One element per commit."""

    lag: Ints
    """The lag without offsets that hold no data."""
    tail_known: Flags
    """The tail has been read: this lag is exact."""


@dataclasses.dataclass(frozen=True, slots=True)
class TailState:
    """The state of the tails for the rows of a tick; one element per row."""

    wanted: Flags
    """Worth a fetch: the lag may hold no data."""
    pending: Flags
    """... and it has been neither read yet nor found to be unreadable."""
    unproven: Flags
    """It cannot be read, and all that seems to be unread or lost may be transaction markers."""
    first_unread: Ints
    """The first offset that may hold an unread record, see `first_unread`."""
    in_use: Flags
    """The result of an earlier fetch is used for this row, although the end of the partition may have moved since."""


def remove_markers(
    lag: Ints, known: Flags, places: Ints, *, next_offset: Ints, end: Ints, tails: LogTails | None
) -> UnreadData:
    """Return each lag without the offsets of its tail that are known to hold no data.

    `next_offset` is max(committed, log start). A tail that was read up to another end, or from above `next_offset`, is
    not applied.
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
    """Return the distances, with `lost` without the offsets that are known to have held no data."""
    if tails is None or not len(tails.place):
        return ends
    rows = np.flatnonzero(ends.lost > 0)
    at = np.minimum(np.searchsorted(tails.place, places[rows]), len(tails.place) - 1)
    holds = (tails.place[at] == places[rows]) & (tails.end[at] == ends.high_watermark[rows])
    holds &= tails.data_from[at] <= committed[rows]
    data = np.clip(tails.data_end[at] - committed[rows], 0, ends.lost[rows])
    return dataclasses.replace(ends, lost=assigned(ends.lost, rows[holds], data[holds]))


def worth_fetching(unread: UnreadData, known: Flags, at_rest: Flags, most: int = READABLE) -> Flags:
    """Return the commits before a tail of at most `most` offsets that has not been read and whose end is at rest."""
    return known & ~unread.tail_known & at_rest & (unread.lag > 0) & (unread.lag <= most)


def first_unread(next_offset: Ints, places: Ints, end: Ints, tails: LogTails | None) -> Ints:
    """Return for each commit the first offset that may hold an unread record.

    That is `next_offset`, or the end up to which the tail was read if nothing but markers and aborted records was found
    from `next_offset` on. This holds after the partition has grown: only later records have been waiting.
    """
    if tails is None or not len(tails.place):
        return next_offset
    at = np.minimum(np.searchsorted(tails.place, places), len(tails.place) - 1)
    read_to = tails.end[at]
    no_data = (tails.place[at] == places) & (tails.data_end[at] <= next_offset) & (next_offset <= read_to)
    return np.where(no_data & (read_to <= end), read_to, next_offset)


def unreadable(places: Ints, tails: LogTails | None) -> Flags:
    """Return the commits to partitions whose tail cannot be read."""
    if tails is None or not len(tails.unreadable):
        return np.zeros(len(places), np.bool_)
    at = np.minimum(np.searchsorted(tails.unreadable, places), len(tails.unreadable) - 1)
    is_unreadable: Flags = tails.unreadable[at] == places
    return is_unreadable


def may_hold_no_record(lag: Ints, next_offset: Ints, ends: OffsetDistances) -> Flags:
    """Return the commits before a short range of offsets that may hold no record, as far as the ends show.

    The range is the lag and what retention has removed before it. While a transaction is open, the range holds its
    first record, which is at the last stable offset.
    """
    length = lag + np.maximum(ends.lost, 0)
    has_open = (next_offset <= ends.last_stable) & (ends.last_stable < ends.high_watermark)
    return (length > 0) & (length <= READABLE) & ~has_open


def tail_state(  # noqa: PLR0917 - columns of one table
    unread: UnreadData,
    has_position: Flags,
    at_rest: Flags,
    next_offset: Ints,
    places: Ints,
    ends: OffsetDistances,
    tails: LogTails | None,
) -> TailState:
    """Return what the tails mean for the rows of a tick.

    `unread` is the result of `remove_markers`, `has_position` are the rows with a commit and a known lag (no tail is
    wanted or unproven for others), `at_rest` those whose end has not moved for a tick.
    """
    wanted = worth_fetching(unread, has_position, at_rest)
    refused = unreadable(places, tails)
    unproven = refused
    if refused.any():
        unproven = refused & has_position & may_hold_no_record(unread.lag, next_offset, ends)
    first = first_unread(next_offset, places, ends.high_watermark, tails)
    pending = wanted & ~refused if tails is not None else np.zeros(len(wanted), np.bool_)
    in_use = unproven if first is next_offset else unproven | (first > next_offset)
    return TailState(wanted, pending, unproven, first, in_use)
