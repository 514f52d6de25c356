"""Times within the range of dates, and RFC 3339 text."""

import datetime as dt

from hypothesis import given
from hypothesis import strategies as st

from exporters.timestamps import EARLIEST_MS, LATEST_MS, clamp_ms, rfc3339

TIMES = {
    1_700_000_000.5: "2023-11-14T22:13:20.500Z",
    -62_135_596_800.0: "0001-01-01T00:00:00.000Z",
    9e18: "9999-12-31T23:59:59.999Z",
    -9e18: "0001-01-01T00:00:00.000Z",
}


def test_a_time_is_written_as_rfc_3339() -> None:
    """A time is in UTC with three decimals, and is clamped to the years 1 to 9999."""
    assert {unix_seconds: rfc3339(unix_seconds) for unix_seconds in TIMES} == TIMES


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_64_bit_time_is_clamped_into_the_range_of_dates(milliseconds: int) -> None:
    """Law: the result can be expressed as a date, and is the time itself or the nearer end of the range."""
    clamped = clamp_ms(milliseconds)
    assert dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=clamped)
    assert clamped == sorted((EARLIEST_MS, milliseconds, LATEST_MS))[1]
