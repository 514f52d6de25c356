"""Time lag (the age of the oldest unread record), and the rates at which a partition is written and read.

The age is interpolated in the history of ends and never extrapolated: of a record that is older than the history the
age is a lower bound, and flagged as such. Where nothing is unread the age is exactly 0, without any history.
"""

import dataclasses
from typing import Final

import numpy as np

from stream.groups.commits.slots import Slots, last_breaks, row_bounds
from stream.health.columns import (
    NOT_KNOWN,
    Codes,
    Flags,
    Ints,
    Reals,
    assigned,
    max_by_owner,
    once_each,
    replaced,
    uniform,
)
from stream.health.features import lag_trend
from stream.health.features.end_history import BracketQuality, EndHistory

_SECOND: Final = 1_000.0
_UNSEEN: Final = 30_000
"""ms. The first commits of a group are no usual interval yet."""
_SAME_RATE: Final = 0.01
"""Rates that differ by less than this share are equal: one commit more or less in the window has that effect."""


@dataclasses.dataclass(frozen=True, slots=True)
class TimeLag:
    """One element per commit; times and ages in ms, -1 where not known."""

    age: Ints
    """Age of the oldest unread record; 0: nothing is unread."""
    exact: Flags
    """False: not known, or `age` is only a lower bound, because the record is older than the history."""
    since: Ints
    """When the oldest unread record was written at the latest; -1 where nothing is unread or it is not known."""


@dataclasses.dataclass(frozen=True, slots=True)
class Rates:
    """Offsets per second over the commit window, one element per commit; NaN where not known."""

    produce: Reals
    consume: Reals
    catch_up: Ints
    """Time (ms) until nothing is unread at these rates; 0: nothing is unread, -1: never, or not known."""
    ended: Flags
    """The window is late (`RisingSpan`): `consume` and `catch_up` are of the time before."""

    @property
    def consume_now(self) -> Reals:
        """Offsets per second that are read now: 0 where the commits have ended."""
        return np.where(self.ended & ~np.isnan(self.consume), 0.0, self.consume)

    @property
    def catch_up_now(self) -> Ints:
        """Time (ms) until nothing is unread, as `catch_up`; -1 where the commits have ended and something is unread."""
        return np.where(self.ended & (self.catch_up > 0), NOT_KNOWN, self.catch_up)


@dataclasses.dataclass(frozen=True, slots=True)
class RisingSpan:
    """The part of each commit window in which offsets only rise: since its first slot or last rewind. Times in ms."""

    start_time: Ints
    """-1 where the window has no slot."""
    start_offset: Ints
    end_time: Ints
    """The last commit; the time of the tick if no commit came for twice the usual interval."""
    late: Flags
    """It is known that no commit came for twice the usual interval, and for half a minute."""


def time_lag(history: EndHistory, rows: Ints, next_offset: Ints, unread: Flags, known: Flags, now: int) -> TimeLag:  # noqa: PLR0917 - six columns of one table
    """Return how long each `next_offset` (the first unread one) has been waiting.

    `unread`: something is unread. `known`: the lag is known. `rows`: rows of the history, -1 for none.
    """
    exact = known & ~unread
    age, since = exact.astype(np.int64) - 1, np.full(len(rows), NOT_KNOWN, np.int64)
    at = np.flatnonzero(unread & (rows >= 0))
    time, quality = history.time_of(rows[at], next_offset[at])
    has_time = quality != BracketQuality.UNKNOWN
    at, time, quality = at[has_time], time[has_time], quality[has_time]
    age[at], since[at] = np.maximum(now - time, 0), np.minimum(time, now)
    exact[at] = quality != BracketQuality.OLDER
    return TimeLag(age, exact, since)


def oldest_by_owner(time_lag: TimeLag, owner: Ints, owners: int) -> tuple[Ints, Flags]:
    """Return the greatest age of each owner (-1: none is known), and which of these are exact.

    An owner is a group, or a topic of a group; `owner` is that of each row. The age is exact if no partition of the
    owner can be older: the ages of all of them are exact.
    """
    age = max_by_owner(time_lag.age, owner, owners, NOT_KNOWN)
    inexact = np.zeros(owners, np.bool_)
    inexact[owner[~time_lag.exact]] = True  # a lower bound may stand for more than the greatest exact age
    return age, ~inexact & (age >= 0)


def rising_span(slots: Slots, known_until: Ints, now: int) -> RisingSpan:
    """Return the rising part of each commit window. Slots are sorted by row and number.

    All commits of a row up to `known_until` (ms) are in its slots.
    """
    none, overdue = uniform(NOT_KNOWN, known_until), np.zeros(len(known_until), np.bool_)
    if not len(slots):
        return RisingSpan(none, none, none, overdue)
    row, first, last = row_bounds(slots.row)
    begin = last_breaks(slots, slots.offset[1:] < slots.offset[:-1])
    latest, usual = slots.time[last], np.zeros(len(last), np.int64)
    several = np.flatnonzero(last > first)
    usual[several] = (latest[several] - slots.time[first[several]]) // (last - first)[several]
    end_time = replaced(latest, now - latest > 2 * usual, now)
    overdue[row] = known_until[row] - latest > np.maximum(2 * usual, _UNSEEN)
    columns = (slots.time[begin], slots.offset[begin], end_time)
    start_time, start_offset, end_time = (
        column if len(row) == len(none) else assigned(none, row, column) for column in columns
    )
    return RisingSpan(start_time, start_offset, end_time, overdue)


