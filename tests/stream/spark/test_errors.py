"""Errors of Spark: the cause in one line, and text that can be read after the end of the JVM."""

import collections
import socket
import socketserver
import traceback
from pathlib import Path

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import accumulators
from pyspark.errors import PySparkException

from sandbox.ports import LOOPBACK
from stream.spark import jvm, jvm_process
from stream.spark.errors import SparkCallError, SparkFailure, root_cause, spark_call
from stream.spark.jvm_process import JvmOptions
from stream.spark.session import SessionOptions, end_session, open_session

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
  File "stream/service/job.py", line 1, in _on_batch
    self._publisher.apply(changes)
ValueError: not a packed   shard of format 2

	at py4j.Protocol.getReturnValue(Protocol.java:476)
"""

WORKER_KILLED = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception
py4j.Py4JException: An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "stream/spark/pipeline.py", line 1, in collect
    on_batch(batch.toArrow(), number)
py4j.protocol.Py4JJavaError: An error occurred while calling o182.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult: Job aborted due to stage failure
\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:1)
Caused by: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)
\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:1)
Caused by: java.io.EOFException
\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:1)
"""

WORKER_KILLED_AT_ITS_START = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception
Caused by: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 9.0 failed 3 times
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:1)
Caused by: java.io.EOFException
\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:1)
\tat org.apache.spark.api.python.PythonWorkerFactory.createWorker$1(PythonWorkerFactory.scala:1)
"""

WORKER_GONE_AFTER_THE_FORK = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception
Caused by: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 9.0 failed 3 times
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:1)
Caused by: java.lang.IllegalStateException: Python daemon failed to launch worker.
\tat org.apache.spark.api.python.PythonWorkerFactory.$anonfun$createThroughDaemon$1(PythonWorkerFactory.scala:1)
"""

IN_A_TASK = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "stream/spark/offsets_reading.py", line 1, in read_deltas
ValueError: not a key
\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
Return Message: Traceback (most recent call last):
  File "stream/spark/pipeline.py", line 1, in collect
py4j.protocol.Py4JJavaError: An error occurred while calling o182.getResult.
: org.apache.spark.SparkException: Job aborted due to stage failure
"""

JAVA_IN_PYTHON = """py4j.Py4JException: Return Message: Traceback (most recent call last):
  File "stream/spark/pipeline.py", line 1, in collect
pyspark.errors.exceptions.captured.IllegalArgumentException: requirement failed
JVM stacktrace:
Caused by: java.io.IOException: No space left on device
"""


FULL = "java.io.IOException: No space left on device"
STARTING = "Python worker exited unexpectedly while it was starting"
CAUSES = {
    NESTED: FULL,
    "java.lang.IllegalStateException: gone": "java.lang.IllegalStateException: gone",
    "\n\n  [STREAM_FAILED] it failed\n\tat x": "[STREAM_FAILED] it failed",
    "\tCaused by: x\n": "x",
    "An error occurred while calling o63.load.\n: java.io.IOException: gone\n\tat x": "java.io.IOException: gone",
    WORKER_KILLED: "Python worker exited unexpectedly (crashed)",
    WORKER_KILLED_AT_ITS_START: f"{STARTING} (java.io.EOFException)",
    WORKER_GONE_AFTER_THE_FORK: (
        f"{STARTING} (java.lang.IllegalStateException: Python daemon failed to launch worker.)"
    ),
    IN_A_TASK: "ValueError: not a key",
    JAVA_IN_PYTHON: FULL,
    OF_PYTHON: "ValueError: not a packed shard of format 2",
    "": "no message",
    " \n\t\n": "no message",
}


def test_root_cause_is_one_line() -> None:
    """The cause is the last one of the stack trace with normalised spaces, or else the first line."""
    assert {text: root_cause(text) for text in CAUSES} == CAUSES


class TextInTheJvm(PySparkException):
    """A PySpark exception whose text can only be read while the JVM runs."""

    jvm_runs = True

    def __str__(self) -> str:
        if not self.jvm_runs:
            raise Py4JNetworkError("Answer from Java side is empty")
        return "it failed\nCaused by: java.io.IOException: No space left on device"


def test_text_is_read_before_the_jvm_ends() -> None:
    """The raised error holds the cause and the whole text itself, and needs no JVM to be printed."""
    source = TextInTheJvm("x")
    with pytest.raises(SparkCallError) as raised, spark_call("read the state"):
        raise source
    source.jvm_runs = False
    assert str(raised.value) == "could not read the state: java.io.IOException: No space left on device"
    assert raised.value.failure.detail.startswith("it failed\n")
    assert "str() failed" not in "".join(traceback.format_exception(raised.value))


class Failing(socketserver.BaseRequestHandler):
    """A request whose peer has ended."""

    def handle(self) -> None:
        """Fail as PySpark's handler does."""
        raise EOFError


def test_accumulators_print_nothing_when_the_jvm_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No error is printed when the JVM closes its connection to an accumulator server of either kind."""
    jvm.hush_accumulators()
    servers: list[tuple[socketserver.TCPServer, socket.socket]] = [
        (accumulators.AccumulatorUnixServer(str(tmp_path / "socket"), Failing), socket.socket(socket.AF_UNIX)),
        (accumulators.AccumulatorTCPServer((LOOPBACK, 0), Failing, ""), socket.socket()),
    ]
    for server, client in servers:
        with server, client:
            client.connect(server.server_address)
            server.handle_request()
    assert capsys.readouterr().err == ""


def test_jvm_that_is_gone_is_named_as_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call without a JVM fails with a sentence instead of a socket error, also if the text cannot be read.

    An exception that is not one of Spark or the JVM keeps its type.
    """
    # The end of the JVM of another test in this process would otherwise be the cause.
    monkeypatch.setattr(jvm_process, "_started", collections.deque(maxlen=1))
    unreadable = TextInTheJvm("x")
    unreadable.jvm_runs = False
    for error in (Py4JError("x"), Py4JNetworkError("x"), ConnectionResetError(104, "x"), unreadable):
        with pytest.raises(SparkCallError) as raised, spark_call("start the query"):
            raise error
        assert raised.value.failure == SparkFailure("Spark's JVM does not answer", "")
    with pytest.raises(KeyError), spark_call("start the query"):
        raise KeyError("shard")


@pytest.mark.spark
def test_cause_of_a_real_error_can_be_read_after_the_jvm_has_ended(tmp_path: Path) -> None:
    """The error names a damaged file although the JVM that reported it has ended."""
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(b"PAR1 this is not a parquet file PAR1")
    options = SessionOptions("local[1]", JvmOptions("512m"), "127.0.0.1", 1)
    session = open_session(options)
    with pytest.raises(SparkCallError) as raised, spark_call("read the file"):
        session.read.schema("a int").parquet(str(damaged)).toArrow()
    end_session(session, 30)
    assert str(raised.value).startswith("could not read the file: ")
    assert "JVM" not in str(raised.value)
    assert "damaged.parquet" in raised.value.failure.detail
