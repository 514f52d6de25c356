"""The query and what stands around it, once the cluster and its offsets topic are there.

In this order: where the topic begins and ends, the checkpoint, the state kept in it, the query, and, as soon as all is
read that was there at the start, the ticks.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from typing import TYPE_CHECKING, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc
import structlog

from stream import security
from stream.catchup import CatchUpView
from stream.checkpoint import Checkpoint, Ends, open_checkpoint
from stream.cluster.errors import ClusterError
from stream.cluster.offsets_topic import NAME, OffsetsTopic
from stream.cluster.settings import read_topic_config
from stream.cluster.watermarks import read_ends
from stream.cores import usable_cores
from stream.diagnosis import Diagnostician
from stream.diagnosis_options import allowances, limits
from stream.enquiries import Enquiries
from stream.exits import ExitCode
from stream.groups.codec import unpack
from stream.groups.expiry import Retention
from stream.groups.placement import Placement
from stream.groups.reduce import Rules
from stream.groups.tally import Tally
from stream.manifest import Layout
from stream.pipeline import JobOptions, start
from stream.progress import Progress
from stream.pulses import Pulses
from stream.query import Watchdog, failure, kill_jvm, last_report, stop
from stream.refusals import refusal_in
from stream.seed import stored_shards
from stream.spark_errors import SparkCallError, SparkFailure, spark_call
from stream.survey import Survey
from stream.topic_watch import TopicWatch
from stream.verdict_file import VerdictFile
from stream.vitals import CATCHING_UP, FAILED, RUNNING, STARTING, STOPPING

if TYPE_CHECKING:
    from concurrent.futures import Future

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from stream.cluster.client import Cluster
    from stream.config import Config
    from stream.publish import Publisher
    from stream.vitals import Vitals

_log = structlog.get_logger(__name__)
RETRY_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = (0.1, 0.5)
"""How often the query is looked at, while catching up and after: each look has the JVM write a report."""
_BATCH_GRACE_SECONDS: Final = 15.0
"""For the running batch at a stop; with the JVM's grace less than the 30 s that supervisors give a process to end."""
_TICK_GRACE_SECONDS: Final = 3.0
"""For the running tick at a stop, which ends with what must survive being written."""

Logs = dict[int, tuple[int, int, int]]
"""Per offsets partition: log start offset, high watermark, last stable offset."""


def tasks_of(config: Config) -> int:
    """Tell how many tasks read at once: as configured, else one per core of this process."""
    return config.job.read_tasks or usable_cores()


