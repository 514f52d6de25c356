"""Sample lines out of Arrow columns: labels and values to text, whole columns at a time. Knows no format and no HTTP.

A line is `name{label="value",...} number`. Columns are joined by Arrow's string kernels into one contiguous buffer that
is the text already; no Python runs per row, and the interpreter is free for other threads meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.catalogue.metric import ValueConversion
from exporters.wording import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from exporters.catalogue.metric import Metric

# 64-bit offsets: the lines of a large cluster pass 2 GiB before anything else breaks.
_TEXT: Final = pa.large_string()


def sample_lines(metric: Metric, labels: pa.Array, table: pa.Table) -> tuple[bytes, int]:
    """Give the lines of one metric and how many there are; a row without a value leaves none.

    `labels` is what `label_texts` made of the same table and the metric's labels.
    """
    values = value_texts(metric, table)
    joined = pc.binary_join_element_wise(_text(metric.name), labels, values, _text("\n"), _text(""))
    return _contents(joined), len(joined) - joined.null_count


def label_texts(table: pa.Table, labels: Sequence[str]) -> pa.Array:
    """Give the part between name and value for each row, spaces included: `{group="a",partition="0"} `.

    A null label is written as the empty string, which Prometheus takes for "no such label".
    """
    return LabelTexts(table, labels).of(0, len(table))


class LabelTexts:
    """What `label_texts` gives, some rows of a table at a time; names that many rows share are written once for all."""

    def __init__(self, table: pa.Table, labels: Sequence[str]) -> None:
        self._rows = len(table)
        columns = (_one_array(table.column(label)) for label in labels)
        self._pieces = [
            _quoter(column, f'{"," if at else "{"}{label}="', '"')
            for at, (label, column) in enumerate(zip(labels, columns, strict=True))
        ]

    def of(self, start: int, count: int) -> pa.Array:
        """Give those of at most so many rows."""
        count = min(count, self._rows - start)
        if not self._pieces:
            return pa.repeat(_text(" "), count)
        return pc.binary_join_element_wise(*(piece(start, count) for piece in self._pieces), _text("} "), _text(""))


def value_texts(metric: Metric, table: pa.Table) -> pa.Array:
    """Give each row's value as text, null where there is none.

    Whole numbers are exact to 64 bits; true is 1 and false is 0. Moments (`timestamp("ms")`) become seconds with three
    decimals, also exact.
    """
    column = _one_array(table.column(metric.column))
    if metric.conversion is ValueConversion.ONE:
        return pc.if_else(shown_rows(column, metric.unless), _text("1"), pa.scalar(None, _TEXT))
    if metric.conversion is ValueConversion.RANK:
        return pc.index_in(column.cast(pa.string()), value_set=pa.array(SEVERITIES, pa.string())).cast(_TEXT)
    if metric.conversion is ValueConversion.TIMESTAMP:
        # The same 128 bits read as "thousandths" put the point in place without any rounding.
        milliseconds = column.cast(pa.int64()).cast(pa.decimal128(19, 0))
        return milliseconds.view(pa.decimal128(19, 3)).cast(_TEXT)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    return column.cast(_TEXT)


def shown_rows(column: pa.Array, unless: Sequence[str]) -> pa.BooleanArray:
    """Tell which values leave a sample: all but nulls and the words of `unless`."""
    if not unless:
        return column.is_valid()
    words = column.cast(pa.string())
    return pc.and_(words.is_valid(), pc.invert(pc.is_in(words, value_set=pa.array(unless, pa.string()))))


def escape(text: str) -> str:
    """Escape a label value as both formats want it: backslash, quote and line feed, nothing else."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _quoter(column: pa.Array, before: str, after: str) -> Callable[[int, int], pa.Array]:
    """Give what wraps the values from a row on, so many; a dictionary's names are escaped and wrapped once each."""
    if not pa.types.is_dictionary(column.type):
        return lambda start, count: _quoted(column.slice(start, count), before, after)
    # The null entry of rows without a name is appended, so that they too are a plain take.
    names = _quoted(pa.concat_arrays([column.dictionary.cast(_TEXT), pa.array([""], _TEXT)]), before, after)
    codes = column.indices
    return lambda start, count: names.take(codes.slice(start, count).fill_null(len(names) - 1))


def _quoted(column: pa.Array, before: str, after: str) -> pa.Array:
    """Escape and wrap each value."""
    text = column.cast(_TEXT).fill_null("")
    for found, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n")):
        text = pc.replace_substring(text, found, written)
    return pc.binary_join_element_wise(_text(before), text, _text(after), _text(""))


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.unify_dictionaries().combine_chunks()


def _contents(texts: pa.Array) -> bytes:
    """Give all strings, one after the other; nulls have no bytes. The buffer may be longer than what is in it."""
    if not len(texts):
        return b""
    _, offsets, data = texts.buffers()
    borders = memoryview(offsets).cast("q")[texts.offset : texts.offset + len(texts) + 1]
    contents: bytes = data.slice(borders[0], borders[-1] - borders[0]).to_pybytes() if data is not None else b""
    return contents


def _text(value: str) -> pa.Scalar:
    return pa.scalar(value, _TEXT)
