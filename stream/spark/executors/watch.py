"""Watches which executors are registered, in a thread of its own: executors come late, are lost and are replaced."""

import threading
import time
from collections.abc import Callable
from typing import Final

import structlog
from pyspark.sql import SparkSession

from exporters.readmodel import ExecutorCount
from stream.spark.errors import GONE_ERRORS

_log = structlog.get_logger(__name__)
_POLL_SECONDS: Final = 2.0
_LATE_SECONDS: Final = 30.0
"""A standalone worker starts an executor within seconds, Kubernetes within half a minute."""


def registered_executors(spark: SparkSession) -> frozenset[str]:
    """Return the ids of the registered executors. Raises GONE_ERRORS when the JVM has ended.

    `SparkContext.getExecutorIds` is not public in Scala; the public status tracker still lists lost executors.
    """
    text = spark.sparkContext._jsc.sc().getExecutorIds().mkString(",")  # noqa: SLF001 -- PySpark has no method for it
    return frozenset(filter(None, text.split(",")))


class ExecutorWatch:
    """Logs changes of the executors, and counts them. Thread-safe."""

    def __init__(self, expected: int, clock: Callable[[], float] = time.time) -> None:
        self._expected = expected
        self._clock = clock
        self._began = self._clock()
        self._ids: frozenset[str] = frozenset()
        self._complete_at = self._began
        self._late_logged = False
        self._closing = threading.Event()
        self.count = ExecutorCount(expected, 0, self._began)
        """The executors as of the last poll."""

    def start(self, spark: SparkSession) -> None:
        """Poll the executors of this session in a daemon thread until its JVM ends."""
        threading.Thread(target=self._run, args=(spark,), name="executors", daemon=True).start()

    def _run(self, spark: SparkSession) -> None:
        try:
            while not self._closing.wait(_POLL_SECONDS):
                self.record(registered_executors(spark))
        except (*GONE_ERRORS, AttributeError):  # the session was stopped
            _log.debug("watch of the executors ended")

    def close(self) -> None:
        """Stop watching, before the session is stopped."""
        self._closing.set()

    def record(self, ids: frozenset[str]) -> None:
        """Record which executors are registered now."""
        now, numbers = self._clock(), {"running": len(ids), "expected": self._expected}
        if lost := self._ids - ids:
            _log.warning("executors lost; their tasks run again elsewhere", executors=sorted(lost), **numbers)
        if added := ids - self._ids:
            _log.info("executors registered", executors=sorted(added), **numbers)
        if len(ids) >= self._expected:
            self._complete_at, self._late_logged = now, False
        elif now - self._complete_at >= _LATE_SECONDS and not self._late_logged:
            self._late_logged = True
            _log.warning("executors missing", seconds=round(now - self._complete_at), **numbers)
        none_since = None if ids else self.count.none_since or now
        self._ids, self.count = ids, ExecutorCount(self._expected, len(ids), none_since)
