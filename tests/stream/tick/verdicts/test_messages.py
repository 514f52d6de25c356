"""Findings as readers have them: words, seconds and moments."""

from __future__ import annotations

import pytest

from stream.health import evaluation as opinion
from stream.health.evidence import COLUMNS, Value
from stream.health.verdict import Severity
from stream.tick.verdicts.messages import finding, partition_findings
from tests.stream.health.panes import Row, judged, pane


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        pytest.param("commit_time", 1_700_000_000_500, ("commit_time", "2023-11-14T22:13:20.500Z"), id="a moment"),
        pytest.param("stable_since", 0, ("stable_since", "1970-01-01T00:00:00.000Z"), id="the first moment of all"),
        pytest.param("time_lag", 1_500, ("time_lag", 1.5), id="an age"),
        pytest.param("patience", 20_000, ("patience_seconds", 20.0), id="a length of time says so"),
        pytest.param("loss_in", None, ("loss_in_seconds", None), id="one that is not known"),
        pytest.param("commit_time", None, ("commit_time", None), id="a moment that is not known"),
        pytest.param("lag", 7, ("lag", 7), id="a count"),
        pytest.param("transaction", "producer 7", ("transaction", "producer 7"), id="a word"),
    ],
)
def test_evidence_is_in_seconds_and_moments(name: str, value: Value, told: tuple[str, Value]) -> None:
    """No reader gets milliseconds."""
    found = opinion.Finding("stopped", Severity.CRITICAL, 1_500, "It stands.", {name: value}, "Look.")
    said = finding(found)
    assert dict(said.evidence) == dict([told])
    assert (said.verdict, said.severity, said.since, said.next_step) == ("stopped", "critical", 1.5, "Look.")


def test_every_length_of_time_among_the_evidence_is_known_as_one() -> None:
    """Of the names that rules may use, those in milliseconds are turned; a new one must not be forgotten."""
    told = {name: next(iter(finding(_with(name)).evidence)) for name in COLUMNS}
    renamed = {name for name, said in told.items() if said != name}
    assert renamed == {"loss_in", "patience", "catch_up"}
    assert {name for name in COLUMNS if name.endswith(("_time", "_since"))} >= {"commit_time", "stable_since"}


def _with(name: str) -> opinion.Finding:
    return opinion.Finding("ok", Severity.FINE, None, ".", {name: 1}, ".")


def test_the_worst_partitions_of_a_group_come_first() -> None:
    """By severity, verdict and lag; fine ones and those of other groups are not told."""
    window = pane(
        Row(group="a", stuck=True, lag=9),
        Row(group="b", lag=0),
        Row(group="b", known=False, lag=0),
        Row(group="b", stuck=True, lag=5),
        Row(group="b", stuck=True, lag=50),
        Row(group="b", lag=70, age=300_000, trend=1),
    )
    codes = ["stopped", "caught_up", "unknown", "stopped", "stopped", "falling_behind"]
    told = partition_findings(judged(window, codes), 1)
    assert [(partition, found.verdict) for _, partition, found in told] == [
        (3, "stopped"),
        (2, "stopped"),
        (4, "falling_behind"),
        (1, "unknown"),
    ]
    assert len(partition_findings(judged(window, codes), 1, limit=2)) == 2
