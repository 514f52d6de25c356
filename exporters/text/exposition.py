"""Renders a snapshot to the bytes of `/metrics`: once per snapshot, in both formats, plain and compressed.

A scrape copies these bytes and appends the monitor's own metrics (`exporters.text.self_metrics`). The sample lines of a
metric are the same in both formats, so each is compressed once (`exporters.text.samples`); only the comment
lines above differ. A table is rendered some rows at a time, which stay in the processor's cache: the text of a large
cluster is a gigabyte.

Most metrics have the same values at the next tick. A metric whose labels and values have not changed keeps its
compressed text (`MetricFamily.source`).

No HTTP, no clock, and no value that is not in the snapshot.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import pyarrow as pa

from exporters.catalogue.metric import Metric, MetricKind, Source
from exporters.catalogue.metrics import SNAPSHOT_METRICS
from exporters.readmodel import Snapshot
from exporters.selection.series import SeriesSelector
from exporters.text.samples import (
    CompressedText,
    LabelTexts,
    PlainText,
    TextChecksum,
    TextCompressor,
    gzip_member,
    one_array,
    sample_lines,
    total_checksum,
)

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
    source: bytes = b""
    """A digest of all that the sample lines are made from; empty if it is not known."""

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
    def build(
        cls, snapshot: Snapshot, selector: SeriesSelector | None = None, previous: Exposition | None = None
    ) -> PublishedSnapshot:
        """Render the selected series of a snapshot (`selector` None: all). Expensive: done once, by the publisher.

        Texts of the `previous` exposition are used again where nothing has changed.
        """
        selector = selector or SeriesSelector()
        snapshot = selector.with_targets(snapshot)
        return cls(snapshot, render(*selector.select(snapshot), selector.cluster, previous or EMPTY))

    def at(self, taken_at: float) -> PublishedSnapshot:
        """Return the same as of a later time (Unix seconds), at which nothing had changed."""
        return PublishedSnapshot(dataclasses.replace(self.snapshot, taken_at=taken_at), self.exposition)


EMPTY: Final = Exposition((), dict.fromkeys(ExpositionFormat, TextChecksum()))
"""The exposition before the first snapshot."""


def render(
    snapshot: Snapshot,
    metrics: Sequence[Metric] = SNAPSHOT_METRICS,
    cluster: str | None = None,
    previous: Exposition = EMPTY,
) -> Exposition:
    """Render these metrics of a snapshot, in their order; `cluster` as in `cluster_label`.

    Texts of the `previous` exposition are used again where nothing has changed.
    """
    rendered: dict[str, MetricFamily] = {}
    kept = {family.metric.name: family for family in previous.families}
    for source in dict.fromkeys(metric.source for metric in metrics):
        of_source = [metric for metric in metrics if metric.source == source]
        rendered |= {family.metric.name: family for family in _families(snapshot, source, of_source, cluster, kept)}
    families = (rendered[metric.name] for metric in metrics if metric.name in rendered)
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
    snapshot: Snapshot, source: Source, metrics: Sequence[Metric], cluster: str | None, kept: Mapping[str, MetricFamily]
) -> list[MetricFamily]:
    """Render the metrics of one table that have a value, or return the `kept` family if nothing has changed.

    Metrics with the same labels share the rendered labels.
    """
    table = source.rows(snapshot)
    digest = functools.cache(lambda name: _digest(table.column(name)))
    families, changed = [], []
    for metric in metrics:
        if table.column(metric.column).null_count == len(table):
            continue
        omitted = snapshot.fine_verdicts if metric.omits_fine else ()
        parts = (*map(digest, metric.labels), digest(metric.column), repr((len(table), omitted, cluster)).encode())
        made_from = hashlib.blake2b(b"".join(parts)).digest()
        family = kept.get(metric.name)
        if family is not None and family.metric is metric and family.source == made_from:
            families.append(family)
        else:
            changed.append((metric, omitted, made_from))
    labels = {names: LabelTexts(table, names, cluster) for names in {metric.labels for metric, _, _ in changed}}
    compressors, series = [TextCompressor() for _ in changed], [0] * len(changed)
    for start in range(0, len(table), ROWS_AT_ONCE):
        texts = {names: each.rows(start, ROWS_AT_ONCE) for names, each in labels.items()}
        rows = table.slice(start, ROWS_AT_ONCE)
        for at, (metric, omitted, _) in enumerate(changed):
            lines, count = sample_lines(metric, texts[metric.labels], rows, omitted)
            compressors[at].add(lines)
            series[at] += count
    return families + [
        MetricFamily(metric, compressed_comments(metric), compressor.finish(), count, made_from)
        for (metric, _, made_from), compressor, count in zip(changed, compressors, series, strict=True)
    ]


def _digest(column: pa.ChunkedArray) -> bytes:
    """Return a digest of the values of a column: equal digests mean equal values (64 bytes, BLAKE2b)."""
    array = one_array(column)
    digest = hashlib.blake2b()
    for each in (array.indices, array.dictionary) if pa.types.is_dictionary(array.type) else (array,):
        # A serialised batch has neither the offset of a slice nor what is left of a longer buffer.
        digest.update(pa.record_batch([each], names=[""]).serialize())
    return digest.digest()


def compressed_comments(metric: Metric) -> dict[ExpositionFormat, CompressedText]:
    """Return the comment lines of a metric in each format."""
    return {form: CompressedText.compress(comment_lines(metric, form)) for form in ExpositionFormat}


def _select(families: Iterable[MetricFamily], form: ExpositionFormat, names: Collection[str]) -> list[CompressedText]:
    return [text for family in families if family.metric.is_among(names) for text in family.texts(form)]
