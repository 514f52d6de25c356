"""Plain words for numbers, times and evidence."""

from hypothesis import given
from hypothesis import strategies as st

from exporters.http.openapi.small_world import NOON
from exporters.wording import duration, evidence_words, printable, ranges, rate, size

NOW = NOON / 1000 + 5
DASH = "\N{EN DASH}"


DURATIONS = {
    0.04: "0 s",
    0.96: "1.0 s",
    9.96: "9 s",
    10.9: "10 s",
    59: "59 s",
    60: "1 min",
    3_725: "1 h 2 min",
    90_000: "1 d 1 h",
    86_400 * 400: "400 d",
}
RANGES = {(): "", (3,): "3", (2, 1, 0): f"0{DASH}2", (0, 1, 3, 5, 6): f"0{DASH}1, 3, 5{DASH}6"}
RATES = {0.0: "0/s", 0.25: "0.25/s", 9.96: "10/s", 1234.5: "1,234/s"}
SIZES = {0: "0 B", 1023: "1,023 B", 1024: "1 KiB", 1_048_588: "1 MiB", 1_073_741_824: "1 GiB", 2**63: "8,192 PiB"}


def test_numbers_in_words() -> None:
    """A duration has its two largest units, below one second one decimal; a rate below ten has two digits.

    Consecutive numbers become a range, in any order of the input. A size has three digits in a binary unit, in the last
    one as many as it needs.
    """
    assert {seconds: duration(seconds) for seconds in DURATIONS} == DURATIONS
    assert {partitions: ranges(partitions) for partitions in RANGES} == RANGES
    assert {per_second: rate(per_second) for per_second in RATES} == RATES
    assert {byte_count: size(byte_count) for byte_count in SIZES} == SIZES


def test_evidence_has_labels_words_and_exact_values() -> None:
    """The name of a value has its unit: times become ages, seconds become durations, and rates are per second."""
    evidence = {
        "commit_time": "2023-11-14T22:12:50.000Z",
        "offset_expiry_time": "2023-11-14T23:13:25.000Z",
        "time_lag": 61.5,
        "patience_seconds": 20.0,
        "loss_in_seconds": None,
        "consume_rate": 0.5,
        "committed_offset": 48_211,
        "transaction": "producer 7,\nx",
        "stable_since": "not a time",
        "manned": True,
        "also": "skewed, falling_behind",
    }
    assert list(evidence_words(evidence, NOW)) == [
        ("last commit", "35 s ago", "2023-11-14T22:12:50.000Z"),
        ("offset expires", "in 1 h", "2023-11-14T23:13:25.000Z"),
        ("time lag", "1 min 1 s", "61.5 s"),
        ("patience", "20 s", "20.0 s"),
        ("loss in", "unknown", ""),
        ("consume rate", "0.5/s", "0.5 per second"),
        ("committed offset", "48,211", ""),
        ("transaction", "producer 7,\\nx", ""),
        ("last stable offset since", "not a time", ""),
        ("manned", "yes", ""),
        ("also", "skewed, falling behind", ""),
    ]


@given(st.text())
def test_a_printable_text_has_only_printable_characters(text: str) -> None:
    """Law: line feeds, direction overrides and control characters are escaped."""
    assert printable(text).isprintable()
