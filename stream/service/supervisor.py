"""The running query, followed until it ends, the state or the topic is not what was read any more, or it is to stop."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Final

import structlog

from stream.cluster.offsets_topic import NAME
from stream.errors import ExitCode
from stream.service.catch_up import CatchUpProgress
from stream.service.catch_up_bar import CatchUpView
from stream.service.query_errors import refusal_in
from stream.service.status import CATCHING_UP, FAILED, RUNNING, STOPPING
from stream.spark.query import Watchdog, failure, kill_jvm, last_report, stop

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from stream.checkpoint.topic_watch import TopicWatch
    from stream.service.kept_state import KeptState
    from stream.service.status import ServiceStatus
    from stream.spark.errors import SparkFailure
    from stream.spark.types import SparkSession, StreamingQuery
    from stream.tick.publisher import Publisher

_log = structlog.get_logger(__name__)
_LOOK_SECONDS: Final = (0.1, 0.5)
"""How often the query is looked at, while catching up and after: each look has the JVM write a report."""
_BATCH_GRACE_SECONDS: Final = 15.0
"""For the running batch at a stop; with the JVM's grace less than the 30 s that supervisors give a process to end."""
_TICK_GRACE_SECONDS: Final = 3.0
"""For the running tick at a stop, which ends with what must survive being written."""

_LOST: Final = "the checkpoint was deleted while it was in use; start again to read the topic from its start"


