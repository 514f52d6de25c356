"""The failure of a query as one line."""

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
from stream.spark.query import batch_progress, failure, last_report, stop


class QueryOfADeadJvm:
    """A query whose methods fail as py4j fails when the JVM has ended."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        raise self._error


def test_jvm_that_is_gone_is_a_failure_of_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """A query of a killed JVM has no report, and a cause instead of a traceback.

    `stop` returns True without a pause and without a second call.
    """
    monkeypatch.setattr(jvm_process, "_started", ())  # another test may have started one
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    for error in (Py4JError("x"), Py4JNetworkError("x"), ConnectionRefusedError(111, "x")):
        query: Any = QueryOfADeadJvm(error)
        assert last_report(query) is None
        assert "JVM does not answer" in str(failure(query))
        query = QueryOfADeadJvm(error)
        assert stop(query, 60.0)
        assert (query.asked, pauses) == (["isActive"], [])


class Progress:
    """The progress report of a query, as Spark writes it."""

    def __init__(self, operators: list[dict[str, Any]]) -> None:
        self._operators = operators

    def timestamp(self) -> str:
        """Return what identifies the report."""
        return "t"

    def json(self) -> str:
        """Return the report of batch 7."""
        source = {"endOffset": {"__consumer_offsets": {"0": 12}}}
        report = {"batchId": 7, "timestamp": "t", "durationMs": {"addBatch": 5}, "sources": [source]}
        return json.dumps({**report, "stateOperators": self._operators})


def query_with(operators: list[dict[str, Any]]) -> Any:
    """Return a query with this report."""
    return SimpleNamespace(_jsq=SimpleNamespace(lastProgress=lambda: Progress(operators)))


def test_a_report_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The JVM does not write the report again that was read last."""
    query, asked = query_with([]), []
    monkeypatch.setattr(Progress, "json", lambda each, write=Progress.json: asked.append(each) or write(each))
    reports = [last_report(query, read_at) for read_at in (None, "s", "t")]
    assert ([each is None for each in reports], len(asked)) == ([False, False, True], 2)


def repaired(snapshots: int) -> dict[str, Any]:
    """Return the part of a report about an operator with so many repaired snapshots."""
    return {"customMetrics": {"rocksdbNumSnapshotsAutoRepaired": snapshots}}


def test_repaired_snapshots_of_the_state_are_reported() -> None:
    """The report has the sum of the repaired snapshots of all operators, or 0 if Spark reports none."""
    operators: list[tuple[list[dict[str, Any]], int]] = [
        ([repaired(2)], 2),
        ([repaired(2), {}, repaired(3)], 5),
        ([{"customMetrics": {}}, {}], 0),
        ([], 0),
    ]
    for given, repairs in operators:
        report = last_report(query_with(given))
        assert report is not None
        assert report.repairs == repairs


def test_a_report_has_rows_phases_and_state() -> None:
    """Phases are in seconds and named as metrics are; rates that Spark leaves out are unknown; stores are added up."""
    stores = [{"numRowsTotal": 60, "memoryUsedBytes": 1_000}, {"numRowsTotal": 4, "memoryUsedBytes": 200}]
    report = {"numInputRows": 6, "processedRowsPerSecond": 24.5, "stateOperators": stores}
    durations = {"latestOffset": 30, "addBatch": 200, "triggerExecution": 250}
    progress = batch_progress(report | {"durationMs": durations})
    phases = dict(zip(*progress.phases.to_pydict().values(), strict=True))
    assert phases == {"latest_offset": 0.03, "add_batch": 0.2, "trigger_execution": 0.25}
    assert (progress.input_rows, progress.input_rate, progress.processed_rate) == (6, None, 24.5)
    assert (progress.state_rows, progress.state_bytes) == (64, 1_200)


def test_watchdog_ends_the_process_although_the_jvm_cannot_be_killed() -> None:
    """The exit code is WATCHDOG for a session without a gateway, such as one that has been stopped."""
    program = "import time; from stream.spark.query import Watchdog; Watchdog(object(), 0.1, 9); time.sleep(30)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    assert done.returncode == ExitCode.WATCHDOG
