"""The types of the catalogue: one metric, its kind, source, conversion, preset and stability.

No metric is defined and nothing is rendered here.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Collection


class MetricKind(enum.Enum):
    """The type of a metric, as OpenMetrics names it. The text format has no `info` type and uses `gauge`."""

    GAUGE = "gauge"
    COUNTER = "counter"
    INFO = "info"
    HISTOGRAM = "histogram"


class Stability(enum.StrEnum):
    """What may change about a metric in a release; `docs/metrics.md` has the rule."""

    STABLE = "stable"
    EXPERIMENTAL = "experimental"


class Preset(enum.StrEnum):
    """The sets of series that `metrics.preset` selects; each has all series of those before it."""

    LEAN = "lean"
    STANDARD = "standard"
    FULL = "full"

    def includes(self, other: Preset) -> bool:
        """Return whether this preset has all series of the other."""
        order = list(Preset)
        return order.index(self) >= order.index(other)


class CountedSince(enum.Enum):
    """When a counter or histogram was 0: the start time of its series in OTLP."""

    PROCESS_START = "the start of the process, or later"
    GROUP_CREATED = "the first record of the group in the log"


class Rendered(enum.Enum):
    """When the rows of a table are rendered."""

    SNAPSHOT = "once per snapshot"
    POLL = "once per poll of the cluster"
    SCRAPE = "at each scrape, also before the first snapshot"


class Source(enum.Enum):
    """A table that has rows of metrics; the value of a member is the name of the field, and `rendered` says when."""

    rendered: Rendered

    def __new__(cls, field: str, rendered: Rendered) -> Self:
        """Return a member. Its value is the name of the field alone."""
        member = object.__new__(cls)
        member._value_ = field
        member.rendered = rendered
        return member

    @property
    def in_snapshot(self) -> bool:
        """True if the rows are part of a snapshot."""
        return self.rendered is Rendered.SNAPSHOT

    @property
    def in_cluster(self) -> bool:
        """True if the rows are part of a poll of the cluster."""
        return self.rendered is Rendered.POLL


class MetricSource(Source):
    """The table of the read model that has a metric's rows: a field of `Snapshot`, `ClusterFacts` or `MonitorStatus`.

    `STATUS` is the status itself: one row whose columns are its fields.
    """

    PARTITIONS = "partitions", Rendered.SNAPSHOT
    GROUPS = "groups", Rendered.SNAPSHOT
    DEAD_GROUPS = "dead_groups", Rendered.SNAPSHOT
    FOLDED_GROUPS = "folded_groups", Rendered.SNAPSHOT
    UNKNOWN_LAGS = "unknown_lags", Rendered.SNAPSHOT
    TRANSITIONS = "transitions", Rendered.SNAPSHOT
    TOPICS = "topics", Rendered.SNAPSHOT
    LOG_ENDS = "log_ends", Rendered.SNAPSHOT
    SUMMARY = "summary", Rendered.SNAPSHOT
    VERDICT_GROUPS = "verdict_groups", Rendered.SNAPSHOT
    TARGETS = "targets", Rendered.SNAPSHOT
    COMMON_CAUSES = "common_causes", Rendered.SNAPSHOT
    COVERED_GROUPS = "covered_groups", Rendered.SNAPSHOT
    FINDINGS = "findings", Rendered.SNAPSHOT
    OWNERS = "owners", Rendered.SNAPSHOT
    MAINTENANCE = "maintenance", Rendered.SNAPSHOT
    UNPAGED = "unpaged", Rendered.SNAPSHOT
    STATUS = "status", Rendered.SCRAPE
    RECORDS_READ = "records_read", Rendered.SCRAPE
    DECODE_ERRORS = "decode_errors", Rendered.SCRAPE
    QUERY_PHASES = "query_phases", Rendered.SCRAPE
    OFFSETS_SKIPPED = "offsets_skipped", Rendered.SCRAPE
    OFFSETS_PARTITIONS = "offsets_partitions", Rendered.SCRAPE
    DEATHS = "deaths", Rendered.SCRAPE
    EXPIRY_CHECKS = "expiry_checks", Rendered.SCRAPE
    VERDICT_CHANGES = "verdict_changes", Rendered.SCRAPE
    OFFSETS_HELD_BACK = "offsets_held_back", Rendered.SCRAPE
    OFFSETS_UNAVAILABLE = "offsets_unavailable", Rendered.SCRAPE
    OFFSETS_UNAVAILABLE_GROUPS = "offsets_unavailable_groups", Rendered.SCRAPE
    UNREADABLE_TAILS = "unreadable_tails", Rendered.SCRAPE
    SERIES_DROPPED = "series_dropped", Rendered.SCRAPE
    INTERNAL_ERRORS = "internal_errors", Rendered.SCRAPE
    HTTP_REFUSALS = "http_refusals", Rendered.SCRAPE
    FILE_FAILURES = "file_failures", Rendered.SCRAPE
    DESCRIPTORS = "descriptors", Rendered.SCRAPE
    PROCESSES = "processes", Rendered.SCRAPE
    WEBHOOK_FAILURES = "webhook_failures", Rendered.SCRAPE
    WEBHOOK_DROPS = "webhook_drops", Rendered.SCRAPE
    OTLP_FAILURES = "otlp_failures", Rendered.SCRAPE
    POLLS = "polls", Rendered.POLL
    BROKERS = "brokers", Rendered.POLL
    CONTROLLERS = "controllers", Rendered.POLL
    CLUSTER_TOPICS = "cluster_topics", Rendered.POLL
    PARTITIONS_SHOWN = "partitions_shown", Rendered.POLL
    OFFSETS_REPLICAS = "offsets_replicas", Rendered.POLL
    CONFIGS_SHOWN = "configs_shown", Rendered.POLL
    CLUSTER_TOTALS = "cluster_totals", Rendered.POLL
    QUORUM_REPLICAS = "quorum_replicas", Rendered.POLL
    REASSIGNING_TOPICS = "reassigning_topics", Rendered.POLL
    FEATURES = "features", Rendered.POLL
    BROKER_FEATURES = "broker_features", Rendered.POLL
    QUOTAS = "quotas", Rendered.POLL
    BROKER_DISKS = "broker_disks", Rendered.POLL
    TOPIC_SIZES = "topic_sizes", Rendered.POLL
    FOLLOWERS = "followers", Rendered.POLL
    SHARE_READS = "share_reads", Rendered.POLL
    SHARE_PARTITIONS = "share_partitions", Rendered.POLL
    SHARE_GROUPS = "share_groups", Rendered.POLL
    UNKNOWN_FACTS = "unknown_facts", Rendered.POLL


class OtherSource(Source):
    """The table that has the rows of a metric under the name of another exporter, see `exporters.compatibility`.

    It is a field of `OtherSnapshot` or `OtherClusterFacts`.
    """

    PARTITIONS = "other_partitions", Rendered.SNAPSHOT
    GROUP_TOPICS = "other_group_topics", Rendered.SNAPSHOT
    GROUPS = "other_groups", Rendered.SNAPSHOT
    LOG_ENDS = "other_log_ends", Rendered.SNAPSHOT
    TOPICS = "other_topics", Rendered.SNAPSHOT
    CLUSTER = "other_cluster", Rendered.POLL
    BROKERS = "other_brokers", Rendered.POLL
    BROKER_ADDRESSES = "other_broker_addresses", Rendered.POLL
    CLUSTER_TOPICS = "other_cluster_topics", Rendered.POLL
    TOPIC_SIZES = "other_topic_sizes", Rendered.POLL
    REPLICAS = "other_replicas", Rendered.POLL


class ValueConversion(enum.Enum):
    """How the value of a sample is computed from its column. A null in the column always means no sample."""

    NUMBER = "the number itself; true is 1 and false is 0"
    TIMESTAMP = "the time in Unix seconds"
    AGE = "the seconds from the time to now, at least 0"
    ONE = "always 1; the labels have the information"
    RANK = "the index of the severity, from 0 for fine to 4 for critical"
    BUCKETS = "a histogram: a cumulative count per bound, the count and the sum"


class Evaluated(Protocol):
    """A snapshot, of which only the verdicts of severity fine are known here."""

    @property
    def fine_verdicts(self) -> tuple[str, ...]:
        """Those verdicts; empty before the first evaluation."""


@dataclasses.dataclass(frozen=True, slots=True)
class Metric:
    """One family of samples: its name, its meaning, and the source of each sample.

    `name` is the name of the samples, with `_total` and `_info`. A label has the name of the column that it is read
    from. `unit` is the last word of the name (before `_total`), or empty for counts and offsets.
    """

    name: str
    kind: MetricKind
    help: str
    source: MetricSource | OtherSource
    column: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    conversion: ValueConversion = ValueConversion.NUMBER
    # When there is no sample. All samples of a group are also removed with the group.
    absent: str = "never"
    # True if rows whose verdict is of severity fine have no sample either.
    omits_fine: bool = False
    # The smallest preset that has it; metrics about the monitor itself are in every preset.
    preset: Preset = Preset.FULL
    # The label that it sums over. In other presets than `full`, it replaces the series with that label.
    sums_over: str = ""
    stability: Stability = Stability.STABLE
    # Only of counters and histograms.
    counted_since: CountedSince = CountedSince.PROCESS_START
    # Of its table, and of its column in the table: the series budget leaves out the lowest first.
    importance: tuple[int, int] = (0, 0)
    # The labels that tell its series apart, if not all do: the others follow from them.
    keys: tuple[str, ...] | None = None

    def is_among(self, names: Collection[str]) -> bool:
        """Return whether it is one of these names, of samples or of families. No names select all metrics."""
        return not names or self.name in names or self.family in names

    def omitted_values(self, snapshot: Evaluated) -> tuple[str, ...]:
        """Return the values of the column that have no sample in this snapshot."""
        return snapshot.fine_verdicts if self.omits_fine else ()

    def is_in(self, preset: Preset, hidden_labels: Collection[str] = ()) -> bool:
        """Return whether a preset has it. Series with `hidden_labels` are not shown at all."""
        if not self.multiplying_labels.isdisjoint(hidden_labels):
            return False
        if self.sums_over and preset is not Preset.FULL and self.sums_over not in hidden_labels:
            return False
        return preset.includes(self.smallest_preset)

    @property
    def multiplying_labels(self) -> frozenset[str]:
        """The labels whose number of values is the number of series."""
        return frozenset(self.labels if self.keys is None else self.keys)

    @property
    def smallest_preset(self) -> Preset:
        """The smallest preset that has it."""
        return self.preset if self.source.in_snapshot or self.source.in_cluster else Preset.LEAN

    @property
    def family(self) -> str:
        """The name without the suffix that is part of the type in OpenMetrics."""
        match self.kind:
            case MetricKind.COUNTER:
                return self.name.removesuffix("_total")
            case MetricKind.INFO:
                return self.name.removesuffix("_info")
            case MetricKind.GAUGE | MetricKind.HISTOGRAM:
                return self.name
