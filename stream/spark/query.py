"""Supervision of the running query: its last batch, the heap of its JVM, its liveness, and its end.

The JVM may hang, and then even stopping the query hangs. So nothing here waits without a limit, and `Watchdog` ends the
process when no batch ended for too long.
"""

import contextlib
import dataclasses
import json
import os
import re
import threading
import time
from collections.abc import Mapping
from typing import Any, Final

import structlog
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from exporters.readmodel import QUERY_PHASES, BatchProgress, HeapUsage, rows_table
from stream.checkpoint.spark_offsets import SourceOffsets
from stream.errors import ExitCode
from stream.spark.errors import GONE_ERRORS, SparkCallError, SparkFailure, spark_call
from stream.spark.jvm_process import kill_with_children

_log = structlog.get_logger(__name__)
_POLL_SECONDS: Final = 0.05
_REPAIRS: Final = "rocksdbNumSnapshotsAutoRepaired"


@dataclasses.dataclass(frozen=True, slots=True)
class BatchReport:
    """Spark's progress report of a batch, or of a poll of the source without new records."""

    batch: int
    seconds: float
    offsets: SourceOffsets
    at: str
    """Spark's timestamp; it identifies the report."""
    worked: bool
    """True if a batch ran."""
    progress: BatchProgress = dataclasses.field(default_factory=BatchProgress)
    repairs: int = 0
    """Damaged snapshots of the state that Spark replaced in this batch (`rocksdbNumSnapshotsAutoRepaired`)."""


def last_report(query: StreamingQuery, read_at: str | None = None) -> BatchReport | None:
    """Return the last progress report; None before the first, if it is that of `read_at`, and without a JVM."""
    try:
        progress = query._jsq.lastProgress()  # noqa: SLF001 - the public one asks for each field, hundreds of calls
        text = None if progress is None or progress.timestamp() == read_at else progress.json()
    except GONE_ERRORS:
        return None
    if text is None:
        return None
    read: dict[str, Any] = json.loads(text)
    durations = read.get("durationMs", {})
    end = read["sources"][0].get("endOffset")
    return BatchReport(
        batch=read["batchId"],
        seconds=durations.get("triggerExecution", 0) / 1000,
        offsets=SourceOffsets.of_text(end) if isinstance(end, str) else SourceOffsets.of_json(end or {}),
        at=read["timestamp"],
        worked="addBatch" in durations,
        progress=batch_progress(read),
        repairs=sum(operator.get("customMetrics", {}).get(_REPAIRS, 0) for operator in read.get("stateOperators", ())),
    )


def batch_progress(report: Mapping[str, Any]) -> BatchProgress:
    """Return the progress of a report; Spark leaves out rates that are not finite."""
    operators = report.get("stateOperators", ())
    phases = {
        re.sub("[A-Z]", lambda sign: f"_{sign[0].lower()}", name): milliseconds / 1000
        for name, milliseconds in report.get("durationMs", {}).items()
    }
    return BatchProgress(
        report.get("numInputRows"),
        report.get("inputRowsPerSecond"),
        report.get("processedRowsPerSecond"),
        sum(operator.get("numRowsTotal", 0) for operator in operators),
        sum(operator.get("memoryUsedBytes", 0) for operator in operators),
        rows_table(sorted(phases.items()), QUERY_PHASES),
    )


def failure(query: StreamingQuery) -> SparkFailure | None:
    """Return the failure that ended the query; None while it runs."""
    try:
        if query.isActive:
            return None
        error = query.exception()
    except GONE_ERRORS:
        return SparkFailure.of_jvm()
    return SparkFailure("the query ended without an error", "") if error is None else SparkFailure.of(error)


def stop(query: StreamingQuery, grace: float) -> bool:
    """Stop the query after the running trigger; return False if that took longer than `grace` seconds.

    A query stopped inside a batch loses nothing (the batch runs again), but ends in noise.
    """
    deadline = time.monotonic() + grace
    try:
        while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
    except GONE_ERRORS:
        _log.warning("JVM ended before the query was stopped; the next start repeats the batch")
        return True
    ending = threading.Thread(target=_stop, args=(query,), name="stop", daemon=True)
    ending.start()
    ending.join(max(2.0, deadline - time.monotonic()))
    return not ending.is_alive()


def _stop(query: StreamingQuery) -> None:
    """Stop the query. A query that has failed, or whose JVM has ended, counts as stopped."""
    try:
        with spark_call("stop the query"):
            query.stop()
    except SparkCallError as error:
        _log.debug("query not stopped", cause=str(error))


def heap_usage(spark: SparkSession) -> HeapUsage:
    """Return the usage of the heap (`java.lang.Runtime`); empty when the JVM has ended."""
    try:
        runtime = _java_lang(spark).Runtime.getRuntime()
        return HeapUsage(runtime.totalMemory() - runtime.freeMemory(), runtime.maxMemory())
    except GONE_ERRORS:
        return HeapUsage()


def shrink_heap(spark: SparkSession) -> None:
    """Run a full collection, after which the heap is as large as its live objects need (`java_memory`)."""
    with contextlib.suppress(*GONE_ERRORS):
        _java_lang(spark).System.gc()


def _java_lang(spark: SparkSession) -> Any:
    jvm = spark._jvm  # noqa: SLF001 - PySpark has no public access to the JVM
    assert jvm is not None  # noqa: S101 - None in Spark Connect only
    return jvm.java.lang


def kill_jvm(spark: SparkSession) -> None:
    """Kill the JVM and its Python processes, which may hang and would then outlive this process."""
    gateway = spark.sparkContext._gateway  # noqa: SLF001 - there is no other way to its process
    if gateway is not None:
        kill_with_children(gateway.proc)


class Watchdog:
    """Ends the process with its own code when `beat` was not called for `limit` seconds; logs `warn_after` seconds."""

    def __init__(self, spark: SparkSession, limit: float, warn_after: float) -> None:
        self._spark = spark
        self._limit = limit
        self._warn_after = warn_after
        self._beat = time.monotonic()
        self._over = threading.Event()
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def beat(self) -> None:
        """Record that the query is alive."""
        self._beat = time.monotonic()

    def close(self) -> None:
        """Stop the watchdog."""
        self._over.set()

    def _watch(self) -> None:
        warned = False
        while not self._over.wait(min(1.0, self._limit / 4)):
            silent = time.monotonic() - self._beat
            if silent > self._warn_after and not warned:
                _log.warning("query silent; new commits are not read", seconds=round(silent), exit_after=self._limit)
            warned = silent > self._warn_after
            if silent > self._limit:
                _log.error("no micro-batch ended within the limit; exiting for a restart", seconds=round(silent))
                try:
                    kill_jvm(self._spark)
                finally:  # whatever state the session is in
                    os._exit(ExitCode.WATCHDOG)