class QuerySupervisor:
    """One per start of the job; `follow` is called once."""

    def __init__(
        self,
        spark: SparkSession,
        start: Callable[[Collection[int]], StreamingQuery],
        state: KeptState,
        watch: TopicWatch,
        *,
        vitals: ServiceStatus,
        publisher: Publisher,
    ) -> None:
        """Take the function that starts the query over some partitions of the offsets topic."""
        self._spark = spark
        self._start = start
        self._state = state
        self._watch = watch
        self._vitals = vitals
        self._publisher = publisher
        self._seen: str | None = None
        self._added: set[int] = set()

    def follow(
        self,
        partitions: Collection[int],
        stopping: threading.Event,
        watchdog_limit: float,
        ticks: Callable[[threading.Event, threading.Event], None],
    ) -> int:
        """Start the query, watch it until something ends it, and return the exit code.

        `ticks` publishes in a thread of its own, from the first event (the topic is read to its end) to the second.
        Raises Refusal, StateUnusableError, and SparkCallError.
        """
        vitals, caught_up, ended = self._vitals, threading.Event(), threading.Event()
        self._partitions = set(partitions)
        self._query = self._start(partitions)
        watchdog = Watchdog(self._spark, watchdog_limit)
        view = CatchUpView(sys.stderr)
        ticker = threading.Thread(target=ticks, args=(caught_up, ended), name="tick", daemon=True)
        ticker.start()
        try:
            while not stopping.wait(_LOOK_SECONDS[vitals.phase == RUNNING]):
                self._look(watchdog)
                if vitals.phase == CATCHING_UP and self._caught_up(view):
                    vitals.phase = RUNNING
                    caught_up.set()
                failed = failure(self._query)
                if failed is not None:
                    return end_of_query(failed, vitals, self._state)
                lost = self._state.lost()
                if lost is not None:
                    return self._end_of_checkpoint(lost)
                if self._watch.broken is not None:
                    return self._end_of_continuity(self._watch.broken)
                if vitals.phase == RUNNING and not ticker.is_alive():
                    return self._end_of_ticks()
                if not self._read_added():
                    return self._end_of_added()
        finally:
            watchdog.close()
            ended.set()
            if not caught_up.is_set():
                caught_up.set()
                ticker.join(_TICK_GRACE_SECONDS)
        self._stop(ticker)
        return ExitCode.OK

    def _look(self, watchdog: Watchdog) -> None:
        """Note what the last progress report tells, if it is another than the last."""
        vitals, report = self._vitals, last_report(self._query)
        if report is None or report.at == self._seen or vitals.progress is None:
            return
        self._seen = report.at
        watchdog.beat()
        vitals.progress.finish(report.positions)
        self._added -= report.positions.keys()
        if report.worked:
            self._state.note_batch()
            vitals.batches += 1
            vitals.last_batch_seconds, vitals.last_batch_at = report.seconds, time.time()

    def _caught_up(self, view: CatchUpView) -> bool:
        progress = self._vitals.progress
        if progress is None:
            return False
        view.show(progress.catch_up(time.monotonic()))
        if progress.caught_up:
            view.done()
        return progress.caught_up

    def _read_added(self) -> bool:
        """Have partitions that were added to the topic read too, once their ends are known; False if that failed.

        Spark fixes the partitions of a query when it starts, so the query is stopped between two batches and started
        again from the checkpoint. What is shown stays; `/readyz` is red until the new partitions are read.
        """
        vitals, progress, logs = self._vitals, self._vitals.progress, self._watch.added_logs
        if self._watch.added:
            vitals.partitions_added = self._watch.added
        elif progress is not None and progress.caught_up and not self._added:
            vitals.partitions_added = ()
        if not logs or progress is None or vitals.phase != RUNNING:
            return True
        _log.warning(f"partitions were added to {NAME}: reading them from their start", partitions=sorted(logs))
        if not stop(self._query, _BATCH_GRACE_SECONDS):
            return False
        before = progress.positions
        starts = {**{partition: first for partition, (first, _, _) in logs.items()}, **before}
        ends = {**before, **{partition: stable for partition, (_, _, stable) in logs.items()}}
        vitals.progress = CatchUpProgress(starts, ends)
        self._partitions |= logs.keys()
        self._added = set(logs)
        self._query = self._start(sorted(self._partitions))
        self._watch.read_also(logs.keys())
        return True

    def _stop(self, ticker: threading.Thread) -> None:
        """Let the running batch and the running tick end, but not for ever."""
        _log.info("stopping after the running batch")
        self._vitals.phase = STOPPING
        if not stop(self._query, _BATCH_GRACE_SECONDS):
            _log.warning("the batch did not end in time; it will run again at the next start")
            kill_jvm(self._spark)
        if ticker.is_alive():
            ticker.join(_TICK_GRACE_SECONDS)

    def _end_of_checkpoint(self, why: str) -> int:
        """End at once: Spark would make the folders again, and what it writes there could not be continued."""
        self._vitals.phase = FAILED
        _log.error(_LOST, why=why)
        kill_jvm(self._spark)
        return ExitCode.CHECKPOINT_DAMAGED

    def _end_of_added(self) -> int:
        """End, for the query could not be stopped; started again, it reads all partitions."""
        self._vitals.phase = FAILED
        _log.error("the query did not stop to read the added partitions: start again")
        kill_jvm(self._spark)
        return ExitCode.QUERY_FAILED

    def _end_of_continuity(self, why: str) -> int:
        """Stop serving what is not true any more; the next start sets the state aside and reads the topic anew."""
        self._vitals.phase = FAILED
        self._publisher.clear()
        _log.error("the state does not fit the topic any more; start again to read the topic from its start", why=why)
        if not stop(self._query, _BATCH_GRACE_SECONDS):
            kill_jvm(self._spark)
        return ExitCode.TOPIC_CHANGED

    def _end_of_ticks(self) -> int:
        """End, for nothing new would be shown any more; the thread's traceback stands on stderr."""
        self._vitals.phase = FAILED
        _log.error("a tick failed by a fault of lagwarden; nothing new would be shown: start again")
        if not stop(self._query, _BATCH_GRACE_SECONDS):
            kill_jvm(self._spark)
        return ExitCode.INTERNAL


def end_of_query(failed: SparkFailure, vitals: ServiceStatus, state: KeptState) -> int:
    """Say why the query failed. Raises Refusal for what a restart does not mend, and StateUnusableError."""
    shown, vitals.phase = vitals.phase == RUNNING, FAILED
    refusal = refusal_in(failed.cause) or refusal_in(failed.detail)
    lost = state.lost()
    if lost is not None:
        _log.error(_LOST, why=lost, cause=failed.cause)
        return ExitCode.CHECKPOINT_DAMAGED
    if refusal is not None:
        raise refusal
    of_the_state = state.note_failure(failed, shown=shown)
    _log.error("the query failed", cause=failed.cause)
    _log.debug("the error of the query in full", detail=failed.detail)
    return ExitCode.CHECKPOINT_DAMAGED if of_the_state else ExitCode.QUERY_FAILED
