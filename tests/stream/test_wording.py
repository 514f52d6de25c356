"""Formatting of durations, times, counts and rates."""

from exporters import wording as page_wording
from stream import wording

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


def test_duration_has_the_two_largest_units() -> None:
    """A duration has at most two units; a unit with the value zero is omitted. Pages and sentences have the same."""
    texts = {
        0: "0 s",
        420: "0.4 s",
        1_000: "1 s",
        59_999: "59 s",
        60_000: "1 min",
        200_000: "3 min 20 s",
        3_600_000: "1 h",
        3_660_000: "1 h 1 min",
        90_000_000: "1 d 1 h",
        172_800_000: "2 d",
    }
    assert {milliseconds: wording.duration(milliseconds) for milliseconds in texts} == texts
    assert [page_wording.duration(milliseconds / 1_000) for milliseconds in texts] == list(texts.values())


def test_duration_in_one_unit() -> None:
    """An exact duration has the largest unit that divides it. A rounded one has at least two of its unit."""
    exact = {7 * DAY: "7 d", 36 * HOUR: "36 h", 90 * MINUTE: "90 min", 90_000: "90 s", 1500: "1500 ms", 0: "0 ms"}
    assert {each: wording.duration_in_one_unit(each, exact=True) for each in exact} == exact
    rounded = {0: "0 s", 119_400: "119 s", 2 * MINUTE: "2 min", 26 * HOUR: "26 h", 2.4 * DAY: "2 d", 9 * DAY: "9 d"}
    assert {each: wording.duration_in_one_unit(each, exact=False) for each in rounded} == rounded


def test_utc_time_formats_any_number() -> None:
    """Any timestamp of a record can be printed: also none, Kafka's value for none, and one beyond the calendar."""
    texts = {1_700_000_000_123: "2023-11-14 22:13:20.123", None: "-", -1: "-", 2**63 - 1: str(2**63 - 1)}
    assert {milliseconds: wording.utc_time(milliseconds) for milliseconds in texts} == texts


def test_count_has_its_noun_in_singular_or_plural() -> None:
    """A count has thousands separators unless disabled, and the plural of its noun."""
    assert [wording.count(n, "offset") for n in (0, 1, 12_345)] == ["0 offsets", "1 offset", "12,345 offsets"]
    assert wording.count(12_345, "offset", separators=False) == "12345 offsets"
    assert wording.count(2, "subtopology", "subtopologies") == "2 subtopologies"


def test_ranges_are_short() -> None:
    """Consecutive numbers are one range, in any order and without repetitions."""
    texts = {(): "", (4,): "4", (1, 0): "0-1", (7, 0, 2, 1, 2): "0-2, 7", tuple(range(50)): "0-49"}
    assert {numbers: wording.ranges(numbers) for numbers in texts} == texts
