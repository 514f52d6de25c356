"""Supervises the running query until it ends, its state or topic is no longer valid, or the process is to stop."""

import contextlib
import dataclasses
import functools
import sys
import threading
import time
from collections.abc import Callable
from concurrent import futures
from typing import Any, Final

import structlog

from exporters.readmodel import QueryStatus
from stream.checkpoint.topic_watch import TopicWatch
from stream.cluster.offsets_topic import NAME
from stream.errors import ExitCode
from stream.service.catch_up import CatchUpProgress, CatchUpView
from stream.service.kept_state import CHECKPOINT_DELETED, KeptState, end_of_query, is_slow_start
from stream.service.processes import ResourcePoller
from stream.service.status import CATCHING_UP, FAILED, RUNNING, STOPPING, ServiceStatus
from stream.service.ticker import TickThread
from stream.spark.errors import SparkCallError, SparkFailure
from stream.spark.planners import CREATOR, PLANNER, end_planners, runs_tasks
from stream.spark.query import Watchdog, failure, kill_jvm, last_report, shrink_heap, stop
from stream.spark.types import SparkSession, StreamingQuery
from stream.tick.publisher import Publisher
from stream.wording import ranges

_log = structlog.get_logger(__name__)
_CATCH_UP_POLL_SECONDS: Final = 0.1
_POLL_SECONDS: Final = 1.0
"""Intervals between polls of the query."""
_BATCH_GRACE_SECONDS: Final = 15.0
"""For the running batch at a stop; with the JVM's grace less than the 30 s that process managers wait."""
_QUERY_STARTS: Final = 4
"""Starts of the query on a machine that is too busy to start Spark's Python processes in time."""

Step = Callable[[], Any]
"""One step of a phase: returns the next step, or the exit code."""


@dataclasses.dataclass(slots=True)
class RunningQuery:
    """The query in its session, and what follows it. The query is replaced if it is started again."""

    spark: SparkSession
    query: StreamingQuery
    watchdog: Watchdog
    resources: ResourcePoller
    view: CatchUpView


