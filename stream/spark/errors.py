"""Errors of Spark as text, read while the JVM still runs.

PySpark and py4j exceptions hold references into the JVM: their text is fetched when it is asked for, and after the JVM
has ended it reads `<exception str() failed>`. Every error of Spark is therefore turned into a `SparkFailure` where it
is caught, before anything ends the JVM.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from stream.spark.jvm_process import describe_end

# Any call into a JVM that is gone raises one of these; an exception inside a running JVM arrives as one of `_SPARK`.
GONE_ERRORS: Final = (Py4JError, OSError)
_SPARK: Final = (Py4JJavaError, PySparkException)
_TRACEBACK: Final = "Traceback (most recent call last):"
# How Python reports an error of Java; its cause stands further down.
_REPORTS_OF_JAVA: Final = ("py4j.", "pyspark.errors.exceptions.captured.")
_CALL: Final = "An error occurred while calling "
"""The first line of py4j's report of an error of Java, which is the next one, after a colon."""
SLOW_START: Final = "Python worker failed to connect back"
"""Spark gives a Python process ten seconds to start, which is not configurable."""
# Its causes are those of a closed socket.
_WORKER_ENDED: Final = "Python worker exited unexpectedly"
WORKER_NOT_STARTED: Final = "Python daemon failed to launch worker"
"""PythonWorkerFactory's words where the process of a worker ended before Spark could look it up."""
# Without any of those words: the worker ended while Spark was starting it; only the frames tell whose socket it was.
_STARTS_WORKERS: Final = "org.apache.spark.api.python.PythonWorkerFactory"
_CLOSED: Final = ("java.io.", "java.net.", "java.nio.")


@dataclasses.dataclass(frozen=True, slots=True)
class SparkFailure:
    """An error of Spark."""

    cause: str
    """The error in one line."""
    detail: str
    """The whole text with the Java stack trace and all causes; empty when the JVM was gone before it could be read."""

    @classmethod
    def of_jvm(cls) -> SparkFailure:
        """Return the failure of a call without a JVM: how the JVM ended."""
        return cls(describe_end(), "")

    @classmethod
    def of(cls, error: BaseException) -> SparkFailure:
        """Return the failure of a PySpark or py4j error. Must be called before the JVM is stopped."""
        if not isinstance(error, _SPARK):
            gone = isinstance(error, GONE_ERRORS)
            return cls.of_jvm() if gone else cls(root_cause(f"{type(error).__name__}: {error}"), "")
        try:
            text = str(error)
        except (*GONE_ERRORS, AssertionError):  # PySpark asserts that there is a JVM
            return cls.of_jvm()
        return cls(root_cause(text), text)


class SparkCallError(RuntimeError):
    """A call into Spark failed. `failure` has the cause as text, which remains after the JVM has ended."""

    def __init__(self, action: str, failure: SparkFailure) -> None:
        super().__init__(f"could not {action}: {failure.cause}")
        self.action: Final = action
        self.failure: Final = failure


@contextlib.contextmanager
def spark_call(action: str) -> Iterator[None]:
    """Convert errors of PySpark and py4j into SparkCallError; other exceptions pass.

    `action` completes the sentence "could not ...". The original exception is not printed with it: its text cannot be
    fetched once the JVM has ended.
    """
    try:
        yield
    except (Py4JError, PySparkException, ConnectionError) as error:
        raise SparkCallError(action, SparkFailure.of(error)) from None


def root_cause(text: str) -> str:
    """Return the line of a Spark error that describes it.

    That is the error of the last Python traceback that does not only report one of Java's, the end of a Python worker,
    the last cause, or the first line that is not only about the call.
    """
    raised = _python_error(text)
    if raised is not None:
        return raised
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip() and not line.startswith(_CALL)]
    ended = next((line for line in lines if _WORKER_ENDED in line), None)
    if ended is not None:
        return ended[ended.index(_WORKER_ENDED) :]
    causes = [line.partition("Caused by:")[2].strip() for line in lines if "Caused by:" in line]
    cause = causes[-1] if causes else next(iter(lines), "no message").removeprefix(": ")
    closed_at_start = cause.startswith(_CLOSED) and any(_STARTS_WORKERS in line for line in lines)
    if closed_at_start or WORKER_NOT_STARTED in cause:
        return f"{_WORKER_ENDED} while it was starting ({cause})"
    return cause


def _python_error(text: str) -> str | None:
    """Return the error of a Python traceback in a text: the first line after it that is not indented."""
    for traceback in reversed(text.split(_TRACEBACK)[1:]):
        lines = traceback.splitlines()[1:]
        raised = next((" ".join(line.split()) for line in lines if line.strip() and not line.startswith(" ")), None)
        if raised is not None and not raised.startswith(_REPORTS_OF_JAVA):
            return raised
    return None
