"""The cluster's facts as the bytes of `/metrics`: rendered once per poll, put behind a snapshot's at each scrape.

Joining two expositions copies nothing: their pieces and their sums are kept (`exporters.text.compressed_text`).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from exporters.catalogue.cluster import CLUSTER_METRICS
from exporters.selection.series import EVERYTHING, Granularity, SeriesSelection, filter_by_name
from exporters.text.compressed_text import CompressedText, total_checksum
from exporters.text.exposition import Exposition, ExpositionFormat, MetricFamily, comment_lines
from exporters.text.samples import label_texts, sample_lines

if TYPE_CHECKING:
    from exporters.catalogue.metric import Metric
    from exporters.cluster.model import ClusterFacts


# Compared by identity, as what it holds.
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PublishedCluster:
    """What a poll saw and its bytes, made together. Swapped, never changed."""

    facts: ClusterFacts
    exposition: Exposition

    @classmethod
    def build(cls, facts: ClusterFacts, choice: SeriesSelection = EVERYTHING) -> PublishedCluster:
        """Render what is chosen of what a poll saw."""
        return cls(facts, render(filter_by_name(facts, choice), choice.granularity))


def render(facts: ClusterFacts, granularity: Granularity = Granularity.PARTITION) -> Exposition:
    """Render the metrics of a poll, no finer than asked for; one without a sample is left out whole."""
    labels: dict[tuple[str, tuple[str, ...]], Any] = {}
    families = []
    for metric in filter(granularity.has, CLUSTER_METRICS):
        table = getattr(facts, metric.source.value)
        key = (metric.source.value, metric.labels)
        texts = labels[key] if key in labels else labels.setdefault(key, label_texts(table, metric.labels))
        lines, series = sample_lines(metric, texts, table)
        if series:
            families.append(MetricFamily(metric, _heads(metric), CompressedText.compress(lines), series))
    return _exposition(tuple(families))


def join_expositions(one: Exposition, other: Exposition) -> Exposition:
    """Give both, one behind the other. They must not have a metric in common."""
    return Exposition(
        one.families + other.families, {form: one.sums[form].then(other.sums[form]) for form in ExpositionFormat}
    )


def _exposition(families: tuple[MetricFamily, ...]) -> Exposition:
    return Exposition(
        families,
        {
            form: total_checksum(piece for family in families for piece in family.pieces(form))
            for form in ExpositionFormat
        },
    )


def _heads(metric: Metric) -> dict[ExpositionFormat, CompressedText]:
    return {form: CompressedText.compress(comment_lines(metric, form)) for form in ExpositionFormat}
