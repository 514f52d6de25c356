"""Builds the parts of the service from the configuration: the only place that converts its options and their units."""

import dataclasses
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import structlog

from exporters.cluster.exposition import PublishedCluster
from exporters.compatibility.burrow_responses import BurrowCluster
from exporters.compatibility.selection import BURROW
from exporters.group_search import hidden_members
from exporters.http.access.web_access import WebAccess
from exporters.http.access.web_config import WebConfigError
from exporters.member_quotas import with_quotas
from exporters.page.links import PageLinks
from exporters.readmodel import GroupDetail
from stream.checkpoint.directory import CheckpointDirectory
from stream.checkpoint.files import CheckpointPath
from stream.checkpoint.manifest import MANIFEST, Layout
from stream.checkpoint.objects.path import ObjectPath
from stream.checkpoint.objects.store import DEFAULT_REGION, ObjectStore
from stream.cluster.transport.client import Cluster
from stream.config.config_follower import selection_from_options
from stream.config.kafka_login import login_from_options
from stream.config.object_address import ObjectAddress
from stream.config.options import Config, HttpOptions, JobOptions
from stream.config.secret_sources import SecretFile
from stream.errors import ExitCode, Refusal
from stream.groups.expiry.broker_rules import OffsetsRetention
from stream.groups.placement import Placement
from stream.groups.shard import StateLimits
from stream.health.limits import HealthLimits
from stream.service.system_limits import usable_cores
from stream.spark.executors.driver_machine import address_for
from stream.spark.executors.settings import ExecutorOptions, KubernetesExecutors
from stream.spark.jvm_process import JvmOptions
from stream.spark.object_store import ObjectStorage, find_jars
from stream.spark.pipeline import PipelineOptions
from stream.spark.reading_options import ClusterAccess, ReadingOptions
from stream.spark.session import TASK_ATTEMPTS, SessionOptions
from stream.tick.context_poller import ContextPoller
from stream.tick.lookups.budget import LookupLimits
from stream.tick.verdicts.evaluate import VerdictEvaluator
from stream.tick.verdicts.store import VerdictStore

_REGION_VARIABLES: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")
_READ_SHARE: Final = 0.9
"""The part of the watchdog's limit that all attempts of a task wait for brokers: the query then fails with their error,
not by the watchdog."""
_COMMAND_CONFIG: Final = "client.properties"
"""The file that the commands of the pages name for TLS and SASL settings: that of Kafka's own documentation."""
_log = structlog.get_logger(__name__)


def read_tasks(config: Config) -> int:
    """Return the number of tasks that read at once: as configured, otherwise one per usable core."""
    job = config.job
    cores = job.executor_count * job.cores_per_executor if job.master_url.has_executors else usable_cores()
    return job.read_tasks or cores


def session_options(config: Config, jvm: JvmOptions) -> SessionOptions:
    """Return the options of the Spark session. Raises Refusal if this machine's address for executors is not known."""
    job = config.job
    host = driver_host(job)
    return SessionOptions(
        master=job.master,
        jvm=jvm,
        driver_host=host,
        shuffle_partitions=read_tasks(config),
        traces=config.log.level == "debug",
        executors=_executors(job, host) if job.master_url.has_executors else None,
        python=job.executor_python,
        ui_port=job.spark_ui_port,
        further=job.spark_options,
        storage=object_storage(config),
    )


def driver_host(job: JobOptions) -> str:
    """Return the host of this process for executors. Raises Refusal if it is not known."""
    return job.driver_host or address_for(job.master_url)


def _executors(job: JobOptions, host: str) -> ExecutorOptions:
    kubernetes = None
    if job.executor_image is not None:
        kubernetes = KubernetesExecutors(
            job.executor_image, job.namespace, job.executor_service_account, job.pod_template
        )
    return ExecutorOptions(
        job.master_url,
        number=job.executor_count,
        cores=job.cores_per_executor,
        memory=job.memory_per_executor,
        bind_address=job.driver_bind_address or host,
        driver_port=job.driver_port,
        block_manager_port=job.block_manager_port,
        authenticate=job.authenticate,
        secret=job.auth_secret,
        kubernetes=kubernetes,
    )


