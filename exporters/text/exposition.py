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
from exporters.selection.series import SeriesSelector
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

    from exporters.catalogue.metric import Metric, MetricSource, OtherSource
    from exporters.readmodel import Snapshot
    from exporters.text.compressed_text import PlainText

ROWS_AT_ONCE: Final = 32_768


class ExpositionFormat(enum.Enum):
    """The formats of `/metrics`. The value is the content type."""

    TEXT = "text/plain; version=0.0.4; charset=utf-8"
    OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


@dataclasses.dataclass(frozen=True, slots=True)
class MetricFamily:
    """A rendered metric: its comment lines per format, its sample lines, and its number of series."""

    metric: Metric
    comments: dict[ExpositionFormat, CompressedText]
    samples: CompressedText
    series: int

    def texts(self, form: ExpositionFormat) -> tuple[CompressedText, CompressedText]:
        """Return the comment lines and the sample lines."""
        return self.comments[form], self.samples


@dataclasses.dataclass(frozen=True, slots=True)
class Exposition:
    """The rendered metrics of a snapshot. A metric without a sample has no comment lines either."""

    families: tuple[MetricFamily, ...]
    # Of the text of all families, per format: a scrape of all metrics does not read their bytes.
    checksums: dict[ExpositionFormat, TextChecksum]

    @classmethod
    def build(cls, families: tuple[MetricFamily, ...]) -> Exposition:
        """Return the exposition of these families, in their order."""
        return cls(families, {form: total_checksum(_select(families, form, ())) for form in ExpositionFormat})

    @property
    def series(self) -> int:
        """The number of series."""
        return sum(family.series for family in self.families)

    def plain(self, form: ExpositionFormat, names: Collection[str] = ()) -> list[PlainText]:
        """Return the text as shared parts, which are large: do not join them. `names` selects metrics; none: all."""
        return [text.plain for text in _select(self.families, form, names)]

    def gzipped(self, form: ExpositionFormat, last: bytes, names: Collection[str] = ()) -> list[bytes]:
        """Return one gzip member, in parts, of the text followed by the short text `last`."""
        texts = _select(self.families, form, names)
        return gzip_member(texts, total_checksum(texts) if names else self.checksums[form], last)


# Compared by identity: tables cannot be hashed.
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PublishedSnapshot:
    """A snapshot and its rendered metrics. The publisher replaces it, and never changes it."""

    snapshot: Snapshot
    exposition: Exposition
    # Responses rendered from it, by name; freed together with it.
    responses: dict[str, bytes] = dataclasses.field(default_factory=dict)

    @classmethod
    def build(cls, snapshot: Snapshot, selector: SeriesSelector | None = None) -> PublishedSnapshot:
        """Render the selected series of a snapshot (`selector` None: all). Expensive: done once, by the publisher."""
        selected = (selector or SeriesSelector()).select(snapshot)
        return cls(selected.snapshot, render(selected.shown, selected.metrics, selected.cluster))


EMPTY: Final = Exposition((), dict.fromkeys(ExpositionFormat, EMPTY_CHECKSUM))
"""The exposition before the first snapshot."""


def render(snapshot: Snapshot, metrics: Sequence[Metric] = SNAPSHOT_METRICS, cluster: str | None = None) -> Exposition:
    """Render these metrics of a snapshot, in their order; `cluster` as in `cluster_label`."""
    rendered: dict[str, MetricFamily] = {}
    for source in dict.fromkeys(metric.source for metric in metrics):
        of_source = [metric for metric in metrics if metric.source is source]
        rendered |= {family.metric.name: family for family in _families(snapshot, source, of_source, cluster)}
    families = (rendered[metric.name] for metric in metrics)
    return Exposition.build(tuple(family for family in families if family.series))


def comment_lines(metric: Metric, form: ExpositionFormat) -> bytes:
    r"""Return the comment lines of a metric.

    In OpenMetrics the family of a counter or info has no suffix, and the unit has its own line. A test of the catalogue
    ensures that no help text has a backslash or a line feed, so none is escaped.
    """
    if form is ExpositionFormat.TEXT:
        kind = MetricKind.GAUGE if metric.kind is MetricKind.INFO else metric.kind
        return f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} {kind.value}\n".encode()
    unit = f"# UNIT {metric.family} {metric.unit}\n" if metric.unit else ""
    return f"# HELP {metric.family} {metric.help}\n# TYPE {metric.family} {metric.kind.value}\n{unit}".encode()


def gzipped(text: bytes) -> list[bytes]:
    """Return one gzip member, in parts, of a text."""
    return EMPTY.gzipped(ExpositionFormat.TEXT, text)


def _families(
    snapshot: Snapshot, source: MetricSource | OtherSource, metrics: Sequence[Metric], cluster: str | None
) -> list[MetricFamily]:
    """Render the metrics of one table. Metrics with the same labels share the rendered labels."""
    table: pa.Table = getattr(snapshot, source.value)
    omitted = [metric.omitted_values(snapshot) for metric in metrics]
    labels = {names: LabelTexts(table, names, cluster) for names in {metric.labels for metric in metrics}}
    compressors, series = [TextCompressor() for _ in metrics], [0] * len(metrics)
    for start in range(0, len(table), ROWS_AT_ONCE):
        texts = {names: each.rows(start, ROWS_AT_ONCE) for names, each in labels.items()}
        rows = table.slice(start, ROWS_AT_ONCE)
        for at, metric in enumerate(metrics):
            lines, count = sample_lines(metric, texts[metric.labels], rows, omitted[at])
            compressors[at].add(lines)
            series[at] += count
    return [
        MetricFamily(metric, compressed_comments(metric), compressor.finish(), count)
        for metric, compressor, count in zip(metrics, compressors, series, strict=True)
    ]


def compressed_comments(metric: Metric) -> dict[ExpositionFormat, CompressedText]:
    """Return the comment lines of a metric in each format."""
    return {form: CompressedText.compress(comment_lines(metric, form)) for form in ExpositionFormat}


def _select(families: Iterable[MetricFamily], form: ExpositionFormat, names: Collection[str]) -> list[CompressedText]:
    return [text for family in families if family.metric.is_among(names) for text in family.texts(form)]
