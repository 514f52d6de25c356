"""Lag and the other distances: without control records, before an open transaction, and where they are not known."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream.health.columns import NOT_KNOWN
from stream.health.features.control_records import (
    READABLE,
    LogTails,
    remove_markers,
    remove_markers_from_lost,
    worth_fetching,
)
from stream.health.features.lag import Commits, OffsetDistances, PartitionEnds, distances, lag
from stream.health.features.open_transaction import MOST_MARKERS, rows_before_new_transaction, rows_before_transaction
from tests.stream.health.columns import ints
from tests.stream.health.tables import wrong


def ends(start: int, stable: int, high: int, *, known: bool = True, place: int = 7) -> PartitionEnds:
    return PartitionEnds(ints(place), ints(high), ints(start), np.array([known]), ints(stable))


CASES = {
    # story: (committed, log start, last stable, high watermark) -> (lag, stable lag, lost, margin)
    "in the middle": ((50, 10, 90, 100), (50, 40, 0, 40)),
    "at the end": ((100, 10, 100, 100), (0, 0, 0, 90)),
    "all that is stable is read": ((90, 10, 90, 100), (10, 0, 0, 80)),
    "read beyond what is stable, as read_uncommitted does": ((95, 10, 90, 100), (5, 0, 0, 85)),
    "below the log start": ((5, 10, 90, 100), (90, 80, 5, 0)),
    "below the start of an empty log": ((5, 100, 100, 100), (0, 0, 95, 0)),
    "at the start": ((10, 10, 10, 10), (0, 0, 0, 0)),
}


def test_distances_begin_at_the_first_offset_that_can_be_read() -> None:
    """Offsets below the log start are lost, and do not count as unread."""

    def measured(given_: tuple[int, ...]) -> tuple[int, ...]:
        committed, start, stable, high = given_
        found = lag(Commits(ints(7), ints(committed)), ends(start, stable, high))
        more = distances(ints(committed), found, ends(start, stable, high))
        assert found.known.tolist() == [True]
        return found.lag[0], more.stable_lag[0], more.lost[0], more.margin[0]

    assert wrong(CASES, measured) == []


UNKNOWN = {
    "the cluster did not answer": (50, ends(0, 100, 100, known=False)),
    "another partition answered": (50, ends(0, 100, 100, place=8)),
    "no partition was polled": (50, PartitionEnds(ints(), ints(), ints(), np.empty(0, np.bool_))),
    "above the end": (101, ends(0, 100, 100)),
}


def test_an_unknown_lag_is_never_a_number() -> None:
    """The lag and the other distances are marked as unknown."""
    for story, (committed, given_) in UNKNOWN.items():
        found = lag(Commits(ints(7), ints(committed)), given_)
        more = distances(ints(committed), found, given_)
        assert (story, found.known.tolist()) == (story, [False])
        assert [more.stable_lag[0], more.lost[0], more.margin[0]] == [NOT_KNOWN] * 3


@given(st.integers(0, 200), st.integers(0, 100), st.integers(0, 100), st.integers(0, 100))
def test_no_distance_is_negative(committed: int, start: int, more: int, open_: int) -> None:
    """The lag is the distance to the end from the commit or the log start, for any offsets."""
    high = start + more + open_
    given_ = ends(start, start + more, high)
    found = lag(Commits(ints(7), ints(committed)), given_)
    measured = distances(ints(committed), found, given_)
    if committed > high:
        assert not found.known[0]
        return
    assert found.lag[0] == high - max(committed, start)
    assert 0 <= measured.stable_lag[0] <= found.lag[0]
    assert measured.lost[0] - measured.margin[0] == start - committed
    assert min(measured.lost[0], measured.margin[0]) == 0


ONE = np.array([7], np.int64)


def tail(end: int, data_from: int, data_end: int, place: int = 7) -> LogTails:
    return LogTails(ints(place), ints(end), ints(data_from), ints(data_end))


TAILS: dict[str, tuple[Any, ...]] = {
    # next offset, end, tail -> lag, whether the tail was read
    "a marker and nothing else": (99, 100, tail(100, 99, 99), (0, True)),
    "a record, then a marker": (98, 100, tail(100, 98, 99), (1, True)),
    "data to the end": (90, 100, tail(100, 90, 100), (10, True)),
    "tail read from an earlier offset": (99, 100, tail(100, 50, 99), (0, True)),
    "the fetch began above the commit": (80, 100, tail(100, 90, 90), (20, False)),
    "end moved since the fetch": (99, 105, tail(100, 99, 99), (6, False)),
    "tail of another partition": (99, 100, tail(100, 99, 99, place=8), (1, False)),
    "tails are not read": (99, 100, None, (1, False)),
}
WANTED: dict[str, tuple[Any, ...]] = {
    "short tail at rest": (1, True, None, True),
    "long tail": (READABLE + 1, True, None, False),
    "tail still being written": (1, False, None, False),
    "nothing unread": (0, True, None, False),
    "tail already read": (1, True, tail(100, 99, 100), False),
}
KNOWN = np.array([True])


def test_a_lag_has_only_the_data_of_its_tail() -> None:
    """Markers do not count if the tail was read up to this end, from the commit or before the commit."""

    def unread(next_offset: int, end: int, found: LogTails | None) -> tuple[int, bool]:
        lag, at, high = ints(end - next_offset), ints(next_offset), ints(end)
        state = remove_markers(lag, KNOWN, ONE, next_offset=at, end=high, tails=found)
        return state.lag[0], state.tail_known[0]

    assert wrong(TAILS, unread) == []


def test_a_tail_is_wanted_once_and_only_at_rest() -> None:
    """A busy partition is never fetched; a short quiet partition is fetched once until its end moves."""

    def wanted(lag: int, still: bool, found: LogTails | None) -> bool:  # noqa: FBT001 - a table
        at, end = ints(100 - lag), ints(100)
        unread = remove_markers(ints(lag), KNOWN, ONE, next_offset=at, end=end, tails=found)
        return bool(worth_fetching(unread, KNOWN, np.array([still]))[0])

    assert wrong(WANTED, wanted) == []


def lost(committed: int, tails: LogTails | None) -> int:
    """Return the lost offsets of a log that retention has emptied up to offset 100."""
    ends = OffsetDistances(*(ints(value) for value in (100, 100, 100, 0, 100 - committed, 0)))
    return int(remove_markers_from_lost(ends, ints(committed), ONE, tails).lost[0])


def test_markers_that_retention_removes_are_no_loss() -> None:
    """Markers are not lost if the tail was read up to the present end of the partition."""
    assert lost(99, tail(100, 99, 99)) == 0
    assert lost(90, tail(100, 90, 95)) == 5
    assert lost(90, tail(100, 95, 95)) == 10
    assert lost(99, tail(101, 99, 99)) == 1
    assert lost(99, None) == 1


NOW = 1_000_000


def test_rows_before_transaction() -> None:
    """A row is before a transaction if it has read all committed records; the partition ends at 200."""
    stories = {
        "read up to the open transaction": (100, 0, 100, True, True),
        "only markers lie before it": (100, MOST_MARKERS, 97, True, True),
        "records lie before it": (100, MOST_MARKERS + 1, 96, True, False),
        "commit above the transaction: reader of uncommitted records": (100, 0, 101, True, False),
        "no transaction is open": (200, 100, 100, True, False),
        "the last stable offset is not known": (-1, -1, 100, True, False),
        "no commit, and nothing is stable since the group formed": (100, -1, 100, True, True),
        "no commit, but stable records since the group formed": (100, -1, 90, True, False),
        "the lag is not known": (100, -1, 100, False, False),
    }

    def before(stable: int, stable_lag: int, next_offset: int, known: bool) -> bool:  # noqa: FBT001 - a table
        measured = OffsetDistances(ints(200), ints(0), ints(stable), ints(stable_lag), ints(0), ints(0))
        return bool(rows_before_transaction(measured, ints(next_offset), np.array([known]))[0])

    assert wrong(stories, before) == []


def test_rows_before_new_transaction() -> None:
    """A transaction may end in time until it has been open for the patience of the row."""
    stories = {
        "open for less than the patience": (True, NOW - 59_999, True),
        "open for the patience": (True, NOW - 60_000, False),
        "open since an unknown time": (True, -1, True),
        "no transaction": (False, NOW - 1, False),
    }

    def new(before: bool, since: int) -> bool:  # noqa: FBT001 - a table
        return bool(rows_before_new_transaction(np.array([before]), ints(since), ints(60_000), NOW)[0])

    assert wrong(stories, new) == []
