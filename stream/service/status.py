"""The health of the monitor itself: what its parts report, combined into the status that readers see.

Nothing here is computed from groups.
"""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from typing import TYPE_CHECKING, Any, Final, Protocol

import structlog

from decoders.tables import BY_NUMBER, tracking
from exporters.readmodel import (
    DECODE_ERRORS,
    INTERNAL_ERRORS,
    OFFSETS_SKIPPED,
    OTLP_FAILURES,
    QUERY_PHASES,
    RECORDS_READ,
    WEBHOOK_DROPS,
    WEBHOOK_FAILURES,
    MonitorStatus,
    OtherInstance,
    rows_table,
)
from stream.checkpoint.side_files import SideFiles
from stream.groups.decode_stats import DecodeStats
from stream.groups.instances import EVERY_GROUP, owner_of
from stream.service.descriptors import Descriptors
from stream.service.processes import ProcessUsage
from stream.service.resources import Resources
from stream.service.system_limits import memory_limit
from stream.tick.run_tick import TickStatus
from stream.wording import ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from stream.groups.instances import InstancePart
    from stream.service.catch_up import CatchUp, CatchUpProgress
    from stream.spark.executors.watch import ExecutorCount
    from stream.spark.query import QueryProgress
    from stream.tick.offsets_topic_lag import UnansweredPartition
    from stream.tick.run_tick import TickResult
    from stream.webhook.notifier import WebhookStatus

_log = structlog.get_logger(__name__)
_ANSWER_LOG_SECONDS: Final = 60.0
"""Minimum interval between two log lines about requests that failed."""
CONNECTING: Final = "connecting"
WAITING: Final = "waiting for topic"
STARTING: Final = "starting"
CATCHING_UP: Final = "catching up"
RUNNING: Final = "running"
STOPPING: Final = "stopping"
FAILED: Final = "failed"
NO_LEADER: Final = "no_leader"


class OtlpCounters(Protocol):
    """The counters of `stream.otlp.pusher.OtlpPusher`, whose module needs optional packages."""

    @property
    def points(self) -> int:
        """The accepted data points."""

    @property
    def exported_at(self) -> float | None:
        """When the last complete export ended (Unix seconds)."""

    def failures(self) -> Mapping[str, int]:
        """Return the failed requests by reason."""


