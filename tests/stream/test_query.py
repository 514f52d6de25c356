"""What is told of a query that failed: one line, the one that says what happened."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from stream.query import failure, last_report, root_cause

NESTED = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted
=== Streaming Query ===
Identifier: lagwarden
org.apache.spark.SparkException: Job aborted due to stage failure
\tat org.apache.spark.scheduler.DAGScheduler.failJobAndIndependentStages(DAGScheduler.scala:1)
Caused by: org.apache.spark.SparkException: Task failed
\tat org.apache.spark.scheduler.Task.run(Task.scala:1)
Caused by: java.io.IOException:   No space left\ton device
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
\t... 12 more
"""

OF_PYTHON = """[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function
py4j.Py4JException: An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "stream/job.py", line 1, in _on_batch
    self._publisher.apply(changes)
ValueError: not a packed   shard of format 2

	at py4j.Protocol.getReturnValue(Protocol.java:476)
"""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        pytest.param(NESTED, "java.io.IOException: No space left on device", id="the last cause of a chain"),
        pytest.param("java.lang.IllegalStateException: gone", "java.lang.IllegalStateException: gone", id="one line"),
        pytest.param("\n\n  [STREAM_FAILED] it failed\n\tat x", "[STREAM_FAILED] it failed", id="no cause: first line"),
        pytest.param("\tCaused by: x\n", "x", id="an indented cause"),
        pytest.param(OF_PYTHON, "ValueError: not a packed shard of format 2", id="what Python raised"),
        pytest.param("", "no message", id="nothing at all"),
        pytest.param(" \n\t\n", "no message", id="nothing but space"),
    ],
)
def test_cause_is_one_line_that_says_what_happened(text: str, cause: str) -> None:
    """Of pages of trace the last cause is told, with its spaces set straight; else the first line there is."""
    assert root_cause(text) == cause


class QueryOfADeadJvm:
    """A query whose every question fails as py4j fails when the JVM is gone."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        raise self._error


@pytest.mark.parametrize(
    "error", [Py4JError("x"), Py4JNetworkError("x"), ConnectionRefusedError(111, "x")], ids=lambda e: type(e).__name__
)
def test_jvm_that_is_gone_is_a_failure_of_the_query(error: Exception) -> None:
    """Killed or out of memory: no report, and a cause in words, instead of a traceback."""
    query: Any = QueryOfADeadJvm(error)
    assert last_report(query) is None
    assert "JVM does not answer" in str(failure(query))
