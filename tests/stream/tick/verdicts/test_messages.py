"""Findings in the read model: words, seconds and timestamps, and the details and the reference page with them."""

from pathlib import Path

from stream.health.evidence import Value
from stream.health.findings import Finding
from stream.health.verdict import Severity
from stream.tick.verdicts import reference_page
from stream.tick.verdicts.evaluated_tick import finding, partition_findings
from tests.stream.health.panes import Row, judged, pane


def test_evidence_is_in_seconds_and_timestamps() -> None:
    """No value of the evidence is in milliseconds."""
    stories: dict[str, tuple[str, Value, tuple[str, Value]]] = {
        "a timestamp": ("commit_time", 1_700_000_000_500, ("commit_time", "2023-11-14T22:13:20.500Z")),
        "the epoch": ("stable_since", 0, ("stable_since", "1970-01-01T00:00:00.000Z")),
        "an age": ("time_lag", 1_500, ("time_lag", 1.5)),
        "a duration has its unit in the name": ("patience", 20_000, ("patience_seconds", 20.0)),
        "an unknown duration": ("loss_in", None, ("loss_in_seconds", None)),
        "an unknown timestamp": ("commit_time", None, ("commit_time", None)),
        "a count": ("lag", 7, ("lag", 7)),
        "a word": ("transaction", "producer 7", ("transaction", "producer 7")),
    }
    for name, value, converted in stories.values():
        detail = finding(Finding("stopped", Severity.CRITICAL, 1_500, "It stands.", {name: value}, "Look."))
        assert dict(detail.evidence) == dict([converted])
        assert (detail.verdict, detail.severity, detail.since, detail.next_step) == (
            "stopped",
            "critical",
            1.5,
            "Look.",
        )


def test_the_worst_partitions_of_a_group_are_first() -> None:
    """The findings are sorted by severity, verdict and lag; fine partitions and other groups are left out."""
    window = pane(
        Row(group="a", stuck=True, lag=9),
        Row(group="b", lag=0),
        Row(group="b", known=False, lag=0),
        Row(group="b", stuck=True, lag=5),
        Row(group="b", stuck=True, lag=50),
        Row(group="b", lag=70, age=300_000, trend=1),
    )
    codes = ["stopped", "caught_up", "unknown", "stopped", "stopped", "falling_behind"]
    converted = partition_findings(judged(window, codes), 1)
    assert [(partition, found.verdict) for _, partition, found in converted] == [
        (3, "stopped"),
        (2, "stopped"),
        (4, "falling_behind"),
        (1, "unknown"),
    ]
    assert len(partition_findings(judged(window, codes), 1, limit=2)) == 2


def test_the_page_is_generated_from_the_rules() -> None:
    """`docs/health.md` is what `python -m stream.tick.verdicts.reference_page` prints."""
    assert Path("docs/health.md").read_text() == reference_page.page()
