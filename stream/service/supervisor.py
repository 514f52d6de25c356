"""Supervises the running query until it ends, its state or topic is no longer valid, or the process is to stop."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

import structlog

from exporters.readmodel import QueryStatus
from stream.cluster.offsets_topic import NAME
from stream.errors import ExitCode
from stream.service.catch_up import CatchUpProgress
from stream.service.catch_up_bar import CatchUpView
from stream.service.processes import end_planners
from stream.service.query_errors import is_slow_start, refusal_in
from stream.service.resources import ResourcePoller
from stream.service.status import CATCHING_UP, FAILED, RUNNING, STOPPING
from stream.spark.errors import SparkCallError
from stream.spark.query import Watchdog, failure, kill_jvm, last_report, stop
from stream.wording import ranges

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from stream.checkpoint.topic_watch import TopicWatch
    from stream.service.kept_state import KeptState
    from stream.service.status import ServiceStatus
    from stream.spark.errors import SparkFailure
    from stream.spark.types import SparkSession, StreamingQuery
    from stream.tick.publisher import Publisher

_log = structlog.get_logger(__name__)
_CATCH_UP_POLL_SECONDS: Final = 0.1
_POLL_SECONDS: Final = 0.5
"""Intervals between polls of the query: each poll makes the JVM write a report."""
_BATCH_GRACE_SECONDS: Final = 15.0
"""For the running batch at a stop; with the JVM's grace less than the 30 s that process managers wait."""
_TICK_GRACE_SECONDS: Final = 3.0
"""For the running tick at a stop, which ends with writing the verdict file."""
_QUERY_STARTS: Final = 4
"""Starts of the query on a machine that is too busy to start Spark's Python processes in time."""

_CHECKPOINT_DELETED: Final = "checkpoint deleted while in use; restart to read the topic from its start"