class ServiceStatus:
    """The health of the monitor itself. One instance per process.

    The main thread sets the phase and what the query reports, the tick thread calls `record_tick`,
    `record_unanswered` and `record_unreachable`; each attribute has one writer at a time.
    """

    def __init__(
        self,
        version: str,
        freshness_limit: float,
        clock: Callable[[], float] = time.time,
        part: InstancePart = EVERY_GROUP,
        siblings: Sequence[str] = (),
        *,
        cluster_name: str | None = None,
    ) -> None:
        """Start with nothing known; `part` is that of the groups that are monitored.

        `siblings` are the base URLs of all instances, in their order; `cluster_name` is the configured name.
        """
        self._version = version
        self._part = part
        self._siblings = tuple(siblings)
        self._cluster_name = cluster_name
        self._clock = clock
        self._freshness_limit = freshness_limit
        self._lock = threading.Lock()
        self._decode_stats = DecodeStats()
        self._errors = DECODE_ERRORS.empty_table()
        self._records = RECORDS_READ.empty_table()
        self._skipped = OFFSETS_SKIPPED.empty_table()
        self.started_at = clock()
        self.phase = CONNECTING
        self.cluster_id: str | None = None
        self.trouble: str | None = None
        """Why Kafka does not answer now, as a sentence; None while it does."""
        self.progress: CatchUpProgress | None = None
        self.partitions_added: tuple[int, ...] = ()
        """Partitions that were added to the offsets topic while it is read, and are not read to their ends yet."""
        self.batches = 0
        self.last_batch_seconds: float | None = None
        self.last_batch_at: float | None = None
        self.resyncs = 0
        self.tick = TickStatus()
        """The status of the last tick."""
        self.shown: Mapping[int, int] = {}
        """Next offset to read per offsets partition, before which the last tick has shown all records."""
        self.unanswered: Sequence[UnansweredPartition] = ()
        """Offsets partitions without an end offset at the last poll."""
        self.failure_of: Callable[[int], object] = lambda _: None
        """Returns why the last request to a broker failed; None if it was answered."""
        self.files = SideFiles()
        self.resources = Resources()
        """Heap and checkpoint as of the last poll."""
        self.state_repairs = 0
        self.query: QueryProgress | None = None
        """Spark's report of the last batch."""
        self.executors: Callable[[], ExecutorCount] | None = None
        """Returns how many executors there are; None with a local master."""
        self.storage_trouble: Callable[[], str | None] = lambda: None
        """Returns why the storage of the checkpoint does not answer now, as a sentence; None while it does."""
        self.webhook: Callable[[], WebhookStatus] | None = None
        """Returns the state of the webhook; None if there is none."""
        self.otlp: OtlpCounters | None = None
        """The counters of the export by OTLP; None if there is none."""
        self._descriptors = Descriptors(os.getpid())
        self._processes = ProcessUsage(os.getpid())
        self._answer_faults = 0
        self._answer_logged_at: float | None = None

    def record_tick(self, result: TickResult) -> None:
        """Apply the result of a tick."""
        self.record_unanswered(result.unanswered)
        self.tick, self.shown = result.status, result.evaluated.derived.facts.positions

    def record_unanswered(self, unanswered: Sequence[UnansweredPartition]) -> None:
        """Record that Kafka answers, and the offsets partitions without an end offset."""
        if self.trouble is not None:
            _log.info("kafka reachable again")
        self.trouble = None
        since = {each.offsets_partition: each.since for each in self.unanswered}
        self.unanswered = tuple(
            dataclasses.replace(each, since=min(each.since, since.get(each.offsets_partition, each.since)))
            for each in unanswered
        )

    def record_unreachable(self, cause: str) -> None:
        """Record that Kafka does not answer; logged once until it answers again."""
        if self.trouble is None:
            _log.warning("kafka unreachable", cause=cause)
        self.trouble = cause

    def count(self, stats: DecodeStats) -> None:
        """Add the decode statistics of a batch; skipped offsets are also logged."""
        if stats.skipped:
            _log.warning("offsets of __consumer_offsets skipped", **stats.skipped)
        with self._lock:
            self._decode_stats.add(stats)
            self._records, self._errors = _records_table(self._decode_stats), _errors_table(self._decode_stats)
            self._skipped = rows_table(sorted(self._decode_stats.skipped.items()), OFFSETS_SKIPPED)

    def answer_failed(self, path: str, error: Exception) -> None:
        """Count an HTTP request that failed because of an internal error; one per minute is logged."""
        with self._lock:
            self._answer_faults += 1
            now, last = self._clock(), self._answer_logged_at
            if last is not None and now - last < _ANSWER_LOG_SECONDS:
                return
            self._answer_logged_at = now
        _log.error("internal error while answering a request", path=path, exc_info=error)

    def other_instance(self, group: str) -> OtherInstance | None:
        """Return the instance of a group; None if it is this one, or not known before the first tick."""
        partitions = self.tick.topic_partitions
        if self._part.is_whole or not partitions:
            return None
        owner = owner_of(group, partitions, self._part.instances)
        if owner == self._part:
            return None
        return OtherInstance(str(owner), self._siblings[owner.index] if self._siblings else None)

    def monitor_status(self) -> MonitorStatus:
        """Return the status as of now."""
        reasons = self._not_ready()
        catch_up = self._catch_up()
        with self._lock:
            records, errors, skipped = self._records, self._errors, self._skipped
        tick = self.tick
        retention, terminations = tick.retention, tick.terminations
        faults = {**tick.faults, "answer": self._answer_faults}
        webhook = None if self.webhook is None else self.webhook()
        executors = None if self.executors is None else self.executors()
        heap, space = self.resources.heap, self.resources.checkpoint
        return MonitorStatus(
            version=self._version,
            cluster_id=self.cluster_id,
            phase=self.phase,
            ready=not reasons,
            not_ready_reasons=reasons,
            started_at=self.started_at,
            snapshot_taken_at=tick.taken_at,
            kafka_reachable=self.trouble is None and self.cluster_id is not None,
            catch_up_ratio=None if catch_up is None else catch_up.ratio,
            catch_up_records_per_second=None if catch_up is None else catch_up.rate,
            catch_up_seconds_left=None if catch_up is None else catch_up.seconds_left,
            batches=self.batches,
            last_batch_seconds=self.last_batch_seconds,
            last_batch_at=self.last_batch_at,
            resyncs=self.resyncs,
            series=tick.series,
            records_read=records,
            decode_errors=errors,
            offsets_skipped=skipped,
            offsets_partitions=tick.offsets_partitions,
            offsets_retention_seconds=_seconds(retention.retention_ms),
            offsets_retention_check_seconds=_seconds(retention.check_interval_ms),
            offsets_retention_source=retention.source,
            deaths=terminations.deaths,
            expiry_checks=terminations.checks,
            verdict_changes=tick.verdict_changes,
            offsets_held_back=tick.blocked_partitions,
            unreadable_tails=tick.unreadable_tails,
            offsets_unavailable=tick.offsets_unavailable,
            offsets_unavailable_groups=tick.offsets_unavailable_groups,
            expiry_error_seconds=terminations.errors,
            groups_not_evaluated=tick.groups_not_evaluated,
            internal_errors=rows_table(sorted(faults.items()), INTERNAL_ERRORS),
            series_dropped=tick.series_dropped,
            file_failures=self.files.table(),
            descriptors=self._descriptors.table(),
            processes=self._processes.table(),
            memory_limit_bytes=memory_limit(),
            heap_used_bytes=heap.used,
            heap_max_bytes=heap.maximum,
            checkpoint_bytes=space.used,
            checkpoint_files=space.files,
            checkpoint_volume_free_bytes=space.volume_free,
            checkpoint_volume_bytes=space.volume_size,
            state_snapshot_at=space.state_snapshot_at,
            state_repairs=self.state_repairs,
            executors=None if executors is None else executors.running,
            executors_expected=None if executors is None else executors.expected,
            part=str(self._part),
            instances=self._part.instances,
            siblings=self._siblings,
            cluster_name=self._cluster_name,
            **_webhook_fields(webhook),
            **_otlp_fields(self.otlp),
            **_query_fields(self.query),
        )

    def _catch_up(self) -> CatchUp | None:
        return None if self.progress is None else self.progress.catch_up(time.monotonic())

    def _not_ready(self) -> tuple[str, ...]:
        reasons = []
        if self.phase == WAITING:
            reasons.append("the cluster has no topic __consumer_offsets yet: no group has ever committed")
        elif self.phase in (STARTING, STOPPING, FAILED):
            reasons.append(f"the monitor is {self.phase}")
        elif self.phase == CATCHING_UP and self.progress is not None:
            reasons.append(f"offsets partitions not read to their ends yet: {len(self.progress.behind)}")
        elif self.phase == CONNECTING and self.trouble is None:
            reasons.append("no broker has answered yet")
        if self.partitions_added:
            reasons.append(f"offsets partitions not read yet: {ranges(self.partitions_added)}")
        if self.trouble is not None and (self.phase != RUNNING or self._is_stale()):
            reasons.append(self.trouble)
        if self.phase == RUNNING and self._is_stale():
            reasons.append(self._age_reason())
        reasons += self._executor_reasons()
        away = self.storage_trouble()
        if away is not None:
            reasons.append(away)
        if self.phase in (STARTING, CATCHING_UP, RUNNING):
            reasons += self.unanswered_reasons()
        return tuple(reasons)

    def _is_stale(self) -> bool:
        taken_at = self.tick.taken_at
        return taken_at is None or self._clock() - taken_at > self._freshness_limit

    def unanswered_reasons(self) -> list[str]:
        """Return a sentence per cause of missing end offsets: groups of these partitions are not updated.

        A new leader is elected within seconds, so a ready monitor stays ready for the freshness limit.
        """
        grace = self._freshness_limit if self.phase == RUNNING else 0.0
        late = [each for each in self.unanswered if self._clock() - each.since >= grace]
        reasons = []
        for reason, leader in dict.fromkeys((each.reason, each.leader) for each in late):
            numbers = ranges(each.offsets_partition for each in late if (each.reason, each.leader) == (reason, leader))
            why = "have no leader" if reason == NO_LEADER else f"have no known end offsets ({reason})"
            failure = None if leader is None else self.failure_of(leader)
            cause = "" if failure is None else f"; they are led by broker {leader}: {failure}"
            reasons.append(f"offsets partitions that {why}: {numbers}{cause}")
        return reasons

    def _executor_reasons(self) -> list[str]:
        """Return as a sentence that there is no executor: nothing is read.

        A lost executor is replaced within seconds, so a ready monitor stays ready for the freshness limit.
        """
        executors = None if self.executors is None else self.executors()
        if executors is None or executors.none_since is None:
            return []
        seconds = self._clock() - executors.none_since
        if self.phase == RUNNING and seconds < self._freshness_limit:
            return []
        return [f"no executor has been registered with Spark for {seconds:.0f} s (expected {executors.expected})"]

    def _age_reason(self) -> str:
        taken_at = self.tick.taken_at
        if taken_at is None:
            return "no snapshot yet"
        age = self._clock() - taken_at
        return f"the snapshot is {age:.0f} s old (limit {self._freshness_limit:g} s)"