@dataclasses.dataclass(slots=True, eq=False)
class QuerySupervisor:
    """Starts and watches the query: open, start, catch up, watch, stop. One per start of the job.

    Each phase is a method that does one step and returns the next step, or the exit code.
    """

    _session: Callable[[], futures.Future[SparkSession]]
    """Returns the session; the first call starts to open it."""
    _start: Callable[[SparkSession], StreamingQuery]
    """Starts the query in the session, when that is open."""
    _state: KeptState
    _watch: TopicWatch
    _ticks: TickThread
    _status: ServiceStatus
    _publisher: Publisher
    _stopping: threading.Event
    _watchdog_limit: float
    _last_report_at: str | None = None
    _offsets_read: int = 0
    _added: set[int] = dataclasses.field(default_factory=set)
    _slow_starts: int = 0
    _is_planned: bool = False
    _closing: contextlib.ExitStack = dataclasses.field(default_factory=contextlib.ExitStack)

    def supervise(self, *, was_read_first: bool = False) -> int:
        """Run the phases until one returns the exit code. Raises Refusal, StateUnusableError, and SparkCallError.

        If the topic `was_read_first`, the ticks publish at once, and the session is opened when there is a snapshot.
        """
        if was_read_first:
            self._status.phase, self._status.query_seen_at = RUNNING, time.time()
            self._ticks.publish()
            self._ticks.start()
            while self._publisher.current() is None and self._ticks.is_alive():
                if self._stopping.wait(_CATCH_UP_POLL_SECONDS):
                    break
        self._closing.callback(self._ticks.join)
        step: Step | int = self.open
        with self._closing:
            while callable(step):
                step = step()
        return step

    def open(self) -> Step | int:
        """Open the session and wait for it. Raises Refusal."""
        session = self._session()
        self._follow_added_partitions()
        if session.done():
            return functools.partial(self.start, session.result())
        if self._stopping.wait(_CATCH_UP_POLL_SECONDS):
            self._status.phase = STOPPING
            return ExitCode.OK
        return self.open

    def start(self, spark: SparkSession) -> Step | int:
        """Start the query and the ticks. Raises SparkCallError."""
        watchdog = Watchdog(spark, self._watchdog_limit, self._status.silence_limit)
        self._closing.callback(watchdog.close)
        query = self._start_query(spark)
        if query is None:
            return self._give_up(spark)
        watchdog.beat()
        running = RunningQuery(spark, query, watchdog, ResourcePoller(spark), CatchUpView(sys.stderr))
        self._ticks.start()
        if self._status.phase == CATCHING_UP:
            return functools.partial(self.catch_up, running)
        running.view.done()
        return functools.partial(self.watch, running)

    def catch_up(self, running: RunningQuery) -> Step | int:
        """Follow the query until the topic is read to the ends that it had at start."""
        if self._stopping.wait(_CATCH_UP_POLL_SECONDS):
            return functools.partial(self.stop, running)
        self._poll(running)
        progress = self._status.progress
        if progress is not None:
            running.view.show(progress.catch_up(time.monotonic()))
        if progress is None or not progress.caught_up:
            return self._ended(running) or functools.partial(self.catch_up, running)
        running.view.done()
        self._status.phase = RUNNING
        self._ticks.publish()
        return self._ended(running) or functools.partial(self.watch, running)

    def watch(self, running: RunningQuery) -> Step | int:
        """Follow the query until something ends it."""
        if self._stopping.wait(_POLL_SECONDS):
            return functools.partial(self.stop, running)
        self._poll(running)
        return self._ended(running) or functools.partial(self.watch, running)

    def stop(self, running: RunningQuery) -> int:
        """Wait for the running batch a limited time.

        A first batch of what the checkpoint keeps already is not waited for: the next start takes it over.
        """
        running.watchdog.close()
        self._ticks.end()
        self._status.phase = STOPPING
        kept = self._state.checkpoint.keeps_first_read
        _log.info("stop requested" if kept else "stop requested; waiting for the running batch")
        if not stop(running.query, 0.0 if kept else _BATCH_GRACE_SECONDS):
            _log.warning("batch did not end in time; it will run again at the next start")
            kill_jvm(running.spark)
        return ExitCode.OK

    def _start_query(self, spark: SparkSession) -> StreamingQuery | None:
        """Start the query; None if the process is to stop before it has started. Raises SparkCallError.

        In a thread: Spark waits without a limit for the process that creates the source, and so would a signal.
        """
        self._is_planned = False
        while True:
            started: futures.Future[StreamingQuery] = futures.Future()
            threading.Thread(target=self._resolve, args=(started, spark), name="start", daemon=True).start()
            while not futures.wait([started], _CATCH_UP_POLL_SECONDS).done:
                self._follow_added_partitions()
                if self._stopping.is_set():
                    return None
            try:
                query = started.result()
            except SparkCallError as error:
                if not self._starts_again(error.failure):
                    raise
            else:
                end_planners(spark, CREATOR)
                return query

    def _resolve(self, started: futures.Future[StreamingQuery], spark: SparkSession) -> None:
        try:
            started.set_result(self._start(spark))
        except BaseException as error:  # noqa: BLE001 -- raised where the query is used
            started.set_exception(error)

    def _give_up(self, spark: SparkSession) -> int:
        """End the JVM, in which a query is being started, as the process is to stop."""
        self._ticks.end()
        self._status.phase = STOPPING
        kill_jvm(spark)
        return ExitCode.OK

    def _ended(self, running: RunningQuery) -> int | None:
        """Return the exit code if the process must end; None while all is well."""
        failed = failure(running.query)
        if failed is not None and self._starts_again(failed):
            query = self._start_query(running.spark)
            if query is None:
                return self._give_up(running.spark)
            running.query = query
        elif failed is not None:
            return end_of_query(failed, self._status, self._state)
        lost = self._state.lost()
        if lost is not None:
            # Spark would create the folders again, and what it writes there could not be continued.
            self._status.phase = FAILED
            _log.error(CHECKPOINT_DELETED, why=lost)
            kill_jvm(running.spark)
            return ExitCode.CHECKPOINT_DAMAGED
        if self._watch.broken is not None:
            # The next start sets the state aside and reads the topic from its start.
            self._publisher.clear()
            _log.error(
                "state does not match the topic; restart to read the topic from its start", why=self._watch.broken
            )
            return self._fail(running, ExitCode.TOPIC_CHANGED)
        if self._status.phase == RUNNING and not self._ticks.is_alive():
            # No snapshot would be published any more; stderr has the traceback of the tick thread.
            _log.error("internal error in the evaluation loop; exiting so that the supervisor restarts the process")
            return self._fail(running, ExitCode.INTERNAL)
        self._follow_added_partitions()
        return None

    def _fail(self, running: RunningQuery, code: ExitCode) -> ExitCode:
        self._status.phase = FAILED
        if not stop(running.query, _BATCH_GRACE_SECONDS):
            kill_jvm(running.spark)
        return code

    def _starts_again(self, failed: SparkFailure) -> bool:
        """Return whether to start the query again, in the same JVM: a Python process of Spark did not start in time."""
        if not is_slow_start(failed) or self._slow_starts == _QUERY_STARTS - 1:
            return False
        self._slow_starts += 1
        _log.warning("query not started in time; starting it again", attempt=self._slow_starts, cause=failed.cause)
        return True

    def _poll(self, running: RunningQuery) -> None:
        """Record the resources, the query's last progress report if it is a new one, and how far its tasks have read.

        The first batches may read millions of records, which takes longer than the watchdog's limit on a slow link.
        """
        status, report = self._status, last_report(running.query, self._last_report_at)
        if used := running.resources.poll(self._state.checkpoint.folder):
            status.heap, status.checkpoint = used
        if status.progress is not None and status.progress.offsets_read > self._offsets_read:
            self._offsets_read = status.progress.offsets_read
            self._beat(running)
        if not self._is_planned and (runs_tasks(running.spark) or (report is not None and report.worked)):
            self._is_planned = True
            end_planners(running.spark, PLANNER)
        if report is None or status.progress is None:
            return
        self._last_report_at = report.at
        self._beat(running)
        status.progress.finish(report.offsets.positions)
        self._watch.read = report.offsets
        self._added -= report.offsets.positions.keys()
        if report.worked:
            self._state.record_batch()
            before = status.query
            status.query = QueryStatus(
                before.batches + 1, before.state_repairs + report.repairs, report.seconds, time.time(), report.progress
            )
            self._slow_starts = 0
            if not before.batches:
                shrink_heap(running.spark)

    def _beat(self, running: RunningQuery) -> None:
        running.watchdog.beat()
        self._status.query_seen_at = time.time()

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
