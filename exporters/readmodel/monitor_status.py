"""The health of the monitor itself, and which instance monitors which groups."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from exporters.catalogue import monitor, service, verdicts

if TYPE_CHECKING:
    import pyarrow as pa


@dataclasses.dataclass(frozen=True, slots=True)
class Histogram:
    """Observations since the process started: the cumulative number per bound, and their count and sum."""

    bounds: tuple[float, ...]
    cumulative: tuple[int, ...]
    count: int
    total: float


@dataclasses.dataclass(frozen=True, slots=True)
class OtherInstance:
    """The instance that monitors a group which this one does not: its part as `i/n`, its base URL if that is known."""

    part: str
    url: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class MonitorStatus:
    """The health of the monitor at this moment. None: not known (yet). Counters are never None."""

    version: str
    cluster_id: str | None
    # One of: connecting, waiting for topic, starting, catching up, running, stopping, failed.
    phase: str
    ready: bool
    # The reasons why it is not ready, each one sentence; empty if ready.
    not_ready_reasons: tuple[str, ...]
    started_at: float
    snapshot_taken_at: float | None
    kafka_reachable: bool
    # The initial catch-up: share of the records that has been read (0 to 1), speed, and time left.
    catch_up_ratio: float | None
    catch_up_records_per_second: float | None
    catch_up_seconds_left: float | None
    batches: int
    last_batch_seconds: float | None
    last_batch_at: float | None
    # Number of times that the state was set aside and the topic was read from its start.
    resyncs: int
    series: int
    records_read: pa.Table
    decode_errors: pa.Table
    offsets_partitions: pa.Table
    # How long the brokers keep offsets, how often they check, and the source (broker, configuration, unknown).
    offsets_retention_seconds: float | None = None
    offsets_retention_check_seconds: float | None = None
    offsets_retention_source: str = "unknown"
    # Spark's report of the last micro-batch: rows, rows per second, phases, and the state stores of the query.
    query_input_rows: int | None = None
    query_input_rate: float | None = None
    query_processed_rate: float | None = None
    query_state_rows: int | None = None
    query_state_bytes: int | None = None
    query_phases: pa.Table = dataclasses.field(default_factory=monitor.QUERY_PHASES.empty_table)
    deaths: pa.Table = dataclasses.field(default_factory=monitor.DEATHS.empty_table)
    expiry_checks: pa.Table = dataclasses.field(default_factory=monitor.EXPIRY_CHECKS.empty_table)
    verdict_changes: pa.Table = dataclasses.field(default_factory=verdicts.VERDICT_CHANGES.empty_table)
    offsets_held_back: pa.Table = dataclasses.field(default_factory=monitor.OFFSETS_HELD_BACK.empty_table)
    unreadable_tails: pa.Table = dataclasses.field(default_factory=verdicts.UNREADABLE_TAILS.empty_table)
    offsets_unavailable: pa.Table = dataclasses.field(default_factory=monitor.OFFSETS_UNAVAILABLE.empty_table)
    offsets_unavailable_groups: pa.Table = dataclasses.field(
        default_factory=monitor.OFFSETS_UNAVAILABLE_GROUPS.schema.empty_table
    )
    # Seconds from the predicted to the actual expiry of offsets; positive: the tombstone came later.
    expiry_error_seconds: Histogram | None = None
    # Groups that cannot be evaluated because of an internal error, and the internal errors by part.
    groups_not_evaluated: int = 0
    internal_errors: pa.Table = dataclasses.field(default_factory=monitor.INTERNAL_ERRORS.empty_table)
    # Series that the series budget left out of /metrics.
    series_dropped: pa.Table = dataclasses.field(default_factory=service.SERIES_DROPPED.empty_table)
    # Open connections of the HTTP server, and its refusals by reason.
    http_connections: int | None = None
    http_refusals: pa.Table = dataclasses.field(default_factory=service.HTTP_REFUSALS.empty_table)
    # Failed writes of optional files.
    file_failures: pa.Table = dataclasses.field(default_factory=service.FILE_FAILURES.empty_table)
    # Offsets of the offsets topic that could not be read, by reason.
    offsets_skipped: pa.Table = dataclasses.field(default_factory=monitor.OFFSETS_SKIPPED.empty_table)
    # Open file descriptors of the processes, by role.
    descriptors: pa.Table = dataclasses.field(default_factory=service.DESCRIPTORS.empty_table)
    # Memory and CPU of the processes, by role, and the limit on the memory of all of them.
    processes: pa.Table = dataclasses.field(default_factory=service.PROCESSES.empty_table)
    memory_limit_bytes: int | None = None
    # Heap of the JVM: used now, including garbage, and the maximum.
    heap_used_bytes: int | None = None
    heap_max_bytes: int | None = None
    # The checkpoint and its volume; when the newest full snapshot of the state was written.
    checkpoint_bytes: int | None = None
    checkpoint_files: int | None = None
    checkpoint_volume_free_bytes: int | None = None
    checkpoint_volume_bytes: int | None = None
    state_snapshot_at: float | None = None
    # The webhook, None without one: accepted events, events in the queue, and the time of the oldest one.
    webhook_sent: int | None = None
    webhook_queued: int | None = None
    webhook_oldest_at: float | None = None
    webhook_failures: pa.Table = dataclasses.field(default_factory=service.WEBHOOK_FAILURES.empty_table)
    webhook_drops: pa.Table = dataclasses.field(default_factory=service.WEBHOOK_DROPS.empty_table)
    # The export by OTLP, None without one: accepted data points, and the end of the last complete export.
    otlp_points: int | None = None
    otlp_exported_at: float | None = None
    otlp_failures: pa.Table = dataclasses.field(default_factory=service.OTLP_FAILURES.empty_table)
    # Damaged snapshots of the state that Spark replaced by an older one with its changelog.
    state_repairs: int = 0
    # The registered and the configured executors, None with a local master.
    executors: int | None = None
    executors_expected: int | None = None
    # Which of several instances this is, as `i/n`, and n.
    part: str = "0/1"
    instances: int = 1
    # The base URLs of all instances, in their order; empty if not configured.
    siblings: tuple[str, ...] = ()
    # The configured name of the cluster, which is the label `cluster` of all series.
    cluster_name: str | None = None
