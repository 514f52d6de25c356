"""Lag without data: control records and aborted records at the end of a partition."""

from __future__ import annotations

import numpy as np
import pytest

from stream.health.features.control_records import (
    READABLE,
    LogTails,
    remove_markers,
    remove_markers_from_lost,
    worth_fetching,
)
from stream.health.features.lag import OffsetDistances

ONE = np.array([7], np.int64)


def column(value: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return a column of one element."""
    return np.array([value], np.int64)


def tail(end: int, data_from: int, data_end: int, place: int = 7) -> LogTails:
    """Return the result of a fetch of the tail of one partition."""
    return LogTails(column(place), column(end), column(data_from), column(data_end))


CASES = {
    # story: next offset, end, tail -> lag, whether the tail was read
    "a marker and nothing else": (99, 100, tail(100, 99, 99), (0, True)),
    "a record, then a marker": (98, 100, tail(100, 98, 99), (1, True)),
    "data to the end": (90, 100, tail(100, 90, 100), (10, True)),
    "tail read from an earlier offset": (99, 100, tail(100, 50, 99), (0, True)),
    "the fetch began above the commit": (80, 100, tail(100, 90, 90), (20, False)),
    "end moved since the fetch": (99, 105, tail(100, 99, 99), (6, False)),
    "tail of another partition": (99, 100, tail(100, 99, 99, place=8), (1, False)),
    "tails are not read": (99, 100, None, (1, False)),
}


@pytest.mark.parametrize(("next_offset", "end", "found", "wanted"), CASES.values(), ids=CASES.keys())
def test_a_lag_has_only_the_data_of_its_tail(
    next_offset: int, end: int, found: LogTails | None, wanted: tuple[int, bool]
) -> None:
    """Markers do not count if the tail was read up to this end, from the commit or before the commit."""
    lag = column(end - next_offset)
    unread = remove_markers(lag, np.array([True]), ONE, next_offset=column(next_offset), end=column(end), tails=found)
    assert (unread.lag[0], unread.tail_known[0]) == wanted


@pytest.mark.parametrize(
    ("lag", "still", "found", "wanted"),
    [
        (1, True, None, True),
        (READABLE + 1, True, None, False),
        (1, False, None, False),
        (0, True, None, False),
        (1, True, tail(100, 99, 100), False),
    ],
    ids=["short tail at rest", "long tail", "tail still being written", "nothing unread", "tail already read"],
)
def test_a_tail_is_wanted_once_and_only_at_rest(
    lag: int,
    still: bool,  # noqa: FBT001 - a table
    found: LogTails | None,
    wanted: bool,  # noqa: FBT001 - a table
) -> None:
    """A busy partition is never fetched; a short quiet partition is fetched once until its end moves."""
    known = np.array([True])
    unread = remove_markers(column(lag), known, ONE, next_offset=column(100 - lag), end=column(100), tails=found)
    assert worth_fetching(unread, known, np.array([still])).tolist() == [wanted]


def lost(committed: int, tails: LogTails | None) -> int:
    """Return the lost offsets of a log that retention has emptied up to offset 100."""
    ends = OffsetDistances(*(column(value) for value in (100, 100, 100, 0, 100 - committed, 0)))
    return int(remove_markers_from_lost(ends, column(committed), ONE, tails).lost[0])


def test_markers_that_retention_removes_are_no_loss() -> None:
    """Markers are not lost if the tail was read up to the present end of the partition."""
    assert lost(99, tail(100, 99, 99)) == 0
    assert lost(90, tail(100, 90, 95)) == 5
    assert lost(90, tail(100, 95, 95)) == 10
    assert lost(99, tail(101, 99, 99)) == 1
    assert lost(99, None) == 1
