"""The monitor job: continues the query from the kept state, and starts over from an empty one if that is unusable."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from stream.checkpoint.first_read import FOLDER as FIRST_READ
from stream.checkpoint.topic_watch import TopicWatch
from stream.errors import ExitCode, Refusal
from stream.groups.codec import unpack_change
from stream.groups.decode_stats import DecodeStats
from stream.service.catch_up import CatchUpProgress
from stream.service.catch_up_bar import CatchUpView
from stream.service.first_read.reader import FirstReadError, read_first, result_of
from stream.service.first_read.request import FirstRead
from stream.service.kept_state import StateUnusableError
from stream.service.startup import check_part, open_kept_state, read_tombstone_seconds, wait_for_ends
from stream.service.status import CATCHING_UP, STARTING
from stream.service.supervisor import QuerySupervisor, end_of_query
from stream.service.ticker import Ticker, TickThread
from stream.service.web_access import page_links
from stream.service.wiring import (
    context_poller,
    driver_host,
    lookup_limits,
    pipeline_options,
    progress_address,
    verdict_evaluator,
)
from stream.spark.errors import SparkCallError, SparkFailure, spark_call
from stream.spark.pipeline import start
from stream.spark.task_progress import ProgressReceiver
from stream.tick.lookups.scheduler import LookupScheduler
from stream.tick.verdicts.store import VerdictStore
from stream.webhook.alert_poster import AlertPoster
from stream.webhook.announcer import VerdictAnnouncer
from stream.webhook.notifier import WebhookNotifier

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future

    import pyarrow as pa

    from exporters.http.event_stream.recent_events import RecentEvents
    from stream.checkpoint.directory import CheckpointDirectory, OffsetsTopicEnds
    from stream.cluster.offsets_topic import OffsetsTopic
    from stream.cluster.transport.client import Cluster
    from stream.config.options import Config
    from stream.service.history_files import HistoryFiles
    from stream.service.kept_state import KeptState
    from stream.service.status import ServiceStatus
    from stream.spark.pipeline import PipelineOptions
    from stream.spark.types import SparkSession, StreamingQuery
    from stream.tick.publisher import Publisher

_log = structlog.get_logger(__name__)
_POLL_SECONDS: Final = 0.1


class MonitorJob:
    """Runs the query over the offsets topic, and the ticks next to it. One per process; `run` is called once."""

    def __init__(
        self,
        config: Config,
        status: ServiceStatus,
        publisher: Publisher,
        stopping: threading.Event,
        cluster: Cluster,
        *,
        events: RecentEvents,
        folder: Path | None = None,
        follow: Callable[[], None] = lambda: None,
    ) -> None:
        """Read a long topic first, while the session is opened, if there is a `folder` for temporary files.

        Verdict changes are added to `events`. `follow` is called before each tick.
        """
        self._config = config
        self._folder = folder
        self._status = status
        self._publisher = publisher
        self._stopping = stopping
        self._cluster = cluster
        self._events = events
        self._follow = follow

    def run(self, topic: OffsetsTopic, session: Future[SparkSession]) -> int:
        """Continue from the checkpoint until the query ends; return the exit code. Raises Refusal."""
        self._status.phase, self._status.failure_of = STARTING, self._cluster.failure_of
        part = self._config.job.part
        check_part(part, topic)
        ends = wait_for_ends(self._cluster, topic, self._status, self._stopping, part)
        if ends is None:
            return ExitCode.OK
        ends = dataclasses.replace(ends, tombstone_seconds=read_tombstone_seconds(self._cluster))
        state = open_kept_state(self._config, self._cluster, topic, ends, self._status)
        folder = state.checkpoint.folder
        # The queue of CloudEvents needs a directory: the options refuse it with a checkpoint in an object store.
        queue = folder if isinstance(folder, Path) else None
        webhook = WebhookNotifier.running(self._config.webhook, queue, topic.cluster_id)
        alerts = AlertPoster.running(self._config.webhook, topic.cluster_id, page_links(self._config))
        with contextlib.closing(state), webhook as notifier, alerts as poster:
            used = notifier or poster
            self._status.webhook = None if used is None else used.status
            announcer = VerdictAnnouncer(self._events, topic.cluster_id, notifier, poster)
            history = self._open_history(topic.cluster_id)
            while True:
                try:
                    return self._run_query(session, state, ends, self._ticker(announcer, history))
                except StateUnusableError as error:
                    self._publisher.start_over()
                    self._status.phase = STARTING
                    state.start_over(str(error))

    def _run_query(
        self, session: Future[SparkSession], state: KeptState, ends: OffsetsTopicEnds, ticker: Ticker
    ) -> int:
        """Restore the state, start the query and supervise it. Raises Refusal, and StateUnusableError."""
        config, status = self._config, self._status
        host = driver_host(config.job)
        with contextlib.closing(self._receive_progress(*progress_address(config.job, host))) as receiver:
            address = host, receiver.port, receiver.token
            try:
                options = pipeline_options(config, state.checkpoint, ends.log_starts, address)
                first = self._first_read(options, ends, state.checkpoint, session)
                if first is None:
                    self._restore(session, state, ends)
                if self._stopping.is_set():
                    return ExitCode.OK
                checkpoint = state.checkpoint
                options = pipeline_options(config, checkpoint, ends.log_starts, address)
                if first is not None:
                    reading = dataclasses.replace(options.reading, starts=first.reading.starts, folded=first.folded)
                    options = dataclasses.replace(options, reading=reading)
                on_batch = functools.partial(self._on_batch, ticker, first)

                def start_query(spark: SparkSession) -> StreamingQuery:
                    with spark_call("start the query"):
                        return start(spark, options, on_batch)

                self._configure_evaluation(checkpoint)
                status.phase = CATCHING_UP
                read = ends.logs.keys() | checkpoint.positions.keys()
                watch = TopicWatch(checkpoint, ends.tombstone_seconds, read, status.files, config.job.part)
                supervisor = QuerySupervisor(
                    session,
                    start_query,
                    state,
                    watch,
                    TickThread(functools.partial(ticker.run, watch)),
                    status=status,
                    publisher=self._publisher,
                    stopping=self._stopping,
                    watchdog_limit=config.job.watchdog_limit,
                )
                was_read_first = first is not None and status.progress is not None and status.progress.caught_up
                return supervisor.supervise(was_read_first=was_read_first)
            except SparkCallError as error:
                return end_of_query(SparkFailure(str(error), error.failure.detail), status, state)

    def _first_read(
        self,
        job: PipelineOptions,
        ends: OffsetsTopicEnds,
        checkpoint: CheckpointDirectory,
        session: Future[SparkSession],
    ) -> FirstRead | None:
        """Return the first read of this process, or of an earlier one whose batch has not ended; None: there is none.

        It is applied to the driver state.
        """
        if checkpoint.first_read is not None and self._folder is not None:
            return self._take_over(job, ends, checkpoint)
        if not self._may_read_first(checkpoint):
            return None
        self._status.progress = CatchUpProgress(ends.log_starts, ends.last_stable)
        return self._read_first(job, ends, checkpoint, session)

    def _restore(self, session: Future[SparkSession], state: KeptState, ends: OffsetsTopicEnds) -> None:
        """Seed the driver state from the state store, when the session is open; not if stopped before."""
        while not session.done():
            if self._stopping.wait(_POLL_SECONDS):  # executors may never come
                return
        if not self._stopping.is_set():
            self._publisher.seed(state.load(session.result()))
            positions = state.checkpoint.positions or ends.log_starts
            self._status.progress = CatchUpProgress(positions, ends.last_stable)

    def _may_read_first(self, checkpoint: CheckpointDirectory) -> bool:
        """Return whether a fresh checkpoint, without a batch whose ends are fixed, is read on this machine.

        Executors on other machines read it themselves: what this machine would read is not on theirs.
        """
        is_local = not self._config.job.master_url.is_on_other_machines
        return self._folder is not None and is_local and checkpoint.fresh and not checkpoint.planned

    def _first_folder(self, checkpoint: CheckpointDirectory) -> Path:
        """Return where a first read is kept: in the checkpoint if that is a directory, else until this process ends."""
        assert self._folder is not None  # noqa: S101 -- see `_may_read_first`
        folder = checkpoint.folder if isinstance(checkpoint.folder, Path) else self._folder
        return folder.absolute() / FIRST_READ  # executors have another working folder

    def _take_over(
        self, job: PipelineOptions, ends: OffsetsTopicEnds, checkpoint: CheckpointDirectory
    ) -> FirstRead | None:
        """Apply the first read of an earlier process to the driver state, and return it; None if it is damaged."""
        assert checkpoint.first_read is not None  # noqa: S101 -- what the caller has checked
        first = FirstRead.of_kept(job, checkpoint.first_read, self._first_folder(checkpoint))
        try:
            read = result_of(first)
        except FirstReadError as error:
            _log.warning("first read of an earlier start not usable; the query reads the topic", cause=str(error))
            return None
        _log.info("first read of an earlier start taken over")
        self._status.progress = CatchUpProgress(first.ends, ends.last_stable)
        self._publisher.apply(read.changes, catching_up=True)
        return first

    def _read_first(
        self,
        job: PipelineOptions,
        ends: OffsetsTopicEnds,
        checkpoint: CheckpointDirectory,
        session: Future[SparkSession],
    ) -> FirstRead | None:
        """Read a long topic and apply it to the driver state, while the session is opened; None if it was not."""
        status, progress = self._status, self._status.progress
        first = FirstRead.plan(job, ends.last_stable, ends.epochs, self._first_folder(checkpoint))
        if first is None or progress is None:
            return None
        status.phase = CATCHING_UP
        view = CatchUpView(sys.stderr)

        def stopped() -> bool:
            view.show(progress.catch_up(time.monotonic()))
            if session.done():
                session.result()  # without Java, reading is pointless
            return self._stopping.wait(_POLL_SECONDS)

        try:
            read = read_first(first, stopped)
        finally:
            view.done()
        if read is None:
            status.phase = STARTING
            return None
        self._publisher.apply(read.changes, catching_up=True)
        status.count(read.stats)
        progress.finish(first.ends)
        return first

    def _open_history(self, cluster_id: str) -> HistoryFiles | None:
        if self._config.history.dir is None:
            return None
        # The writer of Parquet takes memory.
        from stream.service.history_files import HistoryFiles  # noqa: PLC0415

        return HistoryFiles(self._config.history.dir, cluster_id, self._status.files)

    def _ticker(self, announcer: VerdictAnnouncer, history: HistoryFiles | None) -> Ticker:
        job = self._config.job
        return Ticker(
            self._publisher,
            self._status,
            self._cluster,
            context_poller(self._config, self._cluster),
            tick_interval=job.tick_interval,
            trigger_interval=job.trigger_interval,
            announcer=announcer,
            history=history,
            follow=self._follow,
        )

    def _configure_evaluation(self, checkpoint: CheckpointDirectory) -> None:
        """Make the publisher continue from the verdict file of this checkpoint."""
        layout = checkpoint.manifest.layout
        store = VerdictStore(checkpoint.folder, self._status.files)
        limits = lookup_limits(self._config, layout.slot_ms, layout.keep_slots)
        lookups = LookupScheduler(self._cluster, limits, part=self._config.job.part)
        self._publisher.evaluate_with(verdict_evaluator(self._config, layout.slot_ms, store), lookups)

    def _receive_progress(self, host: str, port: int) -> ProgressReceiver:
        """Return the receiver of the progress of tasks. Raises Refusal if it cannot listen."""
        try:
            return ProgressReceiver(host, port, self._record_task_progress)
        except OSError as error:
            raise Refusal(
                f"cannot listen on {host} UDP port {port} for the progress of tasks: {error.strerror or error}",
                "correct job.driver_bind_address, job.driver_host or job.driver_port",
                ExitCode.SPARK_UNAVAILABLE,
            ) from error

    def _record_task_progress(self, positions: Mapping[int, int]) -> None:
        if self._status.progress is not None:
            self._status.progress.record_task_progress(positions)

    def _on_batch(self, ticker: Ticker, first: FirstRead | None, table: pa.Table, number: int) -> None:
        changes = zip(table.column("shard").to_pylist(), table.column("change"), strict=True)
        catching_up = self._status.phase == CATCHING_UP
        self._publisher.apply(
            [(shard, unpack_change(change.as_py())) for shard, change in changes], catching_up=catching_up
        )
        if first is None or number > 0:
            self._status.count(_stats_of(table))
        # The statistics of a first read were counted when it was read.
        ticker.record_batch()


def _stats_of(table: pa.Table) -> DecodeStats:
    """Return the decode statistics of the tasks of a batch."""
    stats = DecodeStats()
    for texts in table.column("tallies").to_pylist():
        for text in texts or ():
            stats.add(DecodeStats.from_json(text))
    return stats
