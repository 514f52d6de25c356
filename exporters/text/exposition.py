"""Renders a snapshot to the bytes of `/metrics`: once per snapshot, in both formats, plain and compressed.

A scrape copies these bytes and appends the monitor's own metrics (`exporters.text.self_metrics`). The sample lines of a
metric are the same in both formats, so each is compressed once (`exporters.text.compressed_text`); only the comment
lines above differ. A table is rendered some rows at a time, which stay in the processor's cache: the text of a large
cluster is a gigabyte.

No HTTP, no clock, and no value that is not in the snapshot.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING, Final

from exporters.catalogue.metric import MetricKind
from exporters.catalogue.metrics import SNAPSHOT_METRICS
from exporters.text.compressed_text import (
    EMPTY_CHECKSUM,
    CompressedText,
    TextChecksum,
    TextCompressor,
    gzip_member,
    total_checksum,
)
from exporters.text.samples import LabelTexts, sample_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import pyarrow as pa

    from exporters.catalogue.metric import Metric
    from exporters.readmodel import Snapshot
    from exporters.selection.series import SeriesSelector
    from exporters.text.compressed_text import PlainText

ROWS_AT_ONCE: Final = 32_768


class ExpositionFormat(enum.Enum):
    """The formats of `/metrics`; the value is the content type."""

    TEXT = "text/plain; version=0.0.4; charset=utf-8"
    OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


@dataclasses.dataclass(frozen=True, slots=True)
class MetricFamily:
    """One metric, rendered: its comment lines per format, its sample lines, and how many of those there are."""

    metric: Metric
    heads: dict[ExpositionFormat, CompressedText]
    samples: CompressedText
    series: int

    def pieces(self, form: ExpositionFormat) -> tuple[CompressedText, CompressedText]:
        """Give what stands in `/metrics` for this metric."""
        return self.heads[form], self.samples


@dataclasses.dataclass(frozen=True, slots=True)
class Exposition:
    """All of a snapshot's metrics as bytes; a metric without a sample is left out whole."""

    families: tuple[MetricFamily, ...]
    # Of all families, per format, so that a scrape has not even to read the bytes.
    sums: dict[ExpositionFormat, TextChecksum]

    @property
    def series(self) -> int:
        """How many series there are."""
        return sum(family.series for family in self.families)

    def plain(self, form: ExpositionFormat, names: Collection[str] = ()) -> list[PlainText]:
        """Give the text in parts that are shared and must not be joined without need; `names` chooses metrics."""
        return [piece.plain for piece in _chosen(self.families, form, names)]

    def gzipped(self, form: ExpositionFormat, live: bytes, names: Collection[str] = ()) -> list[bytes]:
        """Give one gzip member of the text and, behind it, of the `live` text, in parts."""
        pieces = _chosen(self.families, form, names)
        return gzip_member(pieces, total_checksum(pieces) if names else self.sums[form], live)


# Compared by identity: two snapshots are the same only if they are one, and tables cannot be hashed.
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PublishedSnapshot:
    """A snapshot and its bytes, made together: whoever holds the reference sees one moment. Swapped, never changed."""

    snapshot: Snapshot
    exposition: Exposition

    @classmethod
    def build(cls, snapshot: Snapshot, chooser: SeriesSelector | None = None) -> PublishedSnapshot:
        """Render what is chosen of a snapshot. This is the expensive step; it belongs where the snapshot is made."""
        if chooser is None:
            return cls(snapshot, render(snapshot))
        chosen = chooser.choose(snapshot)
        return cls(chosen.snapshot, render(chosen.shown, chosen.metrics))


EMPTY: Final = Exposition((), dict.fromkeys(ExpositionFormat, EMPTY_CHECKSUM))
"""What there is before the first snapshot: nothing."""


def render(snapshot: Snapshot, metrics: Sequence[Metric] = SNAPSHOT_METRICS) -> Exposition:
    """Render these metrics of a snapshot, in their order."""
    written: dict[str, MetricFamily] = {}
    for source in dict.fromkeys(metric.source for metric in metrics):
        of_source = [metric for metric in metrics if metric.source is source]
        written |= {family.metric.name: family for family in _families(getattr(snapshot, source.value), of_source)}
    every = (written[metric.name] for metric in metrics)
    families = tuple(family for family in every if family.series)
    return Exposition(families, {form: total_checksum(_chosen(families, form, ())) for form in ExpositionFormat})


def comment_lines(metric: Metric, form: ExpositionFormat) -> bytes:
    r"""Give the comment lines of a metric.

    In OpenMetrics a counter's and an info's family is named without the suffix, and the unit has a line. Help texts are
    ours: none has a backslash or a line feed, so none needs escaping.
    """
    if form is ExpositionFormat.TEXT:
        kind = MetricKind.GAUGE if metric.kind is MetricKind.INFO else metric.kind
        return f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} {kind.value}\n".encode()
    unit = f"# UNIT {metric.family} {metric.unit}\n" if metric.unit else ""
    return f"# HELP {metric.family} {metric.help}\n# TYPE {metric.family} {metric.kind.value}\n{unit}".encode()


def gzipped(text: bytes) -> list[bytes]:
    """Give one gzip member of a text alone, in parts."""
    return EMPTY.gzipped(ExpositionFormat.TEXT, text)


def _families(table: pa.Table, metrics: Sequence[Metric]) -> list[MetricFamily]:
    """Render the metrics of one table; those that share labels share the text of those."""
    labels = {names: LabelTexts(table, names) for names in {metric.labels for metric in metrics}}
    writers, series = [TextCompressor() for _ in metrics], [0] * len(metrics)
    for start in range(0, len(table), ROWS_AT_ONCE):
        texts = {names: each.of(start, ROWS_AT_ONCE) for names, each in labels.items()}
        rows = table.slice(start, ROWS_AT_ONCE)
        for at, (metric, writer) in enumerate(zip(metrics, writers, strict=True)):
            lines, count = sample_lines(metric, texts[metric.labels], rows)
            writer.add(lines)
            series[at] += count
    written = zip(metrics, writers, series, strict=True)
    return [MetricFamily(metric, _heads(metric), writer.piece(), count) for metric, writer, count in written]


def _heads(metric: Metric) -> dict[ExpositionFormat, CompressedText]:
    return {form: CompressedText.compress(comment_lines(metric, form)) for form in ExpositionFormat}


def _chosen(families: Iterable[MetricFamily], form: ExpositionFormat, names: Collection[str]) -> list[CompressedText]:
    return [piece for family in families if family.metric.is_among(names) for piece in family.pieces(form)]
