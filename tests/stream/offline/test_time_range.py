"""Parsing of times, and time ranges as filters of rows."""

import pytest

from stream.offline.rows import parse_time, rows_between
from tests.stream.offline.captures import row


def test_times_are_parsed() -> None:
    """A time is Unix milliseconds or ISO 8601, in UTC unless it has a time zone. An error names the formats."""
    for text in ("1700000000000", "2023-11-14T22:13:20", "2023-11-14T23:13:20+01:00"):
        assert parse_time(text) == 1_700_000_000_000
    assert parse_time("2023-11-14") == 1_699_920_000_000
    with pytest.raises(ValueError, match="'noon' is neither ISO 8601"):
        parse_time("noon")


def test_a_range_of_times_filters_rows() -> None:
    """The start is inclusive, the end exclusive. A row without a timestamp is only in the range without limits."""
    rows = [row(at, None, None, time=at) for at in range(5)] + [row(5, None, None)._replace(timestamp=None)]
    for start, end, offsets in ((1, 3, [1, 2]), (3, None, [3, 4]), (None, 1, [0]), (None, None, list(range(6)))):
        assert [each.offset for each in rows_between(rows, start, end)] == offsets
