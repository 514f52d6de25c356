"""Parsing of times, and time ranges as filters of rows."""

import pytest

from stream.offline.rows import TimeRange, parse_time
from tests.stream.offline.captures import row


def test_times_are_parsed() -> None:
    """A time is Unix milliseconds or ISO 8601, in UTC unless it has a time zone. An error names the formats."""
    for text in ("1700000000000", "2023-11-14T22:13:20", "2023-11-14T23:13:20+01:00"):
        assert parse_time(text) == 1_700_000_000_000
    assert parse_time("2023-11-14") == 1_699_920_000_000
    with pytest.raises(ValueError, match="'noon' is neither ISO 8601"):
        parse_time("noon")


def test_time_range_excludes_records_without_timestamp() -> None:
    """A record without a timestamp is only in the range without limits."""
    assert TimeRange().contains(None)
    assert not TimeRange(start=0).contains(None)
    assert [at for at in range(5) if TimeRange(1, 3).contains(at)] == [1, 2]


def test_time_range_filters_rows() -> None:
    """The start of the range is inclusive, its end is exclusive."""
    rows = [row(at, None, None, time=at) for at in range(5)]
    assert [each.offset for each in TimeRange(1, 3).filter(rows)] == [1, 2]