def executor_files(config: Config) -> list[Path]:
    """Return the files that tasks read on executors: secrets, tokens and certificates of the login to Kafka."""
    values = [getattr(config.kafka, name) for name in type(config.kafka).model_fields]
    files = [value.path if isinstance(value, SecretFile) else value for value in values]
    return [file.absolute() for file in files if isinstance(file, Path)]


def progress_address(job: JobOptions, host: str) -> tuple[str, int]:
    """Return the address and the port, 0 for a free one, on which the progress of tasks is received."""
    return job.driver_bind_address or host, job.driver_port or 0


def checkpoint_root(config: Config) -> CheckpointPath:
    """Return the place of the checkpoint. Raises Refusal if the client of object stores is not installed."""
    options = config.checkpoint
    if isinstance(options.dir, ObjectAddress):
        return ObjectPath(ObjectStore(options.dir.bucket, options.s3_endpoint, _store_region(config)), options.dir.path)
    return options.dir


def object_storage(config: Config) -> ObjectStorage | None:
    """Return Spark's access to the object store of the checkpoint; None if it is in a directory. Raises Refusal."""
    options = config.checkpoint
    if not isinstance(options.dir, ObjectAddress) or options.s3_jars is None:
        return None
    region = _store_region(config) or (None if options.s3_endpoint is None else DEFAULT_REGION)
    return ObjectStorage(find_jars(options.s3_jars), options.s3_endpoint, region)


def _store_region(config: Config) -> str | None:
    """Return the region as configured, else that of the environment."""
    return config.checkpoint.s3_region or next(filter(None, map(os.environ.get, _REGION_VARIABLES)), None)


def checkpoint_layout(config: Config, offsets_partitions: int) -> Layout:
    """Return the layout that a new checkpoint would get; an existing one keeps its own."""
    job = config.job
    return Layout(
        sub_shards=Placement.build(offsets_partitions, job.shards).sub_shards,
        offsets_partitions=offsets_partitions,
        shuffle_partitions=read_tasks(config),
        slot_ms=job.commit_window_slot_seconds * 1000,
        keep_slots=job.commit_window_slots,
    )


def pipeline_options(
    config: Config, checkpoint: CheckpointDirectory, starts: Mapping[int, int], progress_address: tuple[str, int, str]
) -> PipelineOptions:
    """Return the options of the query.

    `starts` are the positions from which it reads if the checkpoint is fresh; tasks report progress to
    `progress_address`.
    """
    job, kafka, layout, marker = config.job, config.kafka, checkpoint.manifest.layout, checkpoint.folder / MANIFEST
    return PipelineOptions(
        reading=ReadingOptions(
            ClusterAccess(kafka.bootstrap_servers, login_from_options(kafka), kafka.request_timeout),
            starts=starts,
            tasks=read_tasks(config),
            most_offsets=job.max_offsets_per_trigger,
            limit=job.watchdog_limit * _READ_SHARE / TASK_ATTEMPTS,
            placement=layout.placement,
            slot_ms=layout.slot_ms,
            keep_slots=layout.keep_slots,
            progress_address=progress_address,
            part=job.part,
        ),
        checkpoint=checkpoint.spark,
        trigger_seconds=job.trigger_interval,
        rules=StateLimits(
            keep_slots=layout.keep_slots,
            keep_transitions=config.groups.history,
            dead_grace_ms=_ms(config.groups.dead_grace),
        ),
        live_from=checkpoint.manifest.live_from,
        # Each executor must see it; an object store is the same from everywhere.
        marker=str(marker.absolute()) if isinstance(marker, Path) and job.master_url.has_executors else None,
    )


