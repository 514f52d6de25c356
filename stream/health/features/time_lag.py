"""Time lag: how long the oldest unread record has been waiting; and how fast a partition is written and read.

The age is interpolated on the history of ends and never extrapolated: what is older than the history is "at least as
old as the history" and flagged. Nothing unread means exactly 0, known without any history.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.health.columns import NOT_KNOWN, max_by_owner
from stream.health.features.end_history import UNKNOWN_OFFSET, BracketQuality

if TYPE_CHECKING:
    from stream.groups.commits.slots import Slots
    from stream.health.columns import Flags, Ints, Reals
    from stream.health.features.end_history import EndHistory

_SECOND: Final = 1_000.0
_SAME_RATE: Final = 0.01
"""Rates closer than this share of each other are the same: a commit more or less in the window makes as much."""


@dataclasses.dataclass(frozen=True, slots=True)
class TimeLag:
    """One element per commit; times and ages in ms, -1 where not known."""

    age: Ints
    """How old the oldest unread record is; 0: nothing is unread."""
    exact: Flags
    """False: not known, or `age` is only a lower bound, because the record is older than the history."""
    since: Ints
    """When the oldest unread record was written, at the latest; -1 where nothing is unread or it is not known."""


@dataclasses.dataclass(frozen=True, slots=True)
class Rates:
    """Offsets per second over the commit window, one element per commit; NaN where not known."""

    produce: Reals
    consume: Reals
    catch_up: Ints
    """Milliseconds until nothing is unread at these rates; 0: nothing is, -1: never, or not known."""


@dataclasses.dataclass(frozen=True, slots=True)
class RisingSpan:
    """The part of each commit window in which offsets only rose: since its first slot or its last rewind."""

    start_time: Ints
    """-1 where the window has no slot."""
    start_offset: Ints
    end_time: Ints
    """The last commit; the present if commits have been missing for twice as long as they usually take."""


def time_lag(history: EndHistory, rows: Ints, next_offset: Ints, unread: Flags, known: Flags, now: int) -> TimeLag:  # noqa: PLR0917 - six columns of one table
    """Tell how long each `next_offset` (the first unread one) has been waiting.

    `unread`: there is such a record. `known`: it is known whether there is. `rows`: rows of the history, -1 for none.
    """
    age = np.where(known & ~unread, 0, NOT_KNOWN)
    since = np.full(len(rows), NOT_KNOWN, np.int64)
    exact = known & ~unread
    asked = np.flatnonzero(unread & (rows >= 0))
    time, found = history.time_of(rows[asked], next_offset[asked])
    told = found != BracketQuality.UNKNOWN
    asked, time, found = asked[told], time[told], found[told]
    age[asked], since[asked] = np.maximum(now - time, 0), np.minimum(time, now)
    exact[asked] = found != BracketQuality.OLDER
    return TimeLag(age, exact, since)


def oldest_by_owner(found: TimeLag, of: Ints, owners: int) -> tuple[Ints, Flags]:
    """Give each owner (a topic of a group, or a group) its greatest age, -1 if none is known, and whether it is exact.

    It is exact if no other partition of the owner can be older: none is unknown, and no lower bound is the greatest.
    """
    age = max_by_owner(found.age, of, owners, NOT_KNOWN)
    doubtful = np.zeros(owners, np.bool_)
    doubtful[of[~found.exact]] = True  # a lower bound may hide something older than the greatest exact age
    return age, ~doubtful & (age >= 0)


def rising_span(slots: Slots, rows: int, now: int) -> RisingSpan:
    """Find where the steady part of each commit window begins and ends. Slots are sorted by row and number."""
    start_time, start_offset, end_time = (np.full(rows, NOT_KNOWN, np.int64) for _ in range(3))
    if not len(slots):
        return RisingSpan(start_time, start_offset, end_time)
    new = np.concatenate(([True], slots.row[1:] != slots.row[:-1]))
    fell = np.concatenate(([False], (slots.offset[1:] < slots.offset[:-1]) & ~new[1:]))
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(slots)) - 1
    begin = np.maximum.accumulate(np.where(new | fell, np.arange(len(slots)), 0))[last]
    row = slots.row[last]
    span = slots.time[last] - slots.time[first]
    usual = span // np.maximum(last - first, 1)
    late = now - slots.time[last] > 2 * usual
    start_time[row], start_offset[row] = slots.time[begin], slots.offset[begin]
    end_time[row] = np.where(late, now, slots.time[last])
    return RisingSpan(start_time, start_offset, end_time)


def produce_and_consume_rates(
    window: RisingSpan, committed: Ints, lag: Ints, history: EndHistory, rows: Ints, *, end: Ints, now: int
) -> Rates:
    """Tell how fast each partition was written and read over its commit window; `end` is its high watermark, or -1."""
    known = (window.start_time >= 0) & (rows >= 0)
    at = np.where(known, rows, 0)
    consume = _per_second(committed - window.start_offset, window.end_time - window.start_time, known)
    if not len(history):
        return Rates(np.full(len(rows), np.nan), consume, np.where(lag == 0, 0, NOT_KNOWN))
    oldest = np.where(known, history.oldest_time(at), NOT_KNOWN)
    since = np.maximum(window.start_time, oldest)
    then = np.where(known, history.end_at(at, since), UNKNOWN_OFFSET)
    produce = _per_second(end - then, now - since, known & (then >= 0) & (end >= 0) & (oldest >= 0))
    gain = consume - produce
    closes = (lag > 0) & (gain > _SAME_RATE * produce)
    catch_up = np.where(closes, lag * _SECOND / np.where(closes, gain, 1.0), np.where(lag == 0, 0.0, NOT_KNOWN))
    return Rates(produce, consume, np.minimum(catch_up, 1e15).astype(np.int64))


def _per_second(offsets: Ints, span: Ints, known: Flags) -> Reals:
    sound = known & (span > 0)
    rate: Reals = np.where(sound, np.maximum(offsets, 0) * _SECOND / np.where(sound, span, 1), np.nan)
    return rate
