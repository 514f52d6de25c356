"""Renders sample lines from Arrow columns, whole columns at a time. The lines are the same in both formats.

A line is `name{label="value",...} number`. Arrow's string kernels join the columns into one contiguous buffer, which is
the text: no Python runs per row, and the kernels release the GIL.

Texts that are compressed once and joined in any selection: into a plain response, or into one valid gzip member.

A text is kept as raw deflate blocks that end at a byte boundary (RFC 1951: a full flush), with its length and CRC-32.
Texts and their checksums can therefore be joined without reading their bytes again. A short text is also kept
uncompressed. A long one is not, because plain text would be most of the memory of the process; it is inflated for each
client that requests it uncompressed, a slice at a time.
"""

from __future__ import annotations

import dataclasses
import functools
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Self

import pyarrow as pa
import pyarrow.compute as pc
from isal import isal_zlib

from exporters.catalogue.metric import Metric, ValueConversion
from exporters.wording import SEVERITIES

CLUSTER_LABEL: Final = "cluster"
"""The label of all series that has the configured name of the cluster (metrics.cluster_name)."""
# 64-bit offsets: the lines of a large cluster exceed 2 GiB.
_TEXT: Final = pa.large_string()


def sample_lines(metric: Metric, labels: pa.Array, table: pa.Table, omitted: Sequence[str] = ()) -> tuple[bytes, int]:
    """Return the lines of one metric and their number; a row without a value has no line.

    `labels` is `label_texts` of the same table and the metric's labels; `omitted` as in `value_texts`.
    """
    values = value_texts(metric, table, omitted)
    joined = pc.binary_join_element_wise(_text(metric.name), labels, values, _text("\n"), _text(""))
    return _contents(joined), len(joined) - joined.null_count


def label_texts(table: pa.Table, labels: Sequence[str], cluster: str | None = None) -> pa.Array:
    """Return the text between name and value for each row, with the space: `{group="a",partition="0"} `.

    A null label is written as the empty string, which Prometheus treats as a missing label. `cluster` as in
    `cluster_label`.
    """
    return LabelTexts(table, labels, cluster).rows(0, len(table))


def cluster_label(cluster: str | None, labels: Sequence[str]) -> str:
    """Return the label `cluster="NAME"` of a series, escaped; empty without a name (None).

    Also empty if the series has a label of this name among its `labels`: that of another exporter, which has its value.
    """
    return "" if cluster is None or CLUSTER_LABEL in labels else f'{CLUSTER_LABEL}="{escape(cluster)}"'


class LabelTexts:
    """The result of `label_texts`, some rows of a table at a time. A name that many rows share is escaped only once."""

    def __init__(self, table: pa.Table, labels: Sequence[str], cluster: str | None = None) -> None:
        self._rows = len(table)
        # The label that all rows share is part of what precedes the first value of each row.
        shared = cluster_label(cluster, labels)
        first = f"{{{shared}," if shared else "{"
        self._unlabelled = _text(f"{{{shared}}} " if shared else " ")
        columns = (one_array(table.column(label)) for label in labels)
        self._renderers = [
            _label_renderer(column, f'{"," if at else first}{label}="', '"')
            for at, (label, column) in enumerate(zip(labels, columns, strict=True))
        ]

    def rows(self, start: int, count: int) -> pa.Array:
        """Return the label texts of at most `count` rows from `start` on."""
        count = min(count, self._rows - start)
        if not self._renderers:
            return pa.repeat(self._unlabelled, count)
        columns = (render(start, count) for render in self._renderers)
        return pc.binary_join_element_wise(*columns, _text("} "), _text(""))


def value_texts(metric: Metric, table: pa.Table, omitted: Sequence[str] = ()) -> pa.Array:
    """Return each row's value as text, null if the row has no sample.

    Whole numbers are exact to 64 bits; true is 1 and false is 0. Times (`timestamp("ms")`) become seconds with three
    decimals, also exact. `omitted` are values without a sample (`Metric.omits_fine`); only `ONE` uses them.
    """
    column = one_array(table.column(metric.column))
    if metric.conversion is ValueConversion.ONE:
        return pc.if_else(has_sample(column, omitted), _text("1"), pa.scalar(None, _TEXT))
    if metric.conversion is ValueConversion.RANK:
        return pc.index_in(column.cast(pa.string()), value_set=pa.array(SEVERITIES, pa.string())).cast(_TEXT)
    if metric.conversion is ValueConversion.TIMESTAMP:
        # The same 128 bits viewed as a decimal of scale 3: divides by 1000 without rounding.
        milliseconds = column.cast(pa.int64()).cast(pa.decimal128(19, 0))
        return milliseconds.view(pa.decimal128(19, 3)).cast(_TEXT)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    return column.cast(_TEXT)


def has_sample(column: pa.Array | pa.ChunkedArray, omitted: Sequence[str]) -> pa.BooleanArray:
    """Return a mask of the values with a sample: all but nulls and the omitted ones."""
    if not omitted:
        return column.is_valid()
    words = (one_array(column) if isinstance(column, pa.ChunkedArray) else column).dictionary_encode()
    shown = pc.invert(pc.is_in(words.dictionary, value_set=pa.array(omitted, pa.string())))
    return shown.take(words.indices).fill_null(False)