def _webhook_fields(webhook: WebhookStatus | None) -> dict[str, Any]:
    if webhook is None:
        return {}
    return {
        "webhook_sent": webhook.sent,
        "webhook_queued": webhook.queued,
        "webhook_oldest_at": webhook.oldest,
        "webhook_failures": rows_table(
            [(*key, count) for key, count in sorted(webhook.failures.items())], WEBHOOK_FAILURES
        ),
        "webhook_drops": rows_table(sorted(webhook.drops.items()), WEBHOOK_DROPS),
    }


def _otlp_fields(otlp: OtlpCounters | None) -> dict[str, Any]:
    if otlp is None:
        return {}
    return {
        "otlp_points": otlp.points,
        "otlp_exported_at": otlp.exported_at,
        "otlp_failures": rows_table(sorted(otlp.failures().items()), OTLP_FAILURES),
    }


def _query_fields(query: QueryProgress | None) -> dict[str, Any]:
    if query is None:
        return {}
    return {
        "query_input_rows": query.input_rows,
        "query_input_rate": query.input_rate,
        "query_processed_rate": query.processed_rate,
        "query_state_rows": query.state_rows,
        "query_state_bytes": query.state_bytes,
        "query_phases": rows_table(sorted(query.phases.items()), QUERY_PHASES),
    }


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _type_name(number: int | None) -> str:
    if number is None:
        return "none"
    known = BY_NUMBER.get(number)
    return str(number) if known is None else known.name


def _records_table(stats: DecodeStats) -> pa.Table:
    rows = sorted((_type_name(n), "unknown" if n is None else tracking(n), count) for n, count in stats.records.items())
    return rows_table(rows, RECORDS_READ)


def _errors_table(stats: DecodeStats) -> pa.Table:
    rows = sorted(
        (_type_name(fault.record_type), "" if fault.version is None else str(fault.version), fault.reason, count)
        for fault, count in stats.faults.items()
    )
    return rows_table(rows, DECODE_ERRORS)
