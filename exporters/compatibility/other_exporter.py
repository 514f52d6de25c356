"""The types of the tables: one exporter, and one of its metrics."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from exporters.catalogue.metric import POLL, SNAPSHOT, Metric, MetricKind, Source

READ_ONLY: Final = "Only partitions that a group reads."
"""A difference of several exporters' metrics."""


class OtherSource:
    """The tables that `snapshot_tables` and `kafka_exporter` derive, with a column per label and per value.

    A column has the name of the label that it is; a name that several exporters use has one meaning in a table.
    """

    PARTITIONS: Final = Source("partitions", SNAPSHOT, is_derived=True)
    """A row per row of PARTITIONS; with `every_partition` also per other partition of a topic with a commit."""
    GROUP_TOPICS: Final = Source("group topics", SNAPSHOT, is_derived=True)
    GROUPS: Final = Source("groups", SNAPSHOT, is_derived=True)
    """A row per group that is not dead."""
    LOG_ENDS: Final = Source("log ends", SNAPSHOT, is_derived=True)
    TOPICS: Final = Source("topics", SNAPSHOT, is_derived=True)
    """A row per topic of LOG_ENDS."""
    CLUSTER: Final = Source("cluster", POLL, is_derived=True)
    """One row."""
    BROKERS: Final = Source("brokers", POLL, is_derived=True)
    """A row per live broker, with its host name as address (KMinion)."""
    BROKER_ADDRESSES: Final = Source("broker addresses", POLL, is_derived=True)
    """A row per live broker, with `host:port` as address (kafka_exporter)."""
    CLUSTER_TOPICS: Final = Source("cluster topics", POLL, is_derived=True)
    TOPIC_SIZES: Final = Source("topic sizes", POLL, is_derived=True)
    REPLICAS: Final = Source("replicas", POLL, is_derived=True)
    """A row per partition of PARTITIONS_SHOWN."""


@dataclasses.dataclass(frozen=True, slots=True)
class OtherMetric(Metric):
    """A metric with the name, the type and the labels of another exporter.

    The labels are in the order of the exporter's source code. `column` follows the exporter's own value rule.
    """

    # When it is absent, beside an unknown number; empty: never.
    absent: str = ""
    # The metrics of lagwarden to use instead, as PromQL.
    instead: str = ""
    # Where the value or the set of series differs from the exporter's; empty: nowhere.
    difference: str = ""


def gauge(name: str, words: str, source: Source, column: str, labels: tuple[str, ...] = (), **more: Any) -> OtherMetric:
    """Return a gauge; `words` are its help text."""
    return OtherMetric(name, MetricKind.GAUGE, words, source, column, labels, **more)


@dataclasses.dataclass(frozen=True, slots=True)
class OtherExporter:
    """Another exporter with its metrics.

    `name` is the value of `metrics.compatibility`. `missing` are its metrics that lagwarden does not show, with why not
    and what to use instead. `unknown_labels` are labels whose value lagwarden does not know, with what it writes
    instead. With `every_partition` it has series for each partition of a topic for which a group
    has a commit, not only for those that have one.
    """

    name: str
    title: str
    project: str
    metrics: tuple[OtherMetric, ...]
    missing: Mapping[str, str] = dataclasses.field(default_factory=dict)
    unknown_labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    every_partition: bool = False