class Job:
    """The query and what stands around it, once the cluster and the topic are there."""

    def __init__(
        self, config: Config, vitals: Vitals, publisher: Publisher, stopping: threading.Event, cluster: Cluster
    ) -> None:
        self._config = config
        self._vitals = vitals
        self._publisher = publisher
        self._stopping = stopping
        self._cluster = cluster
        self._ended = threading.Event()
        self._applied = threading.Event()
        self._tombstone_seconds: float | None = None

    def run(self, topic: OffsetsTopic, session: Future[SparkSession]) -> int:
        """Go on from the checkpoint until the end; give the exit code."""
        self._vitals.phase = STARTING
        logs = self._bounds_at_start(topic)
        if logs is None:
            return ExitCode.OK
        with contextlib.closing(self._checkpoint(topic, logs)) as checkpoint:
            try:
                return self._run_query(topic, session, checkpoint, logs)
            except SparkCallError as error:
                return self._end_of_query(SparkFailure(str(error), error.failure.detail))

    def _run_query(self, topic: OffsetsTopic, session: Future[SparkSession], checkpoint: Checkpoint, logs: Logs) -> int:
        """Restore the state, start the query and follow it. Raises SparkCallError where Spark refuses."""
        starts = checkpoint.positions or {partition: bounds[0] for partition, bounds in logs.items()}
        progress = self._vitals.progress = Progress(starts, {number: stable for number, (_, _, stable) in logs.items()})
        spark = session.result()
        if not checkpoint.fresh:
            with spark_call("read the state kept in the checkpoint"):
                shards = stored_shards(spark, checkpoint.spark)
            self._publisher.seed(shards)
            _log.info("state restored", batches="kept", checkpoint=str(checkpoint.folder))
        self._publisher.judge_by(self._diagnostician(checkpoint))
        self._vitals.phase = CATCHING_UP
        with contextlib.closing(Pulses("127.0.0.1", progress.pulse)) as pulses:
            watch = TopicWatch(checkpoint, self._tombstone_seconds, self._vitals.files)
            with spark_call("start the query"):
                query = start(spark, self._options(topic, checkpoint, pulses), self._on_batch)
            return self._follow(spark, query, progress, watch)

    def _bounds_at_start(self, topic: OffsetsTopic) -> Logs | None:
        """Read where each offsets partition begins and ends now, all of them; None if told to stop before.

        A partition that nobody leads just now must be waited for: without its end, being caught up would mean nothing.
        """
        while not self._stopping.is_set():
            try:
                logs = _bounds(read_ends(self._cluster, [NAME]))
                missing = sorted(set(topic.partitions) - logs.keys())
                trouble = f"offsets partitions without an end: {missing}" if missing else None
            except ClusterError as error:
                trouble = str(error)
            self._vitals.trouble = trouble
            if trouble is None:
                return logs
            _log.warning("waiting for the ends of the offsets topic", cause=trouble)
            self._stopping.wait(RETRY_SECONDS)
        return None

    def _survey(self) -> Survey:
        groups = self._config.groups
        kept, looks = (
            None if seconds is None else int(seconds * 1000)
            for seconds in (groups.offsets_retention, groups.offsets_retention_check)
        )
        source: Literal["configuration", "unknown"] = "unknown" if kept is None else "configuration"
        configured = Retention(kept, looks, source)
        return Survey(self._cluster, configured, groups.asked_per_tick, self._config.job.tick_interval)

    def _diagnostician(self, checkpoint: Checkpoint) -> Diagnostician:
        config, layout = self._config, checkpoint.manifest.layout
        return Diagnostician(
            limits(config, layout.slot_ms),
            rules=config.health.rules,
            points=config.health.end_points,
            history=config.groups.history,
            enquiries=Enquiries(self._cluster, allowances(config, layout.slot_ms, layout.keep_slots)),
            file=VerdictFile(checkpoint.folder, self._vitals.files),
        )

    def _checkpoint(self, topic: OffsetsTopic, logs: Logs) -> Checkpoint:
        job = self._config.job
        wanted = Layout(
            sub_shards=Placement.of(len(topic.partitions), job.shards).sub_shards,
            offsets_partitions=len(topic.partitions),
            shuffle_partitions=tasks_of(self._config),
            slot_ms=job.commit_window_slot_seconds * 1000,
            keep_slots=job.commit_window_slots,
        )
        self._tombstone_seconds = tombstone_seconds(self._cluster)
        ends = Ends(logs, time.time(), self._tombstone_seconds)
        checkpoint = open_checkpoint(self._config.checkpoint.dir, topic, wanted, ends)
        if checkpoint.set_aside:
            self._vitals.resyncs += 1
            _log.warning(
                "reading the topic again from its start; the old checkpoint is kept",
                why=checkpoint.set_aside,
                kept=str(checkpoint.kept),
            )
        return checkpoint

    def _options(self, topic: OffsetsTopic, checkpoint: Checkpoint, pulses: Pulses) -> JobOptions:
        job, layout = self._config.job, checkpoint.manifest.layout
        return JobOptions(
            partitions=topic.partitions,
            security=security.spark_kafka_options(self._config.kafka),
            placement=layout.placement,
            checkpoint=checkpoint.spark,
            tasks=tasks_of(self._config),
            trigger_seconds=job.trigger_interval,
            max_offsets_per_trigger=job.max_offsets_per_trigger,
            slot_ms=layout.slot_ms,
            rules=Rules(
                keep_slots=layout.keep_slots,
                keep_transitions=self._config.groups.history,
                grace_ms=int(self._config.groups.dead_grace * 1000),
            ),
            live_from=checkpoint.manifest.live_from,
            pulse=pulses.address,
        )

    def _on_batch(self, table: pa.Table, _number: int) -> None:
        changes = zip(table.column("shard").to_pylist(), table.column("change"), strict=True)
        self._publisher.apply([(shard, unpack(change.as_py())) for shard, change in changes])
        tally = Tally()
        for texts in table.column("tallies").to_pylist():
            for text in texts or ():
                tally.add(Tally.from_json(text))
        self._vitals.count(tally)
        self._applied.set()

    def _follow(self, spark: SparkSession, query: StreamingQuery, progress: Progress, watch: TopicWatch) -> int:
        """Watch the query until it fails, the topic is not what was read any more, or the process is told to stop."""
        vitals, seen = self._vitals, None
        watchdog = Watchdog(spark, self._config.job.watchdog_limit)
        view = CatchUpView(sys.stderr)
        ticker = threading.Thread(target=self._tick_until_end, args=(watch,), name="tick", daemon=True)
        try:
            while not self._stopping.wait(_LOOK_SECONDS[vitals.phase == RUNNING]):
                report = last_report(query)
                if report is not None and report.at != seen:
                    seen = report.at
                    watchdog.beat()
                    progress.finish(report.positions)
                    if report.worked:
                        vitals.batches += 1
                        vitals.last_batch_seconds, vitals.last_batch_at = report.seconds, time.time()
                if vitals.phase == CATCHING_UP:
                    view.show(progress.catch_up(time.monotonic()))
                    if progress.caught_up:
                        view.done()
                        vitals.phase = RUNNING
                        ticker.start()
                failed = failure(query)
                if failed is not None:
                    return self._end_of_query(failed)
                if watch.broken is not None:
                    return self._end_of_continuity(spark, query, watch.broken)
                if vitals.phase == RUNNING and not ticker.is_alive():
                    return self._end_of_ticks(spark, query)
        finally:
            watchdog.close()
            self._ended.set()
        self._stop(spark, query, ticker)
        return ExitCode.OK

    def _stop(self, spark: SparkSession, query: StreamingQuery, ticker: threading.Thread) -> None:
        """Let the running batch and the running tick end, but not for ever."""
        _log.info("stopping after the running batch")
        self._vitals.phase = STOPPING
        if not stop(query, _BATCH_GRACE_SECONDS):
            _log.warning("the batch did not end in time; it will run again at the next start")
            kill_jvm(spark)
        if ticker.is_alive():
            ticker.join(_TICK_GRACE_SECONDS)

    def _end_of_query(self, failed: SparkFailure) -> int:
        """Say why the query failed. Raises Refusal for what a restart does not mend."""
        self._vitals.phase = FAILED
        refusal = refusal_in(failed.cause)
        if refusal is not None:
            raise refusal
        _log.error("the query failed", cause=failed.cause)
        _log.debug("the error of the query in full", detail=failed.detail)
        return ExitCode.QUERY_FAILED

    def _end_of_continuity(self, spark: SparkSession, query: StreamingQuery, why: str) -> int:
        """Stop serving what is not true any more; the next start sets the state aside and reads the topic anew."""
        self._vitals.phase = FAILED
        self._publisher.clear()
        _log.error("the state does not fit the topic any more; start again to read the topic from its start", why=why)
        if not stop(query, _BATCH_GRACE_SECONDS):
            kill_jvm(spark)
        return ExitCode.READ_ANEW

    def _end_of_ticks(self, spark: SparkSession, query: StreamingQuery) -> int:
        """End, for nothing new would be shown any more; the thread's traceback stands on stderr."""
        self._vitals.phase = FAILED
        _log.error("a tick failed by a fault of lagwarden; nothing new would be shown: start again")
        if not stop(query, _BATCH_GRACE_SECONDS):
            kill_jvm(spark)
        return ExitCode.INTERNAL

    def _tick_until_end(self, watch: TopicWatch) -> None:
        """Publish, at once and then every tick.

        A tick that is due waits for the next batch, if there is one soon: commits are then as fresh as the ends, and a
        busy group's lag is not made larger by what was produced since the last batch.
        """
        job = self._config.job
        due, first = time.monotonic(), True
        survey = self._survey()
        while not self._ended.wait(max(0.0, due - time.monotonic())):
            if not first:
                self._applied.clear()
                self._applied.wait(min(job.trigger_interval, job.tick_interval))
            looked = self._publisher.tick(self._cluster, survey, current=watch.current)
            if looked is not None:
                watch.look(self._cluster, _bounds(looked.ends), looked.positions)
            if looked is not None and first:
                first = False
                _log.info("ready", seconds_from_start=round(time.time() - self._vitals.started_at, 1))
            due = max(due + job.tick_interval, time.monotonic())
        self._publisher.keep()


def tombstone_seconds(cluster: Cluster) -> float | None:
    """Ask how long tombstones stay in the offsets topic; None where the user may not know."""
    kept = read_topic_config(cluster, NAME, ["delete.retention.ms"])["delete.retention.ms"].number()
    return None if kept is None else kept / 1000


def _bounds(ends: pa.Table) -> Logs:
    """Give (log start, high watermark, last stable offset) of each offsets partition that answered."""
    ends = ends.filter(pc.equal(ends.column("topic").cast(pa.string()), NAME))
    columns = (ends.column(n).to_pylist() for n in ("partition", "log_start_offset", "high_watermark"))
    stable = ends.column("last_stable_offset").to_pylist()
    rows = zip(*columns, stable, strict=True)
    return {partition: (first, high, last) for partition, first, high, last in rows if None not in (first, high, last)}
