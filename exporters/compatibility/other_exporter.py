"""The types of the tables: one exporter, one of its metrics, and one of its metrics that lagwarden does not have."""

from __future__ import annotations

import dataclasses

from exporters.catalogue.metric import Metric


@dataclasses.dataclass(frozen=True, slots=True)
class OtherMetric(Metric):
    """A metric with the name, the type and the labels of another exporter.

    The labels are in the order of the exporter's source code. `column` follows the exporter's own value rule.
    """

    # The metrics of lagwarden to use instead, as PromQL.
    instead: str = ""
    # Where the value or the set of series differs from the exporter's; empty: nowhere.
    difference: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class MissingMetric:
    """A metric of the exporter that lagwarden does not show under that name."""

    name: str
    # Why not, and what to use instead.
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class OtherExporter:
    """Another exporter with its metrics.

    `name` is the value of `metrics.compatibility`. `unknown_labels` are labels whose value lagwarden does not know,
    with what it writes instead. With `every_partition` it has series for each partition of a topic for which a group
    has a commit, not only for those that have one.
    """

    name: str
    title: str
    project: str
    metrics: tuple[OtherMetric, ...]
    missing: tuple[MissingMetric, ...] = ()
    unknown_labels: tuple[tuple[str, str], ...] = ()
    every_partition: bool = False

    @property
    def snapshot_metrics(self) -> tuple[OtherMetric, ...]:
        """The metrics that are rendered once per snapshot."""
        return tuple(metric for metric in self.metrics if metric.source.in_snapshot)

    @property
    def cluster_metrics(self) -> tuple[OtherMetric, ...]:
        """The metrics that are rendered once per poll of the cluster."""
        return tuple(metric for metric in self.metrics if metric.source.in_cluster)
