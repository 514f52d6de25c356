"""The types of the catalogue: one metric, its kind, source, conversion, preset and stability.

No metric is defined and nothing is rendered here.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING, Final, Protocol

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


class MetricSource(enum.Enum):
    """The table of the read model that has a metric's rows; the value is the name of the field.

    Fields of `Snapshot` (`in_snapshot`) are rendered once per snapshot, fields of `ClusterFacts` (`in_cluster`) once
    per poll of the cluster. The others are fields of `MonitorStatus`, rendered at each scrape, also before the first
    snapshot. `STATUS` is the status itself: one row whose columns are its fields.
    """

    PARTITIONS = "partitions"
    GROUPS = "groups"
    DEAD_GROUPS = "dead_groups"
    FOLDED_GROUPS = "folded_groups"
    UNKNOWN_LAGS = "unknown_lags"
    TRANSITIONS = "transitions"
    TOPICS = "topics"
    LOG_ENDS = "log_ends"
    SUMMARY = "summary"
    VERDICT_GROUPS = "verdict_groups"
    TARGETS = "targets"
    COMMON_CAUSES = "common_causes"
    COVERED_GROUPS = "covered_groups"
    FINDINGS = "findings"
    OWNERS = "owners"
    MAINTENANCE = "maintenance"
    UNPAGED = "unpaged"
    STATUS = "status"
    RECORDS_READ = "records_read"
    DECODE_ERRORS = "decode_errors"
    OFFSETS_SKIPPED = "offsets_skipped"
    OFFSETS_PARTITIONS = "offsets_partitions"
    DEATHS = "deaths"
    EXPIRY_CHECKS = "expiry_checks"
    VERDICT_CHANGES = "verdict_changes"
    OFFSETS_HELD_BACK = "offsets_held_back"
    OFFSETS_UNAVAILABLE = "offsets_unavailable"
    OFFSETS_UNAVAILABLE_GROUPS = "offsets_unavailable_groups"
    UNREADABLE_TAILS = "unreadable_tails"
    SERIES_DROPPED = "series_dropped"
    INTERNAL_ERRORS = "internal_errors"
    HTTP_REFUSALS = "http_refusals"
    FILE_FAILURES = "file_failures"
    DESCRIPTORS = "descriptors"
    PROCESSES = "processes"
    WEBHOOK_FAILURES = "webhook_failures"
    WEBHOOK_DROPS = "webhook_drops"
    OTLP_FAILURES = "otlp_failures"
    POLLS = "polls"
    BROKERS = "brokers"
    CONTROLLERS = "controllers"
    CLUSTER_TOPICS = "cluster_topics"
    PARTITIONS_SHOWN = "partitions_shown"
    OFFSETS_REPLICAS = "offsets_replicas"
    CONFIGS_SHOWN = "configs_shown"
    CLUSTER_TOTALS = "cluster_totals"
    QUORUM_REPLICAS = "quorum_replicas"
    REASSIGNING_TOPICS = "reassigning_topics"
    FEATURES = "features"
    BROKER_FEATURES = "broker_features"
    QUOTAS = "quotas"
    BROKER_DISKS = "broker_disks"
    TOPIC_SIZES = "topic_sizes"
    FOLLOWERS = "followers"
    SHARE_READS = "share_reads"
    SHARE_PARTITIONS = "share_partitions"
    SHARE_GROUPS = "share_groups"
    UNKNOWN_FACTS = "unknown_facts"

    @property
    def in_snapshot(self) -> bool:
        """True if the rows are part of a `Snapshot`."""
        return self in _IN_SNAPSHOT

    @property
    def in_cluster(self) -> bool:
        """True if the rows are part of a `ClusterFacts`."""
        return self in _IN_CLUSTER


_IN_SNAPSHOT: Final = frozenset(
    {
        MetricSource.PARTITIONS,
        MetricSource.GROUPS,
        MetricSource.DEAD_GROUPS,
        MetricSource.FOLDED_GROUPS,
        MetricSource.UNKNOWN_LAGS,
        MetricSource.TRANSITIONS,
        MetricSource.TOPICS,
        MetricSource.LOG_ENDS,
        MetricSource.SUMMARY,
        MetricSource.VERDICT_GROUPS,
        MetricSource.TARGETS,
        MetricSource.COMMON_CAUSES,
        MetricSource.COVERED_GROUPS,
        MetricSource.FINDINGS,
        MetricSource.OWNERS,
        MetricSource.MAINTENANCE,
        MetricSource.UNPAGED,
    }
)
_IN_CLUSTER: Final = frozenset(
    {
        MetricSource.POLLS,
        MetricSource.BROKERS,
        MetricSource.CONTROLLERS,
        MetricSource.CLUSTER_TOPICS,
        MetricSource.PARTITIONS_SHOWN,
        MetricSource.OFFSETS_REPLICAS,
        MetricSource.CONFIGS_SHOWN,
        MetricSource.CLUSTER_TOTALS,
        MetricSource.QUORUM_REPLICAS,
        MetricSource.REASSIGNING_TOPICS,
        MetricSource.FEATURES,
        MetricSource.BROKER_FEATURES,
        MetricSource.QUOTAS,
        MetricSource.BROKER_DISKS,
        MetricSource.TOPIC_SIZES,
        MetricSource.FOLLOWERS,
        MetricSource.SHARE_PARTITIONS,
        MetricSource.SHARE_GROUPS,
        MetricSource.SHARE_READS,
        MetricSource.UNKNOWN_FACTS,
    }
)


class PeerSource(enum.Enum):
    """The table that has the rows of a metric under the name of another exporter; the value is the name of the field.

    Fields of `PeerSnapshot` (`in_snapshot`) and of `PeerClusterFacts`, see `exporters.compatibility`.
    """

    PEER_PARTITIONS = "peer_partitions"
    PEER_GROUP_TOPICS = "peer_group_topics"
    PEER_GROUPS = "peer_groups"
    PEER_LOG_ENDS = "peer_log_ends"
    PEER_TOPICS = "peer_topics"
    PEER_CLUSTER = "peer_cluster"
    PEER_BROKERS = "peer_brokers"
    PEER_BROKER_ADDRESSES = "peer_broker_addresses"
    PEER_CLUSTER_TOPICS = "peer_cluster_topics"
    PEER_TOPIC_SIZES = "peer_topic_sizes"
    PEER_REPLICAS = "peer_replicas"

    @property
    def in_snapshot(self) -> bool:
        """True if the rows are part of a `PeerSnapshot`."""
        return self in _PEERS_IN_SNAPSHOT

    @property
    def in_cluster(self) -> bool:
        """True if the rows are part of a `PeerClusterFacts`."""
        return not self.in_snapshot


_PEERS_IN_SNAPSHOT: Final = frozenset(
    {
        PeerSource.PEER_PARTITIONS,
        PeerSource.PEER_GROUP_TOPICS,
        PeerSource.PEER_GROUPS,
        PeerSource.PEER_LOG_ENDS,
        PeerSource.PEER_TOPICS,
    }
)


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
    source: MetricSource | PeerSource
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
        """The labels whose number of values is the number of series. A group has one finding, about one partition."""
        return frozenset({"group"} if self.source is MetricSource.FINDINGS else self.labels)

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
