"""`lagwarden run`: starts the parts of the process in order, and stops them in reverse order.

The HTTP server starts first, so that health checks are answered from the first second. Then follow the checkpoint, its
state, Spark's session if the JVM does not boot yet, the query, and the ticks.
"""

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from importlib import metadata
from pathlib import Path
from typing import Final

import structlog

from exporters.http.admission import ConnectionLimits
from exporters.http.api_endpoints import ServedData
from exporters.http.event_stream.response import RecentEvents
from exporters.http.server import AddressUnavailableError, HttpServer
from exporters.selection.series import SeriesSelector
from stream.cluster.transport.client import Cluster
from stream.cluster_facts.watch import ClusterWatch
from stream.config.config_follower import ConfigFollower, selection_from_options
from stream.config.kafka_login import login_from_options
from stream.config.options import Config
from stream.config.values import is_loopback
from stream.errors import ExitCode, Refusal
from stream.otlp.export import otlp_export
from stream.process_memory import collect_seldom
from stream.service import wiring
from stream.service.early_jvm import EarlyJvm
from stream.service.job import MonitorJob
from stream.service.startup import wait_for_offsets_topic
from stream.service.status import FAILED, STOPPING, ServiceStatus
from stream.spark.executors.executor_check import check_executors
from stream.spark.executors.watch import ExecutorWatch
from stream.spark.jvm_process import JvmProcess
from stream.spark.session import SessionOptions, end_session, open_session
from stream.spark.types import SparkSession
from stream.tick.offsets_topic_lag import OffsetsTopicLag
from stream.tick.publisher import Publisher
from stream.tick.run_tick import TickParts

_log = structlog.get_logger(__name__)
_JVM_GRACE_SECONDS: Final = 12.0


def run(config: Config, jvm: EarlyJvm, follower: ConfigFollower | None = None) -> int:
    """Run the monitor until SIGTERM or SIGINT; return the exit code. Raises Refusal for what the user must fix.

    The `follower` has the changes of the configuration file.
    """
    collect_seldom()
    status = ServiceStatus(
        metadata.version("lagwarden"),
        config.job.freshness_limit,
        part=config.job.part,
        siblings=config.http.siblings,
        cluster_name=config.metrics.cluster_name,
        trigger_interval=config.job.trigger_interval,
    )
    hide_members = config.http.hide_members
    parts = TickParts(
        selector=SeriesSelector(selection_from_options(config.metrics, hide_members=hide_members)),
        policies=config.groups.policies,
        offsets_topic=OffsetsTopicLag(config.job.part),
        hide_hosts=hide_members,
    )
    publisher = Publisher(config.groups.dead_grace, parts)

    def apply(changed: Config) -> None:
        publisher.use(changed.groups.policies, selection_from_options(changed.metrics).targets)

    def follow() -> None:
        if follower is not None:
            follower.follow(apply, status.files.count_unusable_configuration)

    watch = ClusterWatch.from_config(config, publisher.current)
    publisher.read_polls(watch.facts)
    events = RecentEvents()
    with (
        _http_server(config, publisher, status, watch, events) as server,
        watch,
        otlp_export(config.otlp, publisher.current, watch.current, server.status) as status.otlp,
    ):
        executors = _executor_watch(config, status)
        session = SessionStart(config, jvm, executors)
        if jvm.process is not None:
            session()
        try:
            with Cluster(
                config.kafka.bootstrap_servers,
                login_from_options(config.kafka),
                request_timeout=config.kafka.request_timeout,
            ) as cluster:
                topic = wait_for_offsets_topic(cluster, status, jvm.stopping, session.check)
                if topic is None:
                    return ExitCode.OK
                job = MonitorJob(config, status, publisher, jvm, cluster, events=events, follow=follow)
                return job.run(topic, session)
        finally:
            status.phase = STOPPING if status.phase != FAILED else FAILED
            if executors is not None:
                executors.close()
            if session.opened.done():  # else `start_jvm` kills the JVM, which is still starting
                end_session(session.opened.result(), _JVM_GRACE_SECONDS)


@contextlib.contextmanager
def _http_server(
    config: Config, publisher: Publisher, status: ServiceStatus, watch: ClusterWatch, events: RecentEvents
) -> Iterator[HttpServer]:
    http = config.http
    access = wiring.open_web_access(http)
    if not access.credentials().needed and not is_loopback(http.host):
        _log.warning("http server open without a login", host=http.host, port=http.port, advice="see docs/http.md")
    served = ServedData(
        publisher.current,
        status.monitor_status,
        wiring.served_details(http, publisher.details, watch.current),
        watch.current,
        search=None if http.hide_members else publisher.groups_of_client,
        events=events,
        burrow=wiring.served_burrow(config),
        other_instance=status.other_instance,
        on_failure=status.answer_failed,
        links=wiring.page_links(config),
    )
    limits = ConnectionLimits(http.max_connections, http.max_connections_per_address)
    server = HttpServer(http.host, http.port, served, limits=limits, access=access, allowed_hosts=http.allowed_hosts)
    try:
        server.start()
    except AddressUnavailableError as error:
        raise Refusal(
            str(error), "set http.port (--http-port) or stop the process that uses it", ExitCode.PORT_IN_USE
        ) from error
    scheme = "https" if access.has_tls else "http"
    _log.info(
        "http server started",
        address=f"{scheme}://{config.http.host}:{server.port}/",
        metrics="/metrics",
        ready="/readyz",
        login=access.credentials().needed,
    )
    try:
        yield server
    finally:
        server.stop()


def _executor_watch(config: Config, status: ServiceStatus) -> ExecutorWatch | None:
    """Return the watch of the executors, and show it in the status; None with a local master."""
    if not config.job.master_url.has_executors:
        return None
    watch = ExecutorWatch(config.job.executor_count)
    status.executors = lambda: watch.count
    return watch


class SessionStart:
    """Opens the session on a daemon thread: the process may have to end before it is open."""

    def __init__(self, config: Config, jvm: EarlyJvm, executors: ExecutorWatch | None) -> None:
        """Prepare the options. Raises Refusal if this machine has no address for executors."""
        self._config, self._jvm, self._executors = config, jvm, executors
        self._options = wiring.session_options(config, jvm.options)
        self._begun = False
        self.opened = Future[SparkSession]()
        """The session as soon as it has to be ended."""
        self._ready = Future[SparkSession]()

    def __call__(self) -> Future[SparkSession]:
        """Return the session when its executors can run tasks, which may take any time; the first call starts it.

        Raises Refusal if the JVM cannot be started.
        """
        if not self._begun:
            self._begun = True
            arguments = (self._options, self._jvm.start())
            threading.Thread(target=self._open, args=arguments, name="session", daemon=True).start()
        return self._ready

    def check(self) -> None:
        """Raise the error of a session that could not be opened: without Spark, waiting for Kafka is pointless."""
        if self._ready.done():
            self._ready.result()

    def _open(self, options: SessionOptions, jvm: JvmProcess) -> None:
        try:
            session = open_session(options, jvm)
            self.opened.set_result(session)
            if self._executors is not None:
                self._executors.start(session)
            if self._config.job.master_url.is_on_other_machines:
                checkpoint = self._config.checkpoint
                folder = checkpoint.dir if checkpoint.shared and isinstance(checkpoint.dir, Path) else None
                check_executors(session, options.shuffle_partitions, folder, wiring.executor_files(self._config))
            self._ready.set_result(session)
        except BaseException as error:  # noqa: BLE001 - raised where the session is used
            self._ready.set_exception(error)
