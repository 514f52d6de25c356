"""Snapshot and catalogue to the bytes of `/metrics`: once per snapshot, in both formats, plain and compressed.

A scrape copies what is here and adds the monitor's live part (`exporters.live`). To make that possible without doing
the work again, each metric's lines are kept once, shared by both formats (only the comment lines above them differ),
together with the same lines deflated and cut at a byte border (RFC 1951: a full flush). Such pieces can be joined in
any choice into one valid gzip member: the checksum of the whole goes on from piece to piece.

No HTTP here, no clock, and no value that is not in the snapshot.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import struct
import zlib
from typing import TYPE_CHECKING, Final

from exporters.catalogue import SNAPSHOT_METRICS
from exporters.lines import label_texts, sample_lines
from exporters.metric import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import pyarrow as pa

    from exporters.metric import Metric
    from exporters.readmodel import Snapshot

# Level 1: on such repetitive text level 6 takes five times as long to save a tenth.
_LEVEL: Final = 1
# RFC 1952: magic, deflate, no flags, no time, fastest, unknown system.
_GZIP_HEADER: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"


class Format(enum.Enum):
    """The formats of `/metrics`; the value is the content type."""

    TEXT = "text/plain; version=0.0.4; charset=utf-8"
    OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


@dataclasses.dataclass(frozen=True, slots=True)
class Piece:
    """Some text and the same text as raw deflate blocks that end at a byte border without ending the stream."""

    plain: bytes
    deflated: bytes

    @classmethod
    def of(cls, text: bytes) -> Piece:
        """Compress a text."""
        deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        return cls(text, deflate.compress(text) + deflate.flush(zlib.Z_FULL_FLUSH))


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
    # The checksum and length of all families, per format, so that a scrape has not even to read the bytes.
    sums: dict[Format, tuple[int, int]]

    @property
    def series(self) -> int:
        """How many series there are."""
        return sum(family.series for family in self.families)

    def plain(self, form: Format, names: Collection[str] = ()) -> list[bytes]:
        """Give the text in parts that are shared and must not be joined without need; `names` chooses metrics."""
        return [piece.plain for piece in _chosen(self.families, form, names)]

    def gzipped(self, form: Format, live: bytes, names: Collection[str] = ()) -> list[bytes]:
        """Give one gzip member of the text and, behind it, of the `live` text, in parts."""
        pieces = _chosen(self.families, form, names)
        start = _sum(piece.plain for piece in pieces) if names else self.sums[form]
        return [_GZIP_HEADER, *(piece.deflated for piece in pieces), *_last(live, start)]


# Compared by identity: two snapshots are the same only if they are one, and tables cannot be hashed.
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Published:
    """A snapshot and its bytes, made together: whoever holds the reference sees one moment. Swapped, never changed."""

    snapshot: Snapshot
    exposition: Exposition

    @classmethod
    def of(cls, snapshot: Snapshot) -> Published:
        """Render a snapshot. This is the expensive step; it belongs where the snapshot is made."""
        return cls(snapshot, render(snapshot))


EMPTY: Final = Exposition((), dict.fromkeys(Format, (0, 0)))
"""What there is before the first snapshot: nothing."""


def render(snapshot: Snapshot) -> Exposition:
    """Render all metrics of a snapshot."""
    families = tuple(family for metric, rows in _rows(snapshot) if (family := _family(metric, *rows)).series)
    return Exposition(families, {form: _sum(piece.plain for piece in _chosen(families, form, ())) for form in Format})


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


def _rows(snapshot: Snapshot) -> Iterable[tuple[Metric, tuple[pa.Array, pa.Table]]]:
    """Give each metric with its table; metrics that share labels share the text of those."""
    labels = functools.cache(lambda source, names: label_texts(getattr(snapshot, source.value), names))
    for metric in SNAPSHOT_METRICS:
        yield metric, (labels(metric.source, metric.labels), getattr(snapshot, metric.source.value))


def _family(metric: Metric, labels: pa.Array, table: pa.Table) -> Family:
    lines, series = sample_lines(metric, labels, table)
    return Family(metric, {form: Piece.of(head(metric, form)) for form in Format}, Piece.of(lines), series)


def _chosen(families: Iterable[Family], form: Format, names: Collection[str]) -> list[Piece]:
    return [piece for family in families if family.metric.is_among(names) for piece in family.pieces(form)]


def _sum(texts: Iterable[bytes]) -> tuple[int, int]:
    checksum, length = 0, 0
    for text in texts:
        checksum, length = zlib.crc32(text, checksum), length + len(text)
    return checksum, length


def _last(live: bytes, start: tuple[int, int]) -> tuple[bytes, bytes]:
    """End the deflate stream with the live text, and the member with checksum and length of all."""
    checksum, length = start
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    blocks = deflate.compress(live) + deflate.flush(zlib.Z_FINISH)
    return blocks, struct.pack("<II", zlib.crc32(live, checksum), (length + len(live)) & 0xFFFFFFFF)