def context_poller(config: Config, cluster: Cluster) -> ContextPoller:
    """Return the poller of the cluster context; a configured offsets retention replaces that of the brokers."""
    groups = config.groups
    retention, check_interval = (
        None if seconds is None else _ms(seconds)
        for seconds in (groups.offsets_retention, groups.offsets_retention_check)
    )
    source: Literal["configuration", "unknown"] = "unknown" if retention is None else "configuration"
    configured = OffsetsRetention(retention, check_interval, source)
    return ContextPoller(cluster, configured, groups.asked_per_tick, config.job.tick_interval)


def verdict_evaluator(config: Config, slot_ms: int, store: VerdictStore) -> VerdictEvaluator:
    """Return the evaluator with the configured limits, continuing from `store`; `slot_ms` is the checkpoint's."""
    return VerdictEvaluator(
        health_limits(config, slot_ms),
        with_burrow=selection_from_options(config.metrics).compatibility.needs_burrow,
        points=config.health.end_points,
        history=config.groups.history,
        mirrored=config.groups.mirrored,
        store=store,
    )


def health_limits(config: Config, slot_ms: int) -> HealthLimits:
    """Return the limits of the rules (ms); `slot_ms` is the checkpoint's."""
    # An option has the name of its limit.
    names = type(config.health).model_fields.keys() & {each.name for each in dataclasses.fields(HealthLimits)}
    limits: dict[str, Any] = {name: _ms(getattr(config.health, name)) for name in names}
    tick, hide_members = _ms(config.job.tick_interval), config.http.hide_members
    return HealthLimits(tick=tick, slot=slot_ms, hide_members=hide_members, **limits)


def lookup_limits(config: Config, slot_ms: int, keep_slots: int) -> LookupLimits:
    """Return the limits of lookups (seconds); slots are the checkpoint's."""
    return LookupLimits(tick=config.job.tick_interval, slot=slot_ms / 1000, keep_slots=keep_slots)


def _ms(seconds: float) -> int:
    return int(seconds * 1000)


def open_web_access(http: HttpOptions, clock: Callable[[], float] = time.monotonic) -> WebAccess:
    """Return the access to the HTTP server; changes of its files are logged. Raises Refusal."""
    try:
        return WebAccess(
            http.web_config,
            http.bearer_token_file,
            on_fault=lambda why: _log.error("web configuration unusable; the previous one stays in force", cause=why),
            on_reload=lambda: _log.info("web configuration read again"),
            clock=clock,
        )
    except WebConfigError as error:
        raise Refusal(
            str(error), "correct the files of http.web_config and http.bearer_token_file", ExitCode.USAGE
        ) from error


def served_burrow(config: Config) -> BurrowCluster | None:
    """Return the cluster of Burrow's API with its configured names; None if `metrics.compatibility` has no `burrow`."""
    if BURROW.name not in config.metrics.compatibility:
        return None
    refresh = max(round(config.job.tick_interval), 1)
    return BurrowCluster(config.metrics.other_cluster, config.kafka.bootstrap_servers, refresh)


def page_links(config: Config) -> PageLinks:
    """Return the links of the pages to other services, what their commands name, and the name of the cluster."""
    http, kafka = config.http, config.kafka
    return PageLinks(
        http.grafana_url,
        http.runbook_url,
        kafka.bootstrap_servers,
        _COMMAND_CONFIG if kafka.uses_tls or kafka.uses_sasl else None,
        config.metrics.cluster_name,
        http.messages_url,
        http.external_url,
    )


def served_details(
    http: HttpOptions,
    details: Callable[[str], GroupDetail | None],
    cluster: Callable[[], PublishedCluster | None] = lambda: None,
) -> Callable[[str], GroupDetail | None]:
    """Return the function that gives API and pages the details of a group.

    They have the quotas of its members, which `cluster` knows; if so configured, members are hidden, and so are quotas.
    """
    return hidden_members(details) if http.hide_members else lambda group: with_quotas(details(group), cluster())
