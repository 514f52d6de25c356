"""The health of the monitor itself, and the state of all groups at one time.

None: not known (yet). Counters are never None.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from exporters.catalogue import groups, monitor, partitions, service, verdicts
from exporters.wording import FINE


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
class CatchUp:
    """The initial catch-up: the share of the offsets that has been read (0 to 1), offsets per second, seconds left."""

    ratio: float
    rate: float | None = None
    seconds_left: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class BatchProgress:
    """What Spark reports about a batch beside its offsets; rates are rows per second."""

    input_rows: int | None = None
    input_rate: float | None = None
    processed_rate: float | None = None
    # Of all state stores together.
    state_rows: int = 0
    state_bytes: int = 0
    # Seconds by the name of the phase, as in `add_batch`.
    phases: pa.Table = dataclasses.field(default_factory=monitor.QUERY_PHASES.empty_table)


@dataclasses.dataclass(frozen=True, slots=True)
class QueryStatus:
    """The micro-batches since the process started, and the last one."""

    batches: int = 0
    # Damaged snapshots of the state that Spark replaced by an older one with its changelog.
    state_repairs: int = 0
    last_seconds: float | None = None
    last_at: float | None = None
    last: BatchProgress | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class RecordCounts:
    """The records of the offsets topic since the process started; `skipped` are offsets that could not be read."""

    read: pa.Table = dataclasses.field(default_factory=monitor.RECORDS_READ.empty_table)
    errors: pa.Table = dataclasses.field(default_factory=monitor.DECODE_ERRORS.empty_table)
    skipped: pa.Table = dataclasses.field(default_factory=monitor.OFFSETS_SKIPPED.empty_table)


@dataclasses.dataclass(frozen=True, slots=True)
class TerminationCounts:
    """Deaths of groups and checks of predicted expiries, since the process started."""

    deaths: pa.Table = dataclasses.field(default_factory=monitor.DEATHS.empty_table)
    checks: pa.Table = dataclasses.field(default_factory=monitor.EXPIRY_CHECKS.empty_table)
    # Seconds from the predicted to the actual expiry of offsets; positive: the tombstone came later.
    errors: Histogram | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class TickStatus:
    """What the last tick found; the defaults are those before the first."""

    # When the end offsets were read (Unix seconds).
    taken_at: float | None = None
    # How long the brokers keep offsets, how often they check, and the source (broker, configuration, unknown).
    offsets_retention_seconds: float | None = None
    offsets_retention_check_seconds: float | None = None
    offsets_retention_source: str = "unknown"
    # The number of partitions of the offsets topic, those of other instances included.
    topic_partitions: int = 0
    series: int = 0
    # Series that the series budget left out of /metrics.
    series_dropped: pa.Table = dataclasses.field(default_factory=service.SERIES_DROPPED.empty_table)
    offsets_partitions: pa.Table = dataclasses.field(default_factory=monitor.OFFSETS_PARTITIONS.empty_table)
    offsets_held_back: pa.Table = dataclasses.field(default_factory=monitor.OFFSETS_HELD_BACK.empty_table)
    unreadable_tails: pa.Table = dataclasses.field(default_factory=verdicts.UNREADABLE_TAILS.empty_table)
    offsets_unavailable: pa.Table = dataclasses.field(default_factory=monitor.OFFSETS_UNAVAILABLE.empty_table)
    offsets_unavailable_groups: pa.Table = dataclasses.field(
        default_factory=monitor.OFFSETS_UNAVAILABLE_GROUPS.empty_table
    )
    terminations: TerminationCounts = dataclasses.field(default_factory=TerminationCounts)
    verdict_changes: pa.Table = dataclasses.field(default_factory=verdicts.VERDICT_CHANGES.empty_table)
    # Groups that cannot be evaluated because of an internal error.
    groups_not_evaluated: int = 0
    # Internal errors since the process started that were contained, by part.
    faults: Mapping[str, int] = dataclasses.field(default_factory=lambda: dict.fromkeys(("ending", "group"), 0))


@dataclasses.dataclass(frozen=True, slots=True)
class HeapUsage:
    """The heap of the JVM in bytes: used now, including what the next garbage collection removes, and the maximum."""

    used: int | None = None
    maximum: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class CheckpointSpace:
    """The size of all files of the checkpoint, their number, and of its volume, in bytes."""

    used: int | None = None
    files: int | None = None
    # Space that this process may still use on the volume.
    volume_free: int | None = None
    volume_size: int | None = None
    # When the newest full snapshot of a part of the state was written (Unix seconds); None before the first.
    state_snapshot_at: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ExecutorCount:
    """How many executors there are. `none_since` (Unix seconds) is None if there is one."""

    expected: int
    running: int
    none_since: float | None


@dataclasses.dataclass(frozen=True, slots=True)
class WebhookStatus:
    """The webhook: accepted events, events in the queue, the time of the oldest one (Unix seconds), and counters."""

    sent: int
    queued: int
    oldest_at: float | None
    failures: pa.Table = dataclasses.field(default_factory=service.WEBHOOK_FAILURES.empty_table)
    drops: pa.Table = dataclasses.field(default_factory=service.WEBHOOK_DROPS.empty_table)


@dataclasses.dataclass(frozen=True, slots=True)
class OtlpStatus:
    """The export by OTLP: accepted data points, and the end of the last complete export (Unix seconds)."""

    points: int
    exported_at: float | None
    failures: pa.Table = dataclasses.field(default_factory=service.OTLP_FAILURES.empty_table)


@dataclasses.dataclass(frozen=True, slots=True)
class HttpStatus:
    """The HTTP server: open connections, and refusals by reason."""

    connections: int
    refusals: pa.Table = dataclasses.field(default_factory=service.HTTP_REFUSALS.empty_table)


@dataclasses.dataclass(frozen=True, slots=True)
class MonitorStatus:
    """The health of the monitor at this moment."""

    version: str
    cluster_id: str | None
    # One of: connecting, waiting for topic, starting, catching up, running, stopping, failed.
    phase: str
    ready: bool
    # The reasons why it is not ready, each one sentence; empty if ready.
    not_ready_reasons: tuple[str, ...]
    started_at: float
    kafka_reachable: bool
    # Which of several instances this is, as `i/n`, and n.
    part: str = "0/1"
    instances: int = 1
    # The base URLs of all instances, in their order; empty if not configured.
    siblings: tuple[str, ...] = ()
    # The configured name of the cluster, which is the label `cluster` of all series.
    cluster_name: str | None = None
    catch_up: CatchUp | None = None
    query: QueryStatus = dataclasses.field(default_factory=QueryStatus)
    # Number of times that the state was set aside and the topic was read from its start.
    resyncs: int = 0
    records: RecordCounts = dataclasses.field(default_factory=RecordCounts)
    tick: TickStatus = dataclasses.field(default_factory=TickStatus)
    # Internal errors by part.
    internal_errors: pa.Table = dataclasses.field(default_factory=monitor.INTERNAL_ERRORS.empty_table)
    # Failed writes of optional files.
    file_failures: pa.Table = dataclasses.field(default_factory=service.FILE_FAILURES.empty_table)
    # Open file descriptors, and memory and CPU of the processes, by role; the limit on the memory of all of them.
    descriptors: pa.Table = dataclasses.field(default_factory=service.DESCRIPTORS.empty_table)
    processes: pa.Table = dataclasses.field(default_factory=service.PROCESSES.empty_table)
    memory_limit_bytes: int | None = None
    heap: HeapUsage = dataclasses.field(default_factory=HeapUsage)
    checkpoint: CheckpointSpace = dataclasses.field(default_factory=CheckpointSpace)
    # None with a local master, without a webhook, without an export, and without a server.
    executors: ExecutorCount | None = None
    webhook: WebhookStatus | None = None
    otlp: OtlpStatus | None = None
    http: HttpStatus | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """One consistent view of all groups. `taken_at` (Unix seconds) is when the end offsets had been read.

    `partition_verdicts`, `targets`, `dead_groups`, `folded_groups`, `owners`, `maintenance`, `not_alerted` and
    `summary` are filled by `exporters.selection`, for /metrics.
    """

    taken_at: float
    partitions: pa.Table
    groups: pa.Table
    unknown_lags: pa.Table
    transitions: pa.Table = dataclasses.field(default_factory=groups.TRANSITIONS.empty_table)
    topics: pa.Table = dataclasses.field(default_factory=partitions.TOPICS.empty_table)
    verdict_groups: pa.Table = dataclasses.field(default_factory=verdicts.VERDICT_GROUPS.empty_table)
    partition_verdicts: pa.Table = dataclasses.field(default_factory=verdicts.PARTITION_VERDICTS.empty_table)
    targets: pa.Table = dataclasses.field(default_factory=groups.TARGETS.empty_table)
    dead_groups: pa.Table = dataclasses.field(default_factory=groups.DEAD_GROUPS.empty_table)
    folded_groups: pa.Table = dataclasses.field(default_factory=groups.FOLDED_GROUPS.empty_table)
    owners: pa.Table = dataclasses.field(default_factory=groups.OWNERS.empty_table)
    maintenance: pa.Table = dataclasses.field(default_factory=groups.MAINTENANCE.empty_table)
    not_alerted: pa.Table = dataclasses.field(default_factory=groups.NOT_ALERTED.empty_table)
    log_ends: pa.Table = dataclasses.field(default_factory=partitions.LOG_ENDS.empty_table)
    summary: pa.Table = dataclasses.field(default_factory=verdicts.SUMMARY.empty_table)
    common_causes: pa.Table = dataclasses.field(default_factory=verdicts.COMMON_CAUSES.empty_table)
    covered_groups: pa.Table = dataclasses.field(default_factory=verdicts.COVERED_GROUPS.empty_table)
    findings: pa.Table = dataclasses.field(default_factory=verdicts.FINDINGS.empty_table)
    compatibility: pa.Table = dataclasses.field(default_factory=partitions.COMPATIBILITY.empty_table)
    # Returns the sentence of the verdict of each of these groups.
    sentences: Callable[[Sequence[str]], Sequence[str | None]] = lambda groups: [None] * len(groups)
    # Tables for the metrics of other exporters (`exporters.compatibility`).
    derived: Mapping[str, pa.Table] = dataclasses.field(default_factory=dict)

    def with_sentences(self, groups: pa.Table) -> pa.Table:
        """Return rows of GROUPS with their sentences, which are made only when they are read."""
        column, severity = groups.column("sentence").combine_chunks(), groups.column("severity").cast(pa.string())
        missing = pc.and_(pc.is_null(column), pc.not_equal(severity, FINE).fill_null(False)).combine_chunks()
        texts = pa.array(self.sentences(groups.column("group").filter(missing).to_pylist()), pa.string())
        at = groups.column_names.index("sentence")
        return groups.set_column(at, groups.schema.field(at), pc.replace_with_mask(column, missing, texts))

    @property
    def fine_verdicts(self) -> tuple[str, ...]:
        """The verdicts of severity `fine`; empty before the first evaluation."""
        verdicts = self.verdict_groups
        fine = pc.equal(verdicts.column("severity").cast(pa.string()), FINE)
        return tuple(verdicts.column("verdict").filter(fine).to_pylist())
