"""The vocabulary of the catalogue: what one metric is. No metric is named here and nothing is rendered here."""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection


class MetricKind(enum.Enum):
    """The type of a metric, in OpenMetrics' words. The plain text format knows no `info` and says `gauge` for it."""

    GAUGE = "gauge"
    COUNTER = "counter"
    INFO = "info"
    HISTOGRAM = "histogram"


class MetricSource(enum.Enum):
    """Which part of the read model a metric's rows come from; the value is the name of the field.

    Some are fields of `Snapshot` (`in_snapshot`): they are rendered once, when a snapshot is published. Some are fields
    of `ClusterFacts` (`in_cluster`), rendered once per poll of the cluster. The others belong to `MonitorStatus` and
    are rendered anew for each scrape: they must be readable before there is a snapshot. `STATUS` is the status itself,
    one row whose columns are its fields.
    """

    PARTITIONS = "partitions"
    GROUPS = "groups"
    UNKNOWN_LAGS = "unknown_lags"
    TRANSITIONS = "transitions"
    TOPICS = "topics"
    VERDICT_GROUPS = "verdict_groups"
    TARGETS = "targets"
    STATUS = "status"
    RECORDS_READ = "records_read"
    DECODE_ERRORS = "decode_errors"
    OFFSETS_PARTITIONS = "offsets_partitions"
    DEATHS = "deaths"
    EXPIRY_CHECKS = "expiry_checks"
    VERDICT_CHANGES = "verdict_changes"
    OFFSETS_HELD_BACK = "offsets_held_back"
    UNREADABLE_TAILS = "unreadable_tails"
    SERIES_DROPPED = "series_dropped"
    INTERNAL_ERRORS = "internal_errors"
    HTTP_REFUSALS = "http_refusals"
    FILE_FAILURES = "file_failures"
    DESCRIPTORS = "descriptors"
    POLLS = "polls"
    BROKERS = "brokers"
    CONTROLLERS = "controllers"
    CLUSTER_TOPICS = "cluster_topics"
    PARTITIONS_SHOWN = "partitions_shown"
    OFFSETS_REPLICAS = "offsets_replicas"
    CONFIGS = "configs"
    UNKNOWN_FACTS = "unknown_facts"

    @property
    def in_snapshot(self) -> bool:
        """Whether the rows come with the snapshot, as opposed to the live status of the monitor."""
        return self in _IN_SNAPSHOT

    @property
    def in_cluster(self) -> bool:
        """Whether the rows come with a poll of the cluster, as a `ClusterFacts`."""
        of_all = {
            MetricSource.POLLS,
            MetricSource.BROKERS,
            MetricSource.CONTROLLERS,
            MetricSource.CONFIGS,
            MetricSource.UNKNOWN_FACTS,
        }
        return self in of_all | {
            MetricSource.CLUSTER_TOPICS,
            MetricSource.PARTITIONS_SHOWN,
            MetricSource.OFFSETS_REPLICAS,
        }


_IN_SNAPSHOT: Final = frozenset(
    {
        MetricSource.PARTITIONS,
        MetricSource.GROUPS,
        MetricSource.UNKNOWN_LAGS,
        MetricSource.TRANSITIONS,
        MetricSource.TOPICS,
        MetricSource.VERDICT_GROUPS,
        MetricSource.TARGETS,
    }
)

FINE_VERDICTS: Final = ("ok", "caught_up", "OK")
"""The verdicts of which a partition has no series; the last is Burrow's."""


class ValueConversion(enum.Enum):
    """How a sample's value is made from its column. A null in the column leaves no sample, whatever the reading."""

    NUMBER = "the number itself; true is 1 and false is 0"
    TIMESTAMP = "the time as Unix seconds"
    AGE = "seconds from the moment to now, never below 0"
    ONE = "always 1: the labels are the message"
    RANK = "how bad the severity is: its place among them, 0 for fine to 4 for critical"
    BUCKETS = "a histogram: a cumulative count per bound, the count and the sum of all"


@dataclasses.dataclass(frozen=True, slots=True)
class Metric:
    """One family of samples: what it is called, what it means, and where each sample comes from.

    `name` is the name as it stands before the braces of a sample, with `_total` and `_info`. A label is called like the
    column it is read from. `unit` is the last word of the name (before `_total`), or empty for counts and offsets.
    """

    name: str
    kind: MetricKind
    help: str
    source: MetricSource
    column: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    conversion: ValueConversion = ValueConversion.NUMBER
    # When no sample is there. Every sample of a group also leaves when the group does.
    absent: str = "never"
    # Values of the column that leave no sample either.
    unless: tuple[str, ...] = ()

    def is_among(self, names: Collection[str]) -> bool:
        """Tell whether a reader who asks for these names, of samples or families, wants it. No names ask for all."""
        return not names or self.name in names or self.family in names

    @property
    def family(self) -> str:
        """The name without the suffix that OpenMetrics takes as part of the type."""
        match self.kind:
            case MetricKind.COUNTER:
                return self.name.removesuffix("_total")
            case MetricKind.INFO:
                return self.name.removesuffix("_info")
            case MetricKind.GAUGE | MetricKind.HISTOGRAM:
                return self.name
