"""The cluster's facts as the bytes of `/metrics`: rendered once per poll, put behind a snapshot's at each scrape.

Joining two expositions copies nothing: their pieces and their sums are kept (`exporters.text.pieces`).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from exporters.catalogue.cluster import CLUSTER_METRICS
from exporters.selection.choice import EVERYTHING, Choice, Granularity, part_of
from exporters.text.exposition import Exposition, Family, Format, head
from exporters.text.lines import label_texts, sample_lines
from exporters.text.pieces import Piece, sum_of

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
    def of(cls, facts: ClusterFacts, choice: Choice = EVERYTHING) -> PublishedCluster:
        """Render what is chosen of what a poll saw."""
        return cls(facts, render(part_of(facts, choice), choice.granularity))


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
            families.append(Family(metric, _heads(metric), Piece.of(lines), series))
    return _exposition(tuple(families))


def joined(one: Exposition, other: Exposition) -> Exposition:
    """Give both, one behind the other. They must not have a metric in common."""
    return Exposition(one.families + other.families, {form: one.sums[form].then(other.sums[form]) for form in Format})


def _exposition(families: tuple[Family, ...]) -> Exposition:
    return Exposition(
        families, {form: sum_of(piece for family in families for piece in family.pieces(form)) for form in Format}
    )


def _heads(metric: Metric) -> dict[Format, Piece]:
    return {form: Piece.of(head(metric, form)) for form in Format}
