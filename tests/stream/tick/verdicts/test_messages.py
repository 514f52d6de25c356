"""Findings in the read model: words, seconds and timestamps."""

from __future__ import annotations

import pytest

from stream.health.evaluation import Finding
from stream.health.evidence import COLUMNS, Value
from stream.health.verdict import Severity
from stream.tick.verdicts.messages import finding, partition_findings
from tests.stream.health.panes import Row, judged, pane


@pytest.mark.parametrize(
    ("name", "value", "converted"),
    [
        pytest.param("commit_time", 1_700_000_000_500, ("commit_time", "2023-11-14T22:13:20.500Z"), id="a timestamp"),
        pytest.param("stable_since", 0, ("stable_since", "1970-01-01T00:00:00.000Z"), id="the epoch"),
        pytest.param("time_lag", 1_500, ("time_lag", 1.5), id="an age"),
        pytest.param("patience", 20_000, ("patience_seconds", 20.0), id="a duration has its unit in the name"),
        pytest.param("loss_in", None, ("loss_in_seconds", None), id="an unknown duration"),
        pytest.param("commit_time", None, ("commit_time", None), id="an unknown timestamp"),
        pytest.param("lag", 7, ("lag", 7), id="a count"),
        pytest.param("transaction", "producer 7", ("transaction", "producer 7"), id="a word"),
    ],
)
def test_evidence_is_in_seconds_and_timestamps(name: str, value: Value, converted: tuple[str, Value]) -> None:
    """No value of the evidence is in milliseconds."""
    found = Finding("stopped", Severity.CRITICAL, 1_500, "It stands.", {name: value}, "Look.")
    detail = finding(found)
    assert dict(detail.evidence) == dict([converted])
    assert (detail.verdict, detail.severity, detail.since, detail.next_step) == ("stopped", "critical", 1.5, "Look.")


def test_all_durations_in_the_evidence_are_converted() -> None:
    """The names of all durations get their unit; a new duration must be added to the list."""
    converted = {name: next(iter(finding(_with(name)).evidence)) for name in COLUMNS}
    renamed = {name for name, detail in converted.items() if detail != name}
    assert renamed == {"loss_in", "patience", "longest_pause", "catch_up"}
    assert {name for name in COLUMNS if name.endswith(("_time", "_since"))} >= {"commit_time", "stable_since"}


def _with(name: str) -> Finding:
    return Finding("ok", Severity.FINE, None, ".", {name: 1}, ".")


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