def escape(text: str) -> str:
    """Escape a label value as both formats define: backslash, quote and line feed, nothing else."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _label_renderer(column: pa.Array, before: str, after: str) -> Callable[[int, int], pa.Array]:
    """Return a function of (start, count) that renders a column's labels; names of a dictionary are escaped once."""
    if not pa.types.is_dictionary(column.type):
        return lambda start, count: _quoted(column.slice(start, count), before, after)
    # An empty name for null is appended, so that rows without a name need no extra pass.
    names = _quoted(pa.concat_arrays([column.dictionary.cast(_TEXT), pa.array([""], _TEXT)]), before, after)
    codes = column.indices
    return lambda start, count: names.take(codes.slice(start, count).fill_null(len(names) - 1))


def _quoted(column: pa.Array, before: str, after: str) -> pa.Array:
    """Return each value escaped, between `before` and `after`."""
    text = column.cast(_TEXT).fill_null("")
    for found, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n")):
        text = pc.replace_substring(text, found, written)
    return pc.binary_join_element_wise(_text(before), text, _text(after), _text(""))


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, a dictionary with all of its names."""
    return column.chunk(0) if column.num_chunks == 1 else column.unify_dictionaries().combine_chunks()


def _contents(texts: pa.Array) -> bytes:
    """Return all strings concatenated; nulls have no bytes. The array may be a slice of a longer buffer."""
    if not len(texts):
        return b""
    _, offsets, data = texts.buffers()
    borders = memoryview(offsets).cast("q")[texts.offset : texts.offset + len(texts) + 1]
    return data.slice(borders[0], borders[-1] - borders[0]).to_pybytes() if data is not None else b""


def _text(value: str) -> pa.Scalar:
    return pa.scalar(value, _TEXT)


KEPT_PLAIN: Final = 256 << 10
"""Texts up to this length in bytes are also kept uncompressed. A megabyte is inflated in 0.4 ms."""

# On text this repetitive, levels above take up to nine times as long and save a fiftieth.
_LEVEL: Final = 1
# RFC 1952: magic, deflate, no flags, no time, fastest, unknown system.
_GZIP_HEADER: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"
_INFLATE_AT_ONCE: Final = 16 * 1024
"""Compressed bytes that are inflated in one step: usually some hundred kilobytes of text."""


@dataclasses.dataclass(frozen=True, slots=True)
class TextChecksum:
    """Length and CRC-32 of a text."""

    length: int = 0
    checksum: int = 0

    def then(self, other: TextChecksum) -> TextChecksum:
        """Return the length and checksum of this text followed by the other."""
        checksum = isal_zlib.crc32_combine(self.checksum, other.checksum, other.length)
        return TextChecksum(self.length + other.length, checksum)


@dataclasses.dataclass(frozen=True, slots=True)
class CompressedText:
    """A compressed text with its checksum, and the text itself if it is short (else None).

    It is inflated for each reader, who iterates over its slices. Its length is known in advance.
    """

    deflated: bytes
    checksum: TextChecksum
    kept: bytes | None

    @staticmethod
    def compress(text: bytes) -> CompressedText:
        """Return a text in its compressed form."""
        return TextCompressor().add(text).finish()

    @property
    def plain(self) -> PlainText:
        """The text itself."""
        return self if self.kept is None else self.kept

    def __len__(self) -> int:
        return self.checksum.length

    def __iter__(self) -> Iterator[bytes]:
        inflate = isal_zlib.decompressobj(-isal_zlib.MAX_WBITS)
        for start in range(0, len(self.deflated), _INFLATE_AT_ONCE):
            yield inflate.decompress(self.deflated[start : start + _INFLATE_AT_ONCE])


PlainText = bytes | CompressedText
"""A part of an uncompressed response."""


class TextCompressor:
    """Compresses a text that arrives in parts."""

    def __init__(self) -> None:
        self._deflate = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, -isal_zlib.MAX_WBITS)
        self._blocks: list[bytes] = []
        self._kept: list[bytes] = []
        self._length = self._checksum = 0

    def add(self, text: bytes) -> Self:
        """Append the next part."""
        self._blocks.append(self._deflate.compress(text))
        self._length, self._checksum = self._length + len(text), isal_zlib.crc32(text, self._checksum)
        if self._length <= KEPT_PLAIN:
            self._kept.append(text)
        else:
            self._kept.clear()
        return self

    def finish(self) -> CompressedText:
        """Return the compressed text. Nothing can be added afterwards."""
        self._blocks.append(self._deflate.flush(isal_zlib.Z_FULL_FLUSH))
        kept = b"".join(self._kept) if self._length <= KEPT_PLAIN else None
        return CompressedText(b"".join(self._blocks), TextChecksum(self._length, self._checksum), kept)


def total_checksum(texts: Iterable[CompressedText]) -> TextChecksum:
    """Return the length and checksum of the concatenation of texts."""
    return functools.reduce(TextChecksum.then, (text.checksum for text in texts), TextChecksum())


def gzip_member(texts: Iterable[CompressedText], total: TextChecksum, last: bytes) -> list[bytes]:
    """Return one gzip member, in parts, of texts with the checksum `total`, followed by the short text `last`."""
    deflate = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, -isal_zlib.MAX_WBITS)
    blocks = deflate.compress(last) + deflate.flush(isal_zlib.Z_FINISH)
    whole = total.then(TextChecksum(len(last), isal_zlib.crc32(last)))
    trailer = struct.pack("<II", whole.checksum, whole.length & 0xFFFFFFFF)
    return [_GZIP_HEADER, *(text.deflated for text in texts), blocks, trailer]
