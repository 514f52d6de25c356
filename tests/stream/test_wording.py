"""Numbers in words."""

from __future__ import annotations

import pytest

from stream import wording as say


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (-5, "less than a second"),
        (999, "less than a second"),
        (1_000, "1 s"),
        (59_999, "59 s"),
        (60_000, "1 min"),
        (200_000, "3 min 20 s"),
        (3_600_000, "1 h"),
        (3_660_000, "1 h 1 min"),
        (90_000_000, "1 d 1 h"),
        (172_800_000, "2 d"),
    ],
)
def test_a_duration_has_its_two_greatest_units(milliseconds: int, words: str) -> None:
    """Nobody needs the seconds of an hour."""
    assert say.duration(milliseconds) == words


def test_moments_counts_and_rates_are_written_for_people() -> None:
    """In UTC, with separators, with the noun in the right number, without false precision."""
    assert say.moment(1_700_000_000_999) == "2023-11-14 22:13:20 UTC"
    assert [say.count(n, "offset") for n in (0, 1, 12_345)] == ["0 offsets", "1 offset", "12,345 offsets"]
    assert [say.per_second(rate) for rate in (0.0, 0.123, 9.96, 12_345.6)] == ["0/s", "0.12/s", "10/s", "12,346/s"]


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        pytest.param(1_700_000_000_123, "2023-11-14 22:13:20.123", id="a time"),
        pytest.param(None, "-", id="none"),
        pytest.param(-1, "-", id="Kafka's value for none"),
        pytest.param(2**63 - 1, str(2**63 - 1), id="beyond the calendar"),
    ],
)
def test_utc_time_formats_any_number(milliseconds: int | None, text: str) -> None:
    """Any timestamp of a record can be printed."""
    assert say.utc_time(milliseconds) == text
