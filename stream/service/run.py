"""`lagwarden run`: the parts in the order in which they start, follow each other and stop.

HTTP first, so that health can be asked from the first second; the JVM boots while the cluster is reached; then the
checkpoint, the state kept in it, the query, and the ticks. A stop runs the other way round.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from concurrent.futures import Future
from importlib import metadata
from typing import TYPE_CHECKING, Final

import structlog

from exporters.http.admission import ConnectionLimits
from exporters.http.server import AddressUnavailableError, HttpServer
from stream.cluster.transport.client import Cluster
from stream.cluster_facts.watch import ClusterWatch
from stream.config import kafka_login as security
from stream.config.metric_selection import selection_from_options
from stream.errors import ExitCode, Refusal
from stream.service.descriptors import raise_limit
from stream.service.job import MonitorJob
from stream.service.startup import wait_for_offsets_topic
from stream.service.status import FAILED, STOPPING, ServiceStatus
from stream.service.wiring import read_tasks
from stream.spark.class_archive import ClassArchive
from stream.spark.session import SessionOptions, end_session, open_session
from stream.tick.publisher import Publisher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream.config.options import Config
    from stream.spark.types import SparkSession

_log = structlog.get_logger(__name__)
_JVM_GRACE_SECONDS: Final = 12.0


def run(config: Config) -> int:
    """Run the monitor until SIGTERM or SIGINT; give the exit code. Raises Refusal for what a person must mend."""
    raise_limit()
    vitals = ServiceStatus(metadata.version("lagwarden"), config.job.freshness_limit)
    publisher = Publisher(config.groups.dead_grace, choice=selection_from_options(config.metrics))
    stopping = _stop_signals()
    watch = ClusterWatch.of(config, publisher.current)
    with _serving(config, publisher, vitals, watch), watch:
        session = _opening(_session_options(config))
        try:
            with Cluster(
                config.kafka.bootstrap_servers,
                security.client_options(config.kafka),
                request_timeout=config.kafka.request_timeout,
            ) as cluster:
                topic = wait_for_offsets_topic(cluster, vitals, stopping, lambda: _raise_if_failed(session))
                if topic is None:
                    return ExitCode.OK
                return MonitorJob(config, vitals, publisher, stopping, cluster).run(topic, session)
        finally:
            vitals.phase = STOPPING if vitals.phase != FAILED else FAILED
            _end_session(session)


def _stop_signals() -> threading.Event:
    stopping = threading.Event()
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
    return stopping


@contextlib.contextmanager
def _serving(config: Config, publisher: Publisher, vitals: ServiceStatus, watch: ClusterWatch) -> Iterator[None]:
    http = config.http
    server = HttpServer(
        http.host,
        http.port,
        publisher.current,
        vitals.status,
        publisher.details,
        cluster=watch.current,
        on_failure=vitals.answer_failed,
        limits=ConnectionLimits(http.max_connections, http.max_connections_per_address),
    )
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
    archive = ClassArchive.existing(config.job.class_archive, metadata.version("pyspark"))
    if archive is None:
        _log.debug("no archive of the JVM's classes; Spark starts slower", folder=str(config.job.class_archive))
    return SessionOptions(
        master=config.job.master,
        driver_memory=config.job.driver_memory,
        driver_host="127.0.0.1",
        connector_jars=jars,
        shuffle_partitions=read_tasks(config),
        class_archive=archive,
        traces=config.log.level == "debug",
    )


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


def _end_session(session: Future[SparkSession]) -> None:
    """End the JVM; one that is still starting ends by itself when this process does."""
    if session.done() and session.exception() is None:
        end_session(session.result(), _JVM_GRACE_SECONDS)


def _raise_if_failed(session: Future[SparkSession]) -> None:
    """Raise the error of a session that could not be opened: without Java, waiting for Kafka is pointless."""
    if session.done():
        session.result()
