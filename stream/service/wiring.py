"""Builds the parts of the service from the configuration: the only place that converts its options and their units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from stream.checkpoint.manifest import Layout
from stream.config.kafka_login import login_from_options
from stream.config.metric_selection import selection_from_options
from stream.groups.expiry.predict import OffsetsRetention
from stream.groups.placement import Placement
from stream.groups.reduce import StateLimits
from stream.health.limits import HealthLimits
from stream.service.cpu_quota import usable_cores
from stream.spark.pipeline import PipelineOptions
from stream.spark.reading_options import ClusterAccess, ReadingOptions
from stream.spark.session import TASK_ATTEMPTS
from stream.tick.context_poller import ContextPoller
from stream.tick.lookups.budget import LookupLimits
from stream.tick.verdicts.evaluate import VerdictEvaluator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.checkpoint.directory import CheckpointDirectory
    from stream.cluster.transport.client import Cluster
    from stream.config.options import Config
    from stream.tick.verdicts.store import VerdictStore

_READ_SHARE: Final = 0.9
"""The part of the watchdog's limit that all attempts of a task wait for brokers: the query then fails with their error,
not by the watchdog."""


def read_tasks(config: Config) -> int:
    """Return the number of tasks that read at once: as configured, otherwise one per usable core."""
    return config.job.read_tasks or usable_cores()


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
    config: Config, checkpoint: CheckpointDirectory, starts: Mapping[int, int], progress_address: tuple[str, int]
) -> PipelineOptions:
    """Return the options of the query.

    `starts` are the positions from which it reads if the checkpoint is fresh; tasks report progress to
    `progress_address`.
    """
    job, kafka, layout = config.job, config.kafka, checkpoint.manifest.layout
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
        ),
        checkpoint=checkpoint.spark,
        trigger_seconds=job.trigger_interval,
        rules=StateLimits(
            keep_slots=layout.keep_slots,
            keep_transitions=config.groups.history,
            dead_grace_ms=_ms(config.groups.dead_grace),
        ),
        live_from=checkpoint.manifest.live_from,
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
    """Return the evaluator with the configured rules, continuing from `store`; `slot_ms` is the checkpoint's."""
    return VerdictEvaluator(
        health_limits(config, slot_ms),
        rules=config.health.rules,
        with_burrow=selection_from_options(config.metrics).compatibility.needs_burrow,
        points=config.health.end_points,
        history=config.groups.history,
        store=store,
    )


def health_limits(config: Config, slot_ms: int) -> HealthLimits:
    """Return the limits of the rules (ms); `slot_ms` is the checkpoint's."""
    health = config.health
    return HealthLimits(
        tick=_ms(config.job.tick_interval),
        slot=slot_ms,
        pause=_ms(health.pause),
        hide_members=config.http.hide_members,
        restart_grace=_ms(health.restart_grace),
        static_restart_grace=_ms(health.static_restart_grace),
        first_commit_grace=_ms(health.first_commit_grace),
        rebalance_limit=_ms(health.rebalance_limit),
        storm_window=_ms(health.storm_window),
        rolling_deploy=_ms(health.rolling_deploy),
        loss_notice=_ms(health.loss_notice),
        expiry_notice=_ms(health.expiry_notice),
        day_one=_ms(health.day_one),
    )


def lookup_limits(config: Config, slot_ms: int, keep_slots: int) -> LookupLimits:
    """Return the limits of lookups (seconds); slots are the checkpoint's."""
    return LookupLimits(tick=config.job.tick_interval, slot=slot_ms / 1000, keep_slots=keep_slots)


def _ms(seconds: float) -> int:
    return int(seconds * 1000)
