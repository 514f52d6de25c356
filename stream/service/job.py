"""The monitor job: continues the query from the kept state, and starts over from an empty one if that is unusable."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path

import pyarrow as pa
import structlog

from exporters.http.event_stream.response import RecentEvents
from stream.checkpoint.continuity import OffsetsTopicEnds
from stream.checkpoint.directory import CheckpointDirectory, open_checkpoint
from stream.checkpoint.topic_watch import TopicWatch
from stream.cluster.offsets_topic import OffsetsTopic
from stream.cluster.transport.client import Cluster
from stream.config.options import Config
from stream.errors import ExitCode, Refusal
from stream.groups.codec import unpack_change
from stream.groups.decode_stats import DecodeStats
from stream.service import wiring
from stream.service.driver_seed import DriverSeed
from stream.service.early_jvm import EarlyJvm
from stream.service.kept_state import KeptState, StateUnusableError, end_of_query
from stream.service.startup import check_part, read_tombstone_seconds, wait_for_ends
from stream.service.status import CATCHING_UP, STARTING, ServiceStatus
from stream.service.supervisor import QuerySupervisor
from stream.service.ticker import HistoryFiles, Ticker, TickThread
from stream.spark.errors import SparkCallError, SparkFailure, spark_call
from stream.spark.pipeline import start
from stream.spark.task_progress import ProgressReceiver
from stream.spark.types import SparkSession, StreamingQuery
from stream.tick.lookups.scheduler import LookupScheduler
from stream.tick.publisher import Publisher
from stream.tick.verdicts.store import VerdictStore
from stream.webhook.alert_poster import AlertPoster
from stream.webhook.announcer import VerdictAnnouncer
from stream.webhook.sender import WebhookSender

_log = structlog.get_logger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class MonitorJob:
    """Runs the query over the offsets topic, and the ticks next to it. One per process; `run` is called once."""

    config: Config
    status: ServiceStatus
    publisher: Publisher
    jvm: EarlyJvm
    cluster: Cluster
    _: dataclasses.KW_ONLY
    events: RecentEvents
    """Verdict changes are added to these."""
    follow: Callable[[], None] = lambda: None
    """Called before each tick."""

    def run(self, topic: OffsetsTopic, session: Callable[[], Future[SparkSession]]) -> int:
        """Continue from the checkpoint until the query ends; return the exit code. Raises Refusal.

        The first call of `session` starts to open it.
        """
        self.status.phase, self.status.failure_of = STARTING, self.cluster.failure_of
        part = self.config.job.part
        check_part(part, topic)
        ends = wait_for_ends(self.cluster, topic, self.status, self.jvm.stopping, part)
        if ends is None:
            return ExitCode.OK
        ends = dataclasses.replace(ends, tombstone_seconds=read_tombstone_seconds(self.cluster))
        layout = wiring.checkpoint_layout(self.config, len(topic.partitions))
        checkpoint = open_checkpoint(wiring.checkpoint_root(self.config), topic, layout, ends, part)
        state, folder = KeptState(checkpoint, self.cluster, self.status, ends.log_starts), checkpoint.folder
        # The queue of CloudEvents needs a directory: the options refuse it with a checkpoint in an object store.
        queue = folder if isinstance(folder, Path) else None
        webhook = WebhookSender.running(self.config.webhook, queue)
        alerts = AlertPoster.running(self.config.webhook, topic.cluster_id, wiring.page_links(self.config))
        with contextlib.closing(state), webhook as sender, alerts as poster:
            used = sender or poster
            self.status.webhook = None if used is None else used.status
            announcer = VerdictAnnouncer(self.events, topic.cluster_id, sender, poster)
            written = self.config.history.dir
            history = None if written is None else HistoryFiles(written, topic.cluster_id, self.status.files)
            while True:
                try:
                    return self._run_query(session, state, ends, self._ticker(announcer, history))
                except StateUnusableError as error:
                    self.publisher.start_over()
                    self.status.phase = STARTING
                    state.start_over(str(error))

    def _run_query(
        self, session: Callable[[], Future[SparkSession]], state: KeptState, ends: OffsetsTopicEnds, ticker: Ticker
    ) -> int:
        """Restore the state, start the query and supervise it. Raises Refusal, and StateUnusableError."""
        config, status = self.config, self.status
        host = wiring.driver_host(config.job)
        with contextlib.closing(self._receive_progress(*wiring.progress_address(config.job, host))) as receiver:
            address = host, receiver.port, receiver.token
            try:
                options = wiring.pipeline_options(config, state.checkpoint, ends.log_starts, address)
                first = DriverSeed(config, status, self.publisher, self.jvm, options, ends, state, session).fill()
                if self.jvm.stopping.is_set():
                    return ExitCode.OK
                checkpoint = state.checkpoint
                options = wiring.pipeline_options(config, checkpoint, ends.log_starts, address)
                if first is not None:
                    reading = dataclasses.replace(options.reading, starts=first.reading.starts, folded=first.folded)
                    options = dataclasses.replace(options, reading=reading)
                on_batch = functools.partial(self._on_batch, ticker)

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
                    status,
                    self.publisher,
                    self.jvm.stopping,
                    config.job.watchdog_limit,
                )
                was_read_first = first is not None and status.progress is not None and status.progress.caught_up
                return supervisor.supervise(was_read_first=was_read_first)
            except SparkCallError as error:
                return end_of_query(SparkFailure(str(error), error.failure.detail), status, state)

    def _ticker(self, announcer: VerdictAnnouncer, history: HistoryFiles | None) -> Ticker:
        job = self.config.job
        return Ticker(
            self.publisher,
            self.status,
            self.cluster,
            wiring.context_poller(self.config, self.cluster),
            tick_interval=job.tick_interval,
            trigger_interval=job.trigger_interval,
            announcer=announcer,
            history=history,
            follow=self.follow,
        )

    def _configure_evaluation(self, checkpoint: CheckpointDirectory) -> None:
        """Make the publisher continue from the verdict file of this checkpoint."""
        layout = checkpoint.manifest.layout
        store = VerdictStore(checkpoint.folder, self.status.files)
        limits = wiring.lookup_limits(self.config, layout.slot_ms, layout.keep_slots)
        lookups = LookupScheduler(self.cluster, limits, part=self.config.job.part)
        self.publisher.evaluate_with(wiring.verdict_evaluator(self.config, layout.slot_ms, store), lookups)

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
        if self.status.progress is not None:
            self.status.progress.record_task_progress(positions)

    def _on_batch(self, ticker: Ticker, table: pa.Table, _: int) -> None:
        changes = zip(table.column("shard").to_pylist(), table.column("change"), strict=True)
        read = [(shard, unpack_change(change.as_py())) for shard, change in changes]
        self.publisher.apply(read, catching_up=self.status.phase == CATCHING_UP)
        for texts in table.column("tallies").to_pylist():
            for text in texts or ():
                self.status.count(DecodeStats.from_json(text))
        ticker.record_batch()
