"""The failure of a query as one line."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from stream.errors import ExitCode
from stream.spark import jvm_process
from stream.spark.query import failure, last_report, stop


class QueryOfADeadJvm:
    """A query whose methods fail as py4j fails when the JVM has ended."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        raise self._error


@pytest.mark.parametrize(
    "error", [Py4JError("x"), Py4JNetworkError("x"), ConnectionRefusedError(111, "x")], ids=lambda e: type(e).__name__
)
def test_jvm_that_is_gone_is_a_failure_of_the_query(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query of a killed JVM has no report, and a cause instead of a traceback."""
    monkeypatch.setattr(jvm_process, "_started", ())  # another test may have started one
    query: Any = QueryOfADeadJvm(error)
    assert last_report(query) is None
    assert "JVM does not answer" in str(failure(query))


@pytest.mark.parametrize("error", [Py4JError("x"), ConnectionRefusedError(111, "x")], ids=lambda e: type(e).__name__)
def test_stopping_a_query_whose_jvm_is_gone_ends_at_once(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """`stop` returns True without a pause and without a second call. The exception does not reach the caller."""
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    query: Any = QueryOfADeadJvm(error)
    assert stop(query, 60.0)
    assert (query.asked, pauses) == (["isActive"], [])


class Progress:
    """The progress report of a query, as Spark writes it."""

    def __init__(self, operators: list[dict[str, Any]]) -> None:
        self._operators = operators

    def json(self) -> str:
        """Return the report of batch 7."""
        source = {"endOffset": {"__consumer_offsets": {"0": 12}}}
        report = {"batchId": 7, "timestamp": "t", "durationMs": {"addBatch": 5}, "sources": [source]}
        return json.dumps({**report, "stateOperators": self._operators})


def repaired(snapshots: int) -> dict[str, Any]:
    """Return the part of a report about an operator with so many repaired snapshots."""
    return {"customMetrics": {"rocksdbNumSnapshotsAutoRepaired": snapshots}}


@pytest.mark.parametrize(
    ("operators", "repairs"),
    [
        pytest.param([repaired(2)], 2, id="two damaged snapshots"),
        pytest.param([repaired(2), {}, repaired(3)], 5, id="several operators"),
        pytest.param([{"customMetrics": {}}, {}], 0, id="a release that does not report repairs"),
        pytest.param([], 0, id="no stateful operator"),
    ],
)
def test_repaired_snapshots_of_the_state_are_reported(operators: list[dict[str, Any]], repairs: int) -> None:
    """The report has the sum of the repaired snapshots of all operators, or 0 if Spark reports none."""
    query: Any = SimpleNamespace(_jsq=SimpleNamespace(lastProgress=lambda: Progress(operators)))
    report = last_report(query)
    assert report is not None
    assert report.repairs == repairs


def test_watchdog_ends_the_process_although_the_jvm_cannot_be_killed() -> None:
    """The exit code is WATCHDOG for a session without a gateway, such as one that has been stopped."""
    program = "import time; from stream.spark.query import Watchdog; Watchdog(object(), 0.1); time.sleep(30)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    assert done.returncode == ExitCode.WATCHDOG
