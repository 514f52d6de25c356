"""Renders the facts about the cluster to the bytes of `/metrics`: once per poll, appended to those of a snapshot.

Joining two expositions copies nothing: it combines their compressed texts and checksums.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pyarrow as pa

from exporters.catalogue.metric import Source
from exporters.catalogue.metrics import CLUSTER_METRICS
from exporters.catalogue.service import SERIES_DROPPED
from exporters.cluster.model import ClusterFacts
from exporters.compatibility.kafka_exporter import other_cluster_facts
from exporters.readmodel import MonitorStatus
from exporters.selection.budget import SeriesBudget
from exporters.selection.series import EVERYTHING, SeriesSelection, filter_by_name
from exporters.text.exposition import (
    EMPTY,
    Exposition,
    ExpositionFormat,
    MetricFamily,
    PublishedSnapshot,
    compressed_comments,
)
from exporters.text.samples import CompressedText, label_texts, sample_lines


# Compared by identity: tables cannot be hashed.
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PublishedCluster:
    """The facts of a poll and their rendered metrics. The publisher replaces it, and never changes it."""

    facts: ClusterFacts
    exposition: Exposition
    # Series that the budget left out (schema SERIES_DROPPED).
    series_dropped: pa.Table = dataclasses.field(default_factory=SERIES_DROPPED.empty_table)
    # Responses rendered from it, by name; freed together with it.
    responses: dict[str, bytes] = dataclasses.field(default_factory=dict)

    @property
    def whole_facts(self) -> ClusterFacts | None:
        """The facts if they are about the whole cluster; None if only share groups are known."""
        return self.facts if self.facts.is_whole else None

    @classmethod
    def build(
        cls, facts: ClusterFacts, selection: SeriesSelection = EVERYTHING, budget: SeriesBudget | None = None
    ) -> PublishedCluster:
        """Render the selected series of a poll, within the budget if there is one."""
        rendered = render(filter_by_name(facts, selection), selection)
        if budget is None:
            return cls(facts, rendered)
        kept = budget.fit({family.metric: family.series for family in rendered.families})
        families = tuple(family for family in rendered.families if family.metric in kept)
        return cls(facts, Exposition.build(families), budget.dropped)


def render(facts: ClusterFacts, selection: SeriesSelection = EVERYTHING) -> Exposition:
    """Render the selected metrics of a poll. A metric without a sample has no comment lines."""
    # Their tables have rows that count brokers.
    other_metrics = selection.compatibility.metrics if facts.is_whole else ()
    others = [each for each in other_metrics if each.source.in_cluster and selection.granularity.has(each)]
    if others:
        facts = other_cluster_facts(facts)
    labels: dict[tuple[Source, tuple[str, ...]], Any] = {}
    families = []
    for metric in (*filter(selection.shows, CLUSTER_METRICS), *others):
        table = metric.source.rows(facts)
        key = (metric.source, metric.labels)
        if key not in labels:
            labels[key] = label_texts(table, metric.labels, selection.cluster)
        lines, series = sample_lines(metric, labels[key], table)
        if series:
            families.append(MetricFamily(metric, compressed_comments(metric), CompressedText.compress(lines), series))
    return Exposition.build(tuple(families))


@dataclasses.dataclass(frozen=True, slots=True)
class ServedMetrics:
    """What `/metrics` shows at a moment: the rendered metrics, and the status for those of the monitor."""

    exposition: Exposition
    status: MonitorStatus

    @classmethod
    def build(
        cls, published: PublishedSnapshot | None, cluster: PublishedCluster | None, status: MonitorStatus
    ) -> ServedMetrics:
        """Return the metrics of the published snapshot, of the published cluster, and of the monitor."""
        exposition = published.exposition if published else EMPTY
        if cluster is None:
            return cls(exposition, status)
        dropped = pa.concat_tables([status.tick.series_dropped, cluster.series_dropped])
        tick = dataclasses.replace(status.tick, series_dropped=dropped)
        return cls(join_expositions(exposition, cluster.exposition), dataclasses.replace(status, tick=tick))


def join_expositions(one: Exposition, other: Exposition) -> Exposition:
    """Return both expositions as one. They must not have a metric in common."""
    checksums = {form: one.checksums[form].then(other.checksums[form]) for form in ExpositionFormat}
    return Exposition(one.families + other.families, checksums)
