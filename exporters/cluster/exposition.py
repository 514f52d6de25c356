"""Renders the facts about the cluster to the bytes of `/metrics`: once per poll, appended to those of a snapshot.

Joining two expositions copies nothing: it combines their compressed texts and checksums.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from exporters.catalogue.cluster import CLUSTER_METRICS
from exporters.selection.series import EVERYTHING, Granularity, SeriesSelection, filter_by_name
from exporters.text.compressed_text import CompressedText
from exporters.text.exposition import Exposition, ExpositionFormat, MetricFamily, compressed_comments
from exporters.text.samples import label_texts, sample_lines

if TYPE_CHECKING:
    from exporters.cluster.model import ClusterFacts


# Compared by identity: tables cannot be hashed.
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PublishedCluster:
    """The facts of a poll and their rendered metrics. The publisher replaces it, and never changes it."""

    facts: ClusterFacts
    exposition: Exposition
    # Responses rendered from it, by name; freed together with it.
    responses: dict[str, bytes] = dataclasses.field(default_factory=dict)

    @classmethod
    def build(cls, facts: ClusterFacts, selection: SeriesSelection = EVERYTHING) -> PublishedCluster:
        """Render the selected series of a poll."""
        return cls(facts, render(filter_by_name(facts, selection), selection.granularity))


def render(facts: ClusterFacts, granularity: Granularity = Granularity.PARTITION) -> Exposition:
    """Render the metrics of a poll, no finer than `granularity`. A metric without a sample has no comment lines."""
    labels: dict[tuple[str, tuple[str, ...]], Any] = {}
    families = []
    for metric in filter(granularity.has, CLUSTER_METRICS):
        table = getattr(facts, metric.source.value)
        key = (metric.source.value, metric.labels)
        texts = labels[key] if key in labels else labels.setdefault(key, label_texts(table, metric.labels))
        lines, series = sample_lines(metric, texts, table)
        if series:
            families.append(MetricFamily(metric, compressed_comments(metric), CompressedText.compress(lines), series))
    return Exposition.build(tuple(families))


def join_expositions(one: Exposition, other: Exposition) -> Exposition:
    """Return both expositions as one. They must not have a metric in common."""
    checksums = {form: one.checksums[form].then(other.checksums[form]) for form in ExpositionFormat}
    return Exposition(one.families + other.families, checksums)
