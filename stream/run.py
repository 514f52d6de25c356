"""`lagwarden run`: the parts in the order in which they start, follow each other and stop.

HTTP first, so that health can be asked from the first second; the JVM boots while the cluster is reached; then the
checkpoint, the state kept in it, the query, and the ticks. A stop runs the other way round.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from concurrent.futures import Future
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyspark
import structlog

from exporters.server import AddressUnavailableError, Server
from stream import security
from stream.catchup import CatchUpView
from stream.checkpoint import Checkpoint, Layout, open_checkpoint
from stream.class_archive import ClassArchive
from stream.cluster.client import Cluster
from stream.cluster.errors import ClusterError
from stream.cluster.offsets_topic import NAME, OffsetsTopic, describe
from stream.cluster.watermarks import read_ends
from stream.exits import ExitCode, Refusal
from stream.groups.codec import unpack
from stream.groups.placement import Placement
from stream.groups.tally import Tally
from stream.pipeline import JobOptions, start
from stream.progress import Progress
from stream.publish import Publisher
from stream.pulses import Pulses
from stream.query import Watchdog, failure, kill_jvm, last_report, stop
from stream.seed import stored_shards
from stream.session import SessionOptions, end_session, open_session
from stream.vitals import CATCHING_UP, FAILED, RUNNING, STARTING, STOPPING, WAITING, Vitals

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from stream.config import Config

_log = structlog.get_logger(__name__)
_RETRY_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 0.1
_BATCH_GRACE_SECONDS: Final = 15.0
_JVM_GRACE_SECONDS: Final = 12.0
"""Together less than the 30 s that supervisors give a process to end."""


def run(config: Config) -> int:
    """Run the monitor until SIGTERM or SIGINT; give the exit code. Raises Refusal for what a person must mend."""
    vitals = Vitals(metadata.version("lagwarden"), config.job.freshness_limit)
    publisher = Publisher(vitals)
    stopping = _stop_signals()
    with _serving(config, publisher, vitals):
        options = _session_options(config)
        session = _opening(options)
        try:
            with Cluster(
                config.kafka.bootstrap_servers,
                security.client_options(config.kafka),
                request_timeout=config.kafka.request_timeout,
            ) as cluster:
                topic = _reach(cluster, vitals, stopping, session)
                if topic is None:
                    return ExitCode.OK
                return _Job(config, vitals, publisher, stopping, cluster).run(topic, session)
        finally:
            vitals.phase = STOPPING if vitals.phase != FAILED else FAILED
            _end_session(session, options)


def _stop_signals() -> threading.Event:
    stopping = threading.Event()
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
    return stopping


@contextlib.contextmanager
def _serving(config: Config, publisher: Publisher, vitals: Vitals) -> Iterator[None]:
    server = Server(config.http.host, config.http.port, publisher.current, vitals.status)
    try:
        server.start()
    except AddressUnavailableError as error:
        raise Refusal(
            str(error), "set http.port (--http-port) or stop what listens there", ExitCode.PORT_IN_USE
        ) from error
    _log.info("serving", address=f"http://{config.http.host}:{server.port}/", metrics="/metrics", ready="/readyz")
    try:
        yield
    finally:
        server.stop()


def _session_options(config: Config) -> SessionOptions:
    jars = sorted(config.job.connector_jars.glob("*.jar"))
    if not jars:
        raise Refusal(
            f"no jars of Spark's Kafka connector in {config.job.connector_jars}",
            "run `make setup`, or set job.connector_jars to the folder that holds them",
            ExitCode.SPARK_UNAVAILABLE,
        )
    return SessionOptions(
        master=config.job.master,
        driver_memory=config.job.driver_memory,
        driver_host="127.0.0.1",
        connector_jars=jars,
        shuffle_partitions=_tasks(config),
        class_archive=ClassArchive.at(config.job.class_archive, pyspark.__version__),
        traces=config.log.level == "debug",
    )


def _tasks(config: Config) -> int:
    return config.job.read_tasks or len(os.sched_getaffinity(0))


def _opening(options: SessionOptions) -> Future[SparkSession]:
    """Open the session on a thread that nobody has to wait for: the process may have to end before."""
    session: Future[SparkSession] = Future()

    def open_it() -> None:
        try:
            session.set_result(open_session(options))
        except BaseException as error:  # noqa: BLE001 - it is handed to whoever asks for the session
            session.set_exception(error)

    threading.Thread(target=open_it, name="session", daemon=True).start()
    return session


def _end_session(session: Future[SparkSession], options: SessionOptions) -> None:
    """End the JVM; one that is still starting ends by itself when this process does."""
    if session.done() and session.exception() is None:
        if options.class_archive and options.class_archive.draft:
            _log.info("keeping the JVM's classes for a faster next start", archive=str(options.class_archive.path))
        end_session(session.result(), options, _JVM_GRACE_SECONDS)


def _reach(
    cluster: Cluster, vitals: Vitals, stopping: threading.Event, session: Future[SparkSession]
) -> OffsetsTopic | None:
    """Wait for the cluster and its offsets topic; None if told to stop. Away is no fault: it is said and retried."""
    while not stopping.is_set():
        if session.done():
            session.result()  # no Java is a fault, however long Kafka takes
        try:
            topic = describe(cluster)
        except ClusterError as error:
            if not error.passes:
                raise
            if vitals.trouble != str(error):
                _log.warning("waiting for kafka", cause=str(error))
            vitals.trouble = str(error)
        else:
            vitals.trouble, vitals.cluster_id = None, cluster.cluster_id
            if topic is not None:
                return topic
            if vitals.phase != WAITING:
                _log.info("waiting: no group has ever committed on this cluster", topic=NAME)
            vitals.phase = WAITING
        stopping.wait(_RETRY_SECONDS)
    return None


class _Job:
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

    def run(self, topic: OffsetsTopic, session: Future[SparkSession]) -> int:
        """Go on from the checkpoint until the end; give the exit code."""
        vitals = self._vitals
        vitals.phase = STARTING
        logs = _bounds(read_ends(self._cluster, [NAME]))
        with contextlib.closing(self._checkpoint(topic, logs)) as checkpoint:
            starts = checkpoint.positions or {partition: bounds[0] for partition, bounds in logs.items()}
            progress = vitals.progress = Progress(starts, {number: stable for number, (_, _, stable) in logs.items()})
            spark = session.result()
            if not checkpoint.fresh:
                self._publisher.apply(stored_shards(spark, checkpoint.spark))
                _log.info("state restored", batches="kept", checkpoint=str(checkpoint.folder))
            vitals.phase = CATCHING_UP
            with contextlib.closing(Pulses("127.0.0.1", progress.pulse)) as pulses:
                query = start(spark, self._options(topic, checkpoint, pulses), self._on_batch)
                return self._follow(spark, query, progress)

    def _checkpoint(self, topic: OffsetsTopic, logs: dict[int, tuple[int, int, int]]) -> Checkpoint:
        job = self._config.job
        wanted = Layout(
            sub_shards=Placement.of(len(topic.partitions), job.shards).sub_shards,
            offsets_partitions=len(topic.partitions),
            shuffle_partitions=_tasks(self._config),
            slot_ms=job.commit_window_slot_seconds * 1000,
            keep_slots=job.commit_window_slots,
        )
        bounds = {partition: (first, end) for partition, (first, end, _) in logs.items()}
        checkpoint = open_checkpoint(Path(self._config.checkpoint.dir), topic, wanted, bounds)
        if checkpoint.set_aside:
            self._vitals.resyncs += 1
            _log.warning("reading the topic again from its start; the old checkpoint is kept", why=checkpoint.set_aside)
        return checkpoint

    def _options(self, topic: OffsetsTopic, checkpoint: Checkpoint, pulses: Pulses) -> JobOptions:
        job, layout = self._config.job, checkpoint.manifest.layout
        return JobOptions(
            partitions=topic.partitions,
            security=security.spark_kafka_options(self._config.kafka),
            placement=layout.placement,
            checkpoint=checkpoint.spark,
            tasks=_tasks(self._config),
            trigger_seconds=job.trigger_interval,
            max_offsets_per_trigger=job.max_offsets_per_trigger,
            slot_ms=layout.slot_ms,
            keep_slots=layout.keep_slots,
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

    def _follow(self, spark: SparkSession, query: StreamingQuery, progress: Progress) -> int:
        """Watch the query until it fails or the process is told to stop."""
        vitals, seen = self._vitals, None
        watchdog = Watchdog(spark, self._config.job.watchdog_limit)
        view = CatchUpView(sys.stderr)
        ticker = threading.Thread(target=self._tick_until_end, name="tick", daemon=True)
        try:
            while not self._stopping.wait(_LOOK_SECONDS):
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
                cause = failure(query)
                if cause is not None:
                    vitals.phase = FAILED
                    _log.error("the query failed", cause=cause)
                    return ExitCode.QUERY_FAILED
        finally:
            watchdog.close()
            self._ended.set()
        _log.info("stopping after the running batch")
        vitals.phase = STOPPING
        if not stop(query, _BATCH_GRACE_SECONDS):
            _log.warning("the batch did not end in time; it will run again at the next start")
            kill_jvm(spark)
        return ExitCode.OK

    def _tick_until_end(self) -> None:
        """Publish, at once and then every tick."""
        due = time.monotonic()
        first = True
        while not self._ended.wait(max(0.0, due - time.monotonic())):
            published = self._publisher.tick(self._cluster)
            if published and first:
                first = False
                _log.info("ready", seconds_from_start=round(time.time() - self._vitals.started_at, 1))
            due = max(due + self._config.job.tick_interval, time.monotonic())


def _bounds(ends: pa.Table) -> dict[int, tuple[int, int, int]]:
    """Give (log start, high watermark, last stable offset) of each offsets partition that answered."""
    columns = (ends.column(n).to_pylist() for n in ("partition", "log_start_offset", "high_watermark"))
    stable = ends.column("last_stable_offset").to_pylist()
    rows = zip(*columns, stable, strict=True)
    return {partition: (first, high, last) for partition, first, high, last in rows if None not in (first, high, last)}