class QuerySupervisor:
    """Starts and watches the query. One per start of the job; `supervise` is called once."""

    def __init__(
        self,
        session: Future[SparkSession],
        start: Callable[[SparkSession], StreamingQuery],
        state: KeptState,
        watch: TopicWatch,
        *,
        status: ServiceStatus,
        publisher: Publisher,
    ) -> None:
        """`start` starts the query in the session, when that is open."""
        self._session = session
        self._start = start
        self._state = state
        self._watch = watch
        self._status = status
        self._publisher = publisher
        self._last_report_at: str | None = None
        self._offsets_read = 0
        self._added: set[int] = set()
        self._slow_starts = 0
        self._is_planned = False

    def supervise(
        self,
        stopping: threading.Event,
        watchdog_limit: float,
        ticks: Callable[[threading.Event, threading.Event], None],
        *,
        was_read_first: bool = False,
    ) -> int:
        """Start the query, watch it until something ends it, and return the exit code.

        `ticks` publishes in a thread of its own, from the first event (the topic is read to its end) to the second. If
        the topic `was_read_first`, it publishes at once, while the session is opened and the query starts.
        Raises Refusal, StateUnusableError, and SparkCallError.
        """
        caught_up, ended = threading.Event(), threading.Event()
        ticker = threading.Thread(target=ticks, args=(caught_up, ended), name="tick", daemon=True)
        if was_read_first:
            self._status.phase = RUNNING
            caught_up.set()
            ticker.start()
        try:
            if not self._wait_for_session(stopping):
                self._status.phase = STOPPING
                ended.set()
                if was_read_first:
                    ticker.join(_TICK_GRACE_SECONDS)
                return ExitCode.OK
            self._query = self._start_query()
            if not was_read_first:
                ticker.start()
            exit_code = self._watch_query(stopping, watchdog_limit, caught_up, ticker)
        finally:
            ended.set()
            if not caught_up.is_set():
                caught_up.set()
                if ticker.ident is not None:
                    ticker.join(_TICK_GRACE_SECONDS)
        if exit_code is None:
            self._stop(ticker)
        return ExitCode.OK if exit_code is None else exit_code

    def _wait_for_session(self, stopping: threading.Event) -> bool:
        """Wait until the session is open; return False if stopped before. Raises Refusal."""
        while not self._session.done():
            if stopping.wait(_CATCH_UP_POLL_SECONDS):
                return False
        self._spark = self._session.result()
        return True

    def _watch_query(
        self, stopping: threading.Event, watchdog_limit: float, caught_up: threading.Event, ticker: threading.Thread
    ) -> int | None:
        """Watch the query until it must end; return the exit code, None when it is to be stopped."""
        status, view = self._status, CatchUpView(sys.stderr)
        resources = ResourcePoller(self._spark)
        watchdog = Watchdog(self._spark, watchdog_limit)
        if status.phase != CATCHING_UP:
            view.done()
            resources.caught_up()
        try:
            while not stopping.wait(_POLL_SECONDS if status.phase == RUNNING else _CATCH_UP_POLL_SECONDS):
                self._poll_report(watchdog)
                status.resources = resources.poll(self._state.checkpoint.folder) or status.resources
                if status.phase == CATCHING_UP and self._is_caught_up(view):
                    status.phase = RUNNING
                    caught_up.set()
                    resources.caught_up()
                exit_code = self._exit_code(ticker)
                if exit_code is not None:
                    return exit_code
        finally:
            watchdog.close()
        return None

    def _exit_code(self, ticker: threading.Thread) -> int | None:
        """Return the exit code if the process must end; None while all is well."""
        failed = failure(self._query)
        if failed is not None and self._starts_again(failed):
            self._query = self._start_query()
        elif failed is not None:
            return end_of_query(failed, self._status, self._state)
        lost = self._state.lost()
        if lost is not None:
            return self._end_of_checkpoint(lost)
        if self._watch.broken is not None:
            return self._end_of_continuity(self._watch.broken)
        if self._status.phase == RUNNING and not ticker.is_alive():
            return self._end_of_ticks()
        self._follow_added_partitions()
        return None

    def _start_query(self) -> StreamingQuery:
        """Start the query. Raises SparkCallError."""
        while True:
            try:
                return self._start(self._spark)
            except SparkCallError as error:
                if not self._starts_again(error.failure):
                    raise

    def _starts_again(self, failed: SparkFailure) -> bool:
        """Return whether the query is to be started again: a Python process of Spark did not start in time.

        The JVM and the driver state are kept; a batch that runs again changes nothing.
        """
        if not is_slow_start(failed) or self._slow_starts == _QUERY_STARTS - 1:
            return False
        self._slow_starts += 1
        _log.warning("query not started in time; starting it again", attempt=self._slow_starts, cause=failed.cause)
        return True

    def _poll_report(self, watchdog: Watchdog) -> None:
        """Record the query's last progress report, if it is a new one, and how far the tasks of a batch have read.

        The first batches may read millions of records, which takes longer than the watchdog's limit on a slow link.
        """
        status, report = self._status, last_report(self._query)
        if status.progress is not None and status.progress.offsets_read > self._offsets_read:
            self._offsets_read = status.progress.offsets_read
            watchdog.beat()
        if report is None or report.at == self._last_report_at or status.progress is None:
            return
        self._last_report_at = report.at
        watchdog.beat()
        status.progress.finish(report.offsets.positions)
        self._watch.read = report.offsets
        self._added -= report.offsets.positions.keys()
        if report.worked:
            self._state.record_batch()
            before = status.query
            status.query = QueryStatus(
                before.batches + 1, before.state_repairs + report.repairs, report.seconds, time.time(), report.progress
            )
            if not self._is_planned:
                self._is_planned = True
                end_planners(os.getpid())

    def _is_caught_up(self, view: CatchUpView) -> bool:
        progress = self._status.progress
        if progress is None:
            return False
        view.show(progress.catch_up(time.monotonic()))
        if progress.caught_up:
            view.done()
        return progress.caught_up

    def _follow_added_partitions(self) -> None:
        """Report partitions that were not there at the start until they are shown up to the ends that they had then.

        They were added to the topic, or had no leader that answered. The source reads them without a restart of the
        query. The snapshot stays published; `/readyz` is red meanwhile.
        """
        status, progress, logs = self._status, self._status.progress, self._watch.added_logs
        if self._watch.added:
            status.partitions_added = self._watch.added
        elif progress is not None and progress.is_reached_by(status.shown) and not self._added:
            status.partitions_added = ()
        if not logs or progress is None or status.phase != RUNNING:
            return
        _log.warning(f"more partitions of {NAME}; reading them from their start", partitions=ranges(logs))
        positions = progress.positions
        starts = {**{partition: first for partition, (first, _, _) in logs.items()}, **positions}
        ends = {**positions, **{partition: stable for partition, (_, _, stable) in logs.items()}}
        status.progress = CatchUpProgress(starts, ends)
        self._added = logs.keys() - positions.keys()
        self._watch.add_partitions(logs.keys())

    def _stop(self, ticker: threading.Thread) -> None:
        """Wait for the running batch and the running tick, each for a limited time.

        A first batch of what the checkpoint keeps already is not waited for: the next start takes it over.
        """
        self._status.phase = STOPPING
        kept = self._state.checkpoint.keeps_first_read
        _log.info("stop requested" if kept else "stop requested; waiting for the running batch")
        if not stop(self._query, 0.0 if kept else _BATCH_GRACE_SECONDS):
            _log.warning("batch did not end in time; it will run again at the next start")
            kill_jvm(self._spark)
        if ticker.is_alive():
            ticker.join(_TICK_GRACE_SECONDS)

    def _end_of_checkpoint(self, why: str) -> int:
        """End at once: Spark would create the folders again, and what it writes there could not be continued."""
        self._status.phase = FAILED
        _log.error(_CHECKPOINT_DELETED, why=why)
        kill_jvm(self._spark)
        return ExitCode.CHECKPOINT_DAMAGED

    def _end_of_continuity(self, why: str) -> int:
        """Stop publishing what is wrong; the next start sets the state aside and reads the topic from its start."""
        self._status.phase = FAILED
        self._publisher.clear()
        _log.error("state does not match the topic; restart to read the topic from its start", why=why)
        if not stop(self._query, _BATCH_GRACE_SECONDS):
            kill_jvm(self._spark)
        return ExitCode.TOPIC_CHANGED

    def _end_of_ticks(self) -> int:
        """End because no snapshot would be published any more; stderr has the traceback of the tick thread."""
        self._status.phase = FAILED
        _log.error("internal error in the evaluation loop; exiting so that the supervisor restarts the process")
        if not stop(self._query, _BATCH_GRACE_SECONDS):
            kill_jvm(self._spark)
        return ExitCode.INTERNAL


def end_of_query(failed: SparkFailure, status: ServiceStatus, state: KeptState) -> int:
    """Log why the query failed, and return the exit code.

    Raises Refusal for what a restart does not fix, and StateUnusableError.
    """
    was_ready, status.phase = status.phase == RUNNING, FAILED
    refusal = refusal_in(failed.cause) or refusal_in(failed.detail)
    lost = state.lost()
    if lost is not None:
        _log.error(_CHECKPOINT_DELETED, why=lost, cause=failed.cause)
        return ExitCode.CHECKPOINT_DAMAGED
    if refusal is not None:
        raise refusal
    is_of_the_state = state.record_failure(failed, shown=was_ready)
    _log.error("query failed", cause=failed.cause)
    _log.debug("query error in full", detail=failed.detail)
    return ExitCode.CHECKPOINT_DAMAGED if is_of_the_state else ExitCode.QUERY_FAILED
