"""Snapshot and catalogue to the bytes of `/metrics`: once per snapshot, in both formats, plain and compressed.

A scrape copies what is here and adds the monitor's live part (`text.live`). To make that possible without doing
the work again, each metric's lines are kept once as a piece (`exporters.text.pieces`), shared by both formats: only the
comment lines above them differ. Tables are rendered some rows at a time, which stay in the processor's cache: a large
cluster's text is a gigabyte.

No HTTP here, no clock, and no value that is not in the snapshot.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING, Final

from exporters.catalogue.metric import Kind
from exporters.catalogue.metrics import SNAPSHOT_METRICS
from exporters.text.lines import LabelTexts, sample_lines
from exporters.text.pieces import NOTHING, Piece, Sum, Writer, gzip_member, sum_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import pyarrow as pa

    from exporters.catalogue.metric import Metric
    from exporters.readmodel import Snapshot
    from exporters.selection.choice import Chooser
    from exporters.text.pieces import Text

ROWS_AT_ONCE: Final = 32_768


class Format(enum.Enum):
    """The formats of `/metrics`; the value is the content type."""

    TEXT = "text/plain; version=0.0.4; charset=utf-8"
    OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


@dataclasses.dataclass(frozen=True, slots=True)
class Family:
    """One metric, rendered: its comment lines per format, its sample lines, and how many of those there are."""

    metric: Metric
    heads: dict[Format, Piece]
    samples: Piece
    series: int

    def pieces(self, form: Format) -> tuple[Piece, Piece]:
        """Give what stands in `/metrics` for this metric."""
        return self.heads[form], self.samples


@dataclasses.dataclass(frozen=True, slots=True)
class Exposition:
    """All of a snapshot's metrics as bytes; a metric without a sample is left out whole."""

    families: tuple[Family, ...]
    # Of all families, per format, so that a scrape has not even to read the bytes.
    sums: dict[Format, Sum]

    @property
    def series(self) -> int:
        """How many series there are."""
        return sum(family.series for family in self.families)

    def plain(self, form: Format, names: Collection[str] = ()) -> list[Text]:
        """Give the text in parts that are shared and must not be joined without need; `names` chooses metrics."""
        return [piece.plain for piece in _chosen(self.families, form, names)]

    def gzipped(self, form: Format, live: bytes, names: Collection[str] = ()) -> list[bytes]:
        """Give one gzip member of the text and, behind it, of the `live` text, in parts."""
        pieces = _chosen(self.families, form, names)
        return gzip_member(pieces, sum_of(pieces) if names else self.sums[form], live)


# Compared by identity: two snapshots are the same only if they are one, and tables cannot be hashed.
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Published:
    """A snapshot and its bytes, made together: whoever holds the reference sees one moment. Swapped, never changed."""

    snapshot: Snapshot
    exposition: Exposition

    @classmethod
    def of(cls, snapshot: Snapshot, chooser: Chooser | None = None) -> Published:
        """Render what is chosen of a snapshot. This is the expensive step; it belongs where the snapshot is made."""
        if chooser is None:
            return cls(snapshot, render(snapshot))
        chosen = chooser.choose(snapshot)
        return cls(chosen.snapshot, render(chosen.shown, chosen.metrics))


EMPTY: Final = Exposition((), dict.fromkeys(Format, NOTHING))
"""What there is before the first snapshot: nothing."""


def render(snapshot: Snapshot, metrics: Sequence[Metric] = SNAPSHOT_METRICS) -> Exposition:
    """Render these metrics of a snapshot, in their order."""
    written: dict[str, Family] = {}
    for source in dict.fromkeys(metric.source for metric in metrics):
        of_source = [metric for metric in metrics if metric.source is source]
        written |= {family.metric.name: family for family in _families(getattr(snapshot, source.value), of_source)}
    every = (written[metric.name] for metric in metrics)
    families = tuple(family for family in every if family.series)
    return Exposition(families, {form: sum_of(_chosen(families, form, ())) for form in Format})


def head(metric: Metric, form: Format) -> bytes:
    r"""Give the comment lines of a metric.

    In OpenMetrics a counter's and an info's family is named without the suffix, and the unit has a line. Help texts are
    ours: none has a backslash or a line feed, so none needs escaping.
    """
    if form is Format.TEXT:
        kind = Kind.GAUGE if metric.kind is Kind.INFO else metric.kind
        return f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} {kind.value}\n".encode()
    unit = f"# UNIT {metric.family} {metric.unit}\n" if metric.unit else ""
    return f"# HELP {metric.family} {metric.help}\n# TYPE {metric.family} {metric.kind.value}\n{unit}".encode()


def gzipped(text: bytes) -> list[bytes]:
    """Give one gzip member of a text alone, in parts."""
    return EMPTY.gzipped(Format.TEXT, text)


def _families(table: pa.Table, metrics: Sequence[Metric]) -> list[Family]:
    """Render the metrics of one table; those that share labels share the text of those."""
    labels = {names: LabelTexts(table, names) for names in {metric.labels for metric in metrics}}
    writers, series = [Writer() for _ in metrics], [0] * len(metrics)
    for start in range(0, len(table), ROWS_AT_ONCE):
        texts = {names: each.of(start, ROWS_AT_ONCE) for names, each in labels.items()}
        rows = table.slice(start, ROWS_AT_ONCE)
        for at, (metric, writer) in enumerate(zip(metrics, writers, strict=True)):
            lines, count = sample_lines(metric, texts[metric.labels], rows)
            writer.add(lines)
            series[at] += count
    written = zip(metrics, writers, series, strict=True)
    return [Family(metric, _heads(metric), writer.piece(), count) for metric, writer, count in written]


def _heads(metric: Metric) -> dict[Format, Piece]:
    return {form: Piece.of(head(metric, form)) for form in Format}


def _chosen(families: Iterable[Family], form: Format, names: Collection[str]) -> list[Piece]:
    return [piece for family in families if family.metric.is_among(names) for piece in family.pieces(form)]
