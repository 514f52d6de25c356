"""The query and what stands around it, once the cluster and its offsets topic are there.

In this order: where the topic begins and ends, the checkpoint, the state kept in it, the query, and, as soon as all is
read that was there at the start, the ticks.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import structlog

from stream.checkpoint.directory import OffsetsTopicEnds, open_checkpoint
from stream.checkpoint.manifest import Layout
from stream.checkpoint.topic_watch import TopicWatch
from stream.cluster.configs import read_topic_config
from stream.cluster.offsets_topic import NAME, OffsetsTopic
from stream.cluster.partition_offsets import read_ends
from stream.cluster.transport.errors import ClusterError
from stream.config import kafka_login as security
from stream.errors import ExitCode
from stream.groups.codec import unpack_change
from stream.groups.decode_stats import DecodeStats
from stream.groups.expiry.predict import OffsetsRetention
from stream.groups.placement import Placement
from stream.groups.reduce import StateLimits
from stream.service.catch_up import CatchUpProgress
from stream.service.cpu_quota import usable_cores
from stream.service.kept_state import KeptState, StateUnusableError
from stream.service.status import CATCHING_UP, STARTING
from stream.service.supervisor import QuerySupervisor, end_of_query
from stream.service.wiring import allowances, limits
from stream.spark.errors import SparkCallError, SparkFailure, spark_call
from stream.spark.pipeline import PipelineOptions, start
from stream.spark.task_progress import Pulses
from stream.tick.context_poller import ContextPoller
from stream.tick.ends_index import EndsIndex
from stream.tick.lookups.scheduler import LookupScheduler
from stream.tick.verdicts.evaluate import VerdictEvaluator
from stream.tick.verdicts.store import VerdictStore

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from concurrent.futures import Future

    import pyarrow as pa

    from stream.checkpoint.directory import CheckpointDirectory
    from stream.cluster.transport.client import Cluster
    from stream.config.options import Config
    from stream.service.status import ServiceStatus
    from stream.spark.types import SparkSession, StreamingQuery
    from stream.tick.publisher import Publisher

_log = structlog.get_logger(__name__)
RETRY_SECONDS: Final = 2.0
Logs = dict[int, tuple[int, int, int]]
"""Per offsets partition: log start offset, high watermark, last stable offset."""


def tasks_of(config: Config) -> int:
    """Tell how many tasks read at once: as configured, else one per core of this process."""
    return config.job.read_tasks or usable_cores()


class MonitorJob:
    """The query and what stands around it, once the cluster and the topic are there."""

    def __init__(
        self, config: Config, vitals: ServiceStatus, publisher: Publisher, stopping: threading.Event, cluster: Cluster
    ) -> None:
        self._config = config
        self._vitals = vitals
        self._publisher = publisher
        self._stopping = stopping
        self._cluster = cluster
        self._applied = threading.Event()
        self._tombstone_seconds: float | None = None

    def run(self, topic: OffsetsTopic, session: Future[SparkSession]) -> int:
        """Go on from the checkpoint until the end; give the exit code."""
        self._vitals.phase = STARTING
        logs = self._bounds_at_start(topic)
        if logs is None:
            return ExitCode.OK
        with contextlib.closing(self._kept_state(topic, logs)) as state:
            while True:
                try:
                    return self._run_query(topic, session.result(), state, logs)
                except StateUnusableError as error:
                    self._publisher.start_over()
                    self._vitals.phase = STARTING
                    state.start_over(str(error))

    def _run_query(self, topic: OffsetsTopic, spark: SparkSession, state: KeptState, logs: Logs) -> int:
        """Restore the state, start the query and follow it. Raises Refusal, and StateUnusableError."""
        with contextlib.closing(Pulses("127.0.0.1", self._pulse)) as pulses:

            def start_query(partitions: Collection[int]) -> StreamingQuery:
                with spark_call("start the query"):
                    return start(spark, self._options(sorted(partitions), state.checkpoint, pulses), self._on_batch)

            try:
                self._publisher.seed(state.load(spark))
                checkpoint = state.checkpoint
                starts = checkpoint.positions or {partition: first for partition, (first, _, _) in logs.items()}
                self._vitals.progress = CatchUpProgress(
                    starts, {number: stable for number, (_, _, stable) in logs.items()}
                )
                self._publisher.judge_by(self._diagnostician(checkpoint))
                self._vitals.phase = CATCHING_UP
                watch = TopicWatch(checkpoint, self._tombstone_seconds, topic.partitions, self._vitals.files)
                query = QuerySupervisor(
                    spark, start_query, state, watch, vitals=self._vitals, publisher=self._publisher
                )
                ticks = functools.partial(self._tick_until, watch)
                return query.follow(topic.partitions, self._stopping, self._config.job.watchdog_limit, ticks)
            except SparkCallError as error:
                return end_of_query(SparkFailure(str(error), error.failure.detail), self._vitals, state)

    def _pulse(self, positions: Mapping[int, int]) -> None:
        if self._vitals.progress is not None:
            self._vitals.progress.pulse(positions)

    def _bounds_at_start(self, topic: OffsetsTopic) -> Logs | None:
        """Read where each offsets partition begins and ends now, all of them; None if told to stop before.

        A partition that nobody leads just now must be waited for: without its end, being caught up would mean nothing.
        """
        while not self._stopping.is_set():
            try:
                logs = bounds(EndsIndex(read_ends(self._cluster, [NAME])))
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

    def _survey(self) -> ContextPoller:
        groups = self._config.groups
        kept, looks = (
            None if seconds is None else int(seconds * 1000)
            for seconds in (groups.offsets_retention, groups.offsets_retention_check)
        )
        source: Literal["configuration", "unknown"] = "unknown" if kept is None else "configuration"
        configured = OffsetsRetention(kept, looks, source)
        return ContextPoller(self._cluster, configured, groups.asked_per_tick, self._config.job.tick_interval)

    def _diagnostician(self, checkpoint: CheckpointDirectory) -> VerdictEvaluator:
        config, layout = self._config, checkpoint.manifest.layout
        return VerdictEvaluator(
            limits(config, layout.slot_ms),
            rules=config.health.rules,
            points=config.health.end_points,
            history=config.groups.history,
            enquiries=LookupScheduler(self._cluster, allowances(config, layout.slot_ms, layout.keep_slots)),
            file=VerdictStore(checkpoint.folder, self._vitals.files),
        )

    def _kept_state(self, topic: OffsetsTopic, logs: Logs) -> KeptState:
        job = self._config.job
        wanted = Layout(
            sub_shards=Placement.build(len(topic.partitions), job.shards).sub_shards,
            offsets_partitions=len(topic.partitions),
            shuffle_partitions=tasks_of(self._config),
            slot_ms=job.commit_window_slot_seconds * 1000,
            keep_slots=job.commit_window_slots,
        )
        self._tombstone_seconds = tombstone_seconds(self._cluster)
        ends = OffsetsTopicEnds(logs, time.time(), self._tombstone_seconds)
        checkpoint = open_checkpoint(self._config.checkpoint.dir, topic, wanted, ends)
        return KeptState(checkpoint, self._cluster, self._vitals, {each: first for each, (first, _, _) in logs.items()})

    def _options(self, partitions: Sequence[int], checkpoint: CheckpointDirectory, pulses: Pulses) -> PipelineOptions:
        job, layout = self._config.job, checkpoint.manifest.layout
        return PipelineOptions(
            partitions=partitions,
            security=security.spark_kafka_options(self._config.kafka),
            placement=layout.placement,
            checkpoint=checkpoint.spark,
            tasks=tasks_of(self._config),
            trigger_seconds=job.trigger_interval,
            max_offsets_per_trigger=job.max_offsets_per_trigger,
            slot_ms=layout.slot_ms,
            rules=StateLimits(
                keep_slots=layout.keep_slots,
                keep_transitions=self._config.groups.history,
                dead_grace_ms=int(self._config.groups.dead_grace * 1000),
            ),
            live_from=checkpoint.manifest.live_from,
            pulse=pulses.address,
        )

    def _on_batch(self, table: pa.Table, _number: int) -> None:
        changes = zip(table.column("shard").to_pylist(), table.column("change"), strict=True)
        self._publisher.apply([(shard, unpack_change(change.as_py())) for shard, change in changes])
        tally = DecodeStats()
        for texts in table.column("tallies").to_pylist():
            for text in texts or ():
                tally.add(DecodeStats.from_json(text))
        self._vitals.count(tally)
        self._applied.set()

    def _tick_until(self, watch: TopicWatch, caught_up: threading.Event, ended: threading.Event) -> None:
        """Publish, once the catch-up is over and then every tick. Before, say what the catch-up waits for.

        A tick that is due waits for the next batch, if there is one soon: commits are then as fresh as the ends, and a
        busy group's lag is not made larger by what was produced since the last batch.
        """
        job = self._config.job
        while not caught_up.wait(job.tick_interval):
            self._publisher.look_at_the_offsets_topic(self._cluster)
        due, first = time.monotonic(), True
        survey = self._survey()
        while not ended.wait(max(0.0, due - time.monotonic())):
            if not first:
                self._applied.clear()
                self._applied.wait(min(job.trigger_interval, job.tick_interval))
            looked = self._publisher.tick(self._cluster, survey, current=watch.current)
            if looked is not None:
                watch.look(self._cluster, bounds(looked.ends), looked.positions)
            if looked is not None and first:
                first = False
                _log.info("ready", seconds_from_start=round(time.time() - self._vitals.started_at, 1))
            due = max(due + job.tick_interval, time.monotonic())
        self._publisher.keep()


def tombstone_seconds(cluster: Cluster) -> float | None:
    """Ask how long tombstones stay in the offsets topic; None where the user may not know."""
    kept = read_topic_config(cluster, NAME, ["delete.retention.ms"])["delete.retention.ms"].number()
    return None if kept is None else kept / 1000


def bounds(ends: EndsIndex) -> Logs:
    """Return (log start, high watermark, last stable offset) of each offsets partition whose ends are all known."""
    rows = ends.rows_of_topic(NAME)
    columns = (ends.log_start_offset[rows], ends.high_watermark[rows], ends.last_stable_offset[rows])
    known = np.logical_and.reduce([column >= 0 for column in columns])
    offsets = zip(*(column[known].tolist() for column in columns), strict=True)
    return dict(zip(ends.partitions(rows[known]).tolist(), offsets, strict=True))