def produce_and_consume_rates(
    window: RisingSpan, committed: Ints, lag: Ints, history: EndHistory, rows: Ints, *, end: Ints, now: int
) -> Rates:
    """Return how fast each row was written and read over its commit window; `end` is the high watermark, or -1."""
    known = (window.start_time >= 0) & (rows >= 0)
    consume = _per_second(committed - window.start_offset, window.end_time - window.start_time, known)
    if not len(history):
        return Rates(np.full(len(rows), np.nan), consume, np.where(lag == 0, 0, NOT_KNOWN), window.late)
    oldest, end_then = once_each(
        np.maximum(rows, 0), len(history), lambda rows: (history.oldest_time(rows), history.oldest_end(rows))
    )
    later = np.flatnonzero(known & (window.start_time > oldest))
    end_then = assigned(end_then, later, history.end_at(rows[later], window.start_time[later]))
    since = np.maximum(window.start_time, oldest)
    produce = _per_second(end - end_then, now - since, known & (end_then >= 0) & (end >= 0) & (oldest >= 0))
    gain = consume - produce
    closes = np.flatnonzero((lag > 0) & (gain > _SAME_RATE * produce))
    needed = np.minimum(lag[closes] * _SECOND / gain[closes], 1e15).astype(np.int64)
    return Rates(produce, consume, assigned((lag == 0).astype(np.int64) - 1, closes, needed), window.late)


def _per_second(offsets: Ints, span: Ints, known: Flags) -> Reals:
    rate = np.full(len(span), np.nan)
    np.divide(np.maximum(offsets, 0) * _SECOND, span, out=rate, where=known & (span > 0))
    return rate


def written_since(time_lag: TimeLag, history: EndHistory, history_row: Ints, committed: Ints, lost: Ints) -> Ints:
    """Return when (ms) the oldest unread record of each row was written, also if retention has removed it since.

    Where retention is short, the oldest record of the log is always young. Rows without a known time keep that of
    `time_lag`; of a record that is older than the history, the time is that of its oldest point.
    """
    rows = np.flatnonzero(lost > 0)
    rows = rows[(time_lag.since[rows] >= 0) & (history_row[rows] >= 0)]
    if not len(rows):
        return time_lag.since
    since = time_lag.since.copy()
    written, _ = history.time_of(history_row[rows], committed[rows])
    since[rows] = np.where(written >= 0, np.minimum(since[rows], written), since[rows])
    return since


def idle_times(since: Ints, unread: Flags, progress_time: Ints, readable_since: Ints, known_until: Ints) -> Ints:
    """Return the time (ms) without progress of each row; 0 where nothing is unread or its age is not known.

    It begins when the oldest unread record was written (`since`), when the offset was last advanced or when the record
    became readable for consumers of committed records, whichever is latest. It ends at `known_until`: commits after
    that time are not known yet.
    """
    waiting_since = np.maximum(np.maximum(since, progress_time), readable_since)
    return np.where(unread & (since >= 0), np.maximum(known_until - waiting_since, 0), 0)


def idle_times_without_commit(  # noqa: PLR0917 - columns of one table
    idle_time: Ints,
    history: EndHistory,
    history_row: Ints,
    uncommitted: Flags,
    uncommitted_since: Ints,
    known_until: Ints,
) -> Ints:
    """Return the idle times, those of rows without a commit counted from the first record instead of the rebalance.

    `uncommitted_since` is the time (ms) since when the partition belongs to its group, -1 where it is not known. Rows
    with a commit and rows with an idle time of 0 keep their idle time.
    """
    rows = np.flatnonzero(uncommitted & (idle_time > 0))
    if not len(rows):
        return idle_time
    since, row = uncommitted_since[rows], history_row[rows]
    first_offset = history.end_at(row, np.maximum(since, history.oldest_time(row)))
    first_record, _ = history.time_of(row, np.maximum(first_offset, 0))
    counted = idle_time.copy()
    counted[rows] = np.maximum(idle_time[rows], known_until[rows] - np.maximum(first_record, since))
    return counted


def restarting_rows(idle_time: Ints, uncommitted: Flags, restart: int) -> Flags:
    """Return the rows without a commit that a member may read already.

    Since the last rebalance of their group their records have waited for no longer than a process may take to restart
    (`restart`, ms); `idle_time` is that of `idle_times`.
    """
    return uncommitted & (idle_time <= restart)


def young_rows(  # noqa: PLR0917 - columns of one table
    unread: Flags, time_lag: TimeLag, trend: Codes, patience: Ints, needed_since: Ints, observed: Ints
) -> Flags:
    """Return the unread rows that have not been observed for long enough to know how long their record has waited.

    They were not observed at `needed_since` (ms), and either the age of the record is only a lower bound, or it exceeds
    the patience while there are too few commits to show a trend.
    """
    slow = (time_lag.age > patience) & (trend == lag_trend.TOO_SHORT)
    young: Flags = unread & (observed > needed_since) & (~time_lag.exact | slow)
    return young


def excused_rows(outage_end: Ints, settled_since: Ints, known_until: Ints, grace: Ints, rebalance: int) -> Flags:
    """Return the rows that regained their coordinator or leader within the last `grace` ms.

    Clients need some time to notice. They often come back through a rebalance that waits for the sessions of lost
    members; the grace then begins when the group has settled (`settled_since`), if that was at most `rebalance` +
    `grace` ms after the outage.
    """
    if (outage_end < 0).all():
        return np.zeros(len(outage_end), np.bool_)
    by_rebalance = (settled_since >= outage_end) & (settled_since - outage_end <= rebalance + grace)
    back_since = np.where(by_rebalance, settled_since, outage_end)
    return (outage_end >= 0) & (known_until - back_since <= grace)
