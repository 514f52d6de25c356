"""Errors of Spark: the cause in one line, and text that outlives the JVM."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from sandbox.jars import connector_jars
from stream.session import SessionOptions, end_session, open_session
from stream.spark_errors import JVM_GONE, SparkCallError, SparkFailure, root_cause, spark_call

if TYPE_CHECKING:
    from pathlib import Path

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


class TextInTheJvm(PySparkException):
    """A PySpark exception whose text can only be read while the JVM runs."""

    jvm_runs = True

    def __str__(self) -> str:
        """Fetch the text."""
        if not self.jvm_runs:
            raise Py4JNetworkError("Answer from Java side is empty")
        return "it failed\nCaused by: java.io.IOException: No space left on device"


def test_text_is_read_before_the_jvm_ends() -> None:
    """The raised error holds the cause and the whole text itself, and prints nothing that only the JVM knows."""
    source = TextInTheJvm("x")
    with pytest.raises(SparkCallError) as raised, spark_call("read the state"):
        raise source
    source.jvm_runs = False
    assert str(raised.value) == "could not read the state: java.io.IOException: No space left on device"
    assert raised.value.failure.detail.startswith("it failed\n")
    assert "str() failed" not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize("error", [Py4JError("x"), Py4JNetworkError("x"), ConnectionResetError(104, "x")])
def test_jvm_that_is_gone_is_named_as_the_cause(error: Exception) -> None:
    """A call that finds no JVM fails with a sentence, not with the words of a socket."""
    with pytest.raises(SparkCallError) as raised, spark_call("start the query"):
        raise error
    assert raised.value.failure == SparkFailure(JVM_GONE, "")


def test_jvm_that_ends_before_the_text_is_read_is_named_as_the_cause() -> None:
    """The exception arrived, its text did not."""
    error = TextInTheJvm("x")
    error.jvm_runs = False
    assert SparkFailure.of(error) == SparkFailure(JVM_GONE, "")


def test_other_exceptions_pass() -> None:
    """Faults of this program keep their type and traceback."""
    with pytest.raises(KeyError), spark_call("start the query"):
        raise KeyError("shard")


@pytest.mark.spark
def test_cause_of_a_real_error_is_there_after_the_jvm_has_ended(tmp_path: Path) -> None:
    """A damaged file is named in the error although the JVM that reported it is gone."""
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(b"PAR1 this is not a parquet file PAR1")
    options = SessionOptions("local[1]", "512m", "127.0.0.1", connector_jars(), 1)
    session = open_session(options)
    with pytest.raises(SparkCallError) as raised, spark_call("read the file"):
        session.read.schema("a int").parquet(str(damaged)).toArrow()
    end_session(session, 30)
    assert str(raised.value).startswith("could not read the file: ")
    assert JVM_GONE not in str(raised.value)
    assert "damaged.parquet" in raised.value.failure.detail
