"""The running query as the driver watches it: what its last batch did, whether it lives, how it ends.

Spark never reports a broker that is away: its thread waits inside the Kafka client for ever, and then even stopping the
query hangs. So nothing here waits without a limit, and `Watchdog` ends the process when no batch ended for too long.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Any, Final

import structlog
from py4j.protocol import Py4JError

from stream.cluster.offsets_topic import NAME
from stream.exits import ExitCode
from stream.progress import source_positions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_log = structlog.get_logger(__name__)
_POLL_SECONDS: Final = 0.05
_TRACEBACK: Final = "Traceback (most recent call last):"
# What any call into a JVM that is gone raises; a fault inside a living JVM reaches us as another exception.
_JVM_GONE: Final = (Py4JError, OSError)


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """Spark's progress report: of a batch, or (without records) of the source having been looked at in vain."""

    batch: int
    seconds: float
    positions: dict[int, int]
    at: str
    """Spark's own time stamp: another one means another report."""
    worked: bool
    """Whether a batch ran."""


def last_report(query: StreamingQuery) -> Report | None:
    """Read the last progress report; None before the first, and when there is no JVM to ask (see `failure`)."""
    try:
        progress = query._jsq.lastProgress()  # noqa: SLF001 - the public one asks for each field, hundreds of calls
        text = None if progress is None else progress.json()
    except _JVM_GONE:
        return None
    if text is None:
        return None
    read: dict[str, Any] = json.loads(text)
    durations = read.get("durationMs", {})
    end = read["sources"][0].get("endOffset")
    return Report(
        batch=read["batchId"],
        seconds=durations.get("triggerExecution", 0) / 1000,
        positions=source_positions(end if isinstance(end, str) else json.dumps(end or {}), NAME),
        at=read["timestamp"],
        worked="addBatch" in durations,
    )


def failure(query: StreamingQuery) -> str | None:
    """Say in one line why the query ended, None while it runs."""
    try:
        if query.isActive:
            return None
        error = query.exception()
    except _JVM_GONE:
        return "Spark's JVM does not answer: it was killed, or ended for want of memory"
    return "the query ended without an error" if error is None else root_cause(str(error))


def root_cause(text: str) -> str:
    """Pick the line of a Spark error that says what happened: Python's own, the last cause, or the first line."""
    raised = _python_error(text)
    if raised is not None:
        return raised
    causes = [line.split("Caused by:", 1)[1] for line in text.splitlines() if "Caused by:" in line]
    told = causes[-1] if causes else next((line for line in text.splitlines() if line.strip()), "no message")
    return " ".join(told.split())


def _python_error(text: str) -> str | None:
    """Give the error of the last Python traceback in a text: the first line after it that is not indented."""
    _, found, traceback = text.rpartition(_TRACEBACK)
    lines = traceback.splitlines()[1:] if found else []
    return next((" ".join(line.split()) for line in lines if line.strip() and not line.startswith(" ")), None)


def stop(query: StreamingQuery, grace: float) -> bool:
    """Let the running trigger end, then stop the query; False if that took longer than `grace` seconds.

    A query stopped inside a batch loses nothing (the batch runs again), but ends in noise.
    """
    deadline = time.monotonic() + grace
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)

    ending = threading.Thread(target=query.stop, name="stop", daemon=True)
    ending.start()
    ending.join(max(2.0, deadline - time.monotonic()))
    return not ending.is_alive()


def kill_jvm(spark: SparkSession) -> None:
    """End the JVM at once; it may be hanging and would then outlive this process."""
    gateway = spark.sparkContext._gateway  # noqa: SLF001 - there is no other way to its process
    if gateway is not None:
        os.kill(gateway.proc.pid, signal.SIGKILL)


class Watchdog:
    """Ends the process with its own code when `beat` was not called for `limit` seconds."""

    def __init__(self, spark: SparkSession, limit: float) -> None:
        self._spark = spark
        self._limit = limit
        self._beat = time.monotonic()
        self._over = threading.Event()
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def beat(self) -> None:
        """Say that the query lives."""
        self._beat = time.monotonic()

    def close(self) -> None:
        """Watch no longer."""
        self._over.set()

    def _watch(self) -> None:
        while not self._over.wait(min(1.0, self._limit / 4)):
            silent = time.monotonic() - self._beat
            if silent > self._limit:
                _log.error("no micro-batch ended within the limit; ending to be started again", seconds=round(silent))
                kill_jvm(self._spark)
                os._exit(ExitCode.WATCHDOG)
