"""Vectorised cursors over one Arrow binary column: the wire rules of `decoders.wire`, for many rows at once.

`BinaryColumn` owns the buffer and reads numbers, ids and slices at given positions. `Cursors` holds one cursor per row
and walks them through the table of a message. A row stops fitting when it runs past its end, has a null in a field that
is not nullable, or needs a rule that is too rare to vectorise. No content of the bytes raises an exception.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoders.schema import Field, Message, Primitive

Int16s = npt.NDArray[np.int16]
Int64s = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


_INT16: Final = np.dtype(">i2")


class BinaryColumn:
    """An Arrow BinaryArray as one buffer, with the start and end of each row in it and a mask of null rows.

    `rows` selects rows without copying.
    """

    def __init__(self, array: pa.BinaryArray, rows: Int64s | None = None) -> None:
        _, offsets, data = array.buffers()
        count = len(array)
        if count:
            bounds = np.frombuffer(offsets, dtype=np.int32)[array.offset : array.offset + count + 1].astype(np.int64)
        else:
            bounds = np.zeros(1, dtype=np.int64)
        null = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else np.zeros(count, dtype=np.bool_)
        selection = slice(None) if rows is None else rows
        self.data = data if data is not None else pa.py_buffer(b"")
        self.bytes = np.frombuffer(self.data, dtype=np.uint8)
        self.start: Int64s = bounds[:-1][selection]
        self.end: Int64s = bounds[1:][selection]
        self.null: Flags = null[selection]

    def leading_int16s(self) -> Int16s:
        """Return the int16 at the start of each row, -1 for rows that are null or too short."""
        long_enough = ~self.null & (self.end - self.start >= 2)
        return self.numbers(np.where(long_enough, self.start, -1), np.dtype(">i2"), absent=-1)

    def numbers(self, at: Int64s, dtype: np.dtype, *, absent: int) -> npt.NDArray[Any]:
        """Return the big-endian numbers at these positions, `absent` for negative positions."""
        present = at >= 0
        native = dtype.newbyteorder("=")
        if present.all() and len(at):
            return self._int16s(at) if dtype == _INT16 else self._windows(dtype)[at].astype(native)
        result = np.full(len(at), absent, dtype=native)
        if present.any():
            result[present] = self._windows(dtype)[at[present]]
        return result

    def slices(self, begin: Int64s, end: Int64s) -> pa.BinaryArray:
        """Return copies of the bytes from `begin` to `end`, null where `begin` is negative.

        Arrow does the copying: in an array over the same buffer every second element is a slice; the elements between
        them may have invalid bounds, because they are never read.
        """
        missing = begin < 0
        count = len(begin)
        bounds = np.zeros(2 * count + 1, dtype=np.int32)
        bounds[:-1:2] = np.where(missing, 0, begin)
        bounds[1::2] = np.where(missing, 0, end)
        if count:
            # Arrow estimates the bytes to copy from the first and the last bound.
            bounds[-1] = min(int(bounds[0]) + int((bounds[1::2] - bounds[:-1:2]).sum()), len(self.bytes))
        pieces = pa.BinaryArray.from_buffers(pa.binary(), 2 * count, [None, pa.py_buffer(bounds), self.data])
        return pieces.take(pa.array(np.arange(0, 2 * count, 2), mask=missing))

    def uuids(self, at: Int64s) -> pa.Array:
        """Return the sixteen bytes at these positions, null if the position is negative or all bytes are zero."""
        in_row = at >= 0
        raw = np.zeros((len(at), 16), dtype=np.uint8)
        if in_row.any():
            raw[in_row] = np.lib.stride_tricks.sliding_window_view(self.bytes, 16)[at[in_row]]
        present = raw.any(axis=1)
        kind = pa.binary(16)
        validity = pa.array(present).buffers()[1]
        return pa.FixedSizeBinaryArray.from_buffers(kind, len(at), [validity, pa.py_buffer(raw)])

    def _int16s(self, at: Int64s) -> Int16s:
        """Return the int16 at these positions; twice as fast as `_windows`."""
        return self.bytes[at].astype(np.int16) << 8 | self.bytes[at + 1]

    def _windows(self, dtype: np.dtype) -> npt.NDArray[Any]:
        """Return a view of the buffer as numbers, one starting at every byte."""
        return np.ndarray((len(self.bytes) - dtype.itemsize + 1,), dtype, self.data, strides=(1,))


class Cursors:
    """One cursor per selected row, starting after its leading int16. `fits` marks the rows that are readable so far."""

    def __init__(self, column: BinaryColumn, rows: Int64s) -> None:
        self._column = column
        self._end = column.end[rows]
        self.at: Int64s = column.start[rows] + 2
        self.fits: Flags = np.ones(len(rows), dtype=np.bool_)

    def walk(self, message: Message, version: int) -> dict[str, Int64s]:
        """Walk a message and return where each field begins, `<name>_end` for strings, and -1 for an absent tag."""
        flexible = message.is_flexible(version)
        positions: dict[str, Int64s] = {}
        present = [field for field in message.struct.fields if field.present(version)]
        for field in present:
            if field.tag is None:
                self._step(field, positions, flexible=flexible)
        if flexible:
            self._one_tag([field for field in present if field.tag is not None], positions)
        return positions

    def _step(self, field: Field, positions: dict[str, Int64s], *, flexible: bool) -> None:
        """Walk over one field: a number or a non-nullable string."""
        kind = field.type
        assert isinstance(kind, Primitive), "only flat messages can be walked"  # noqa: S101  # a mistake in this package
        if kind.width is not None:
            positions[field.name] = self._advance(kind.width)
            return
        length = self._compact_length() if flexible else self._int16()
        self.fits &= length >= 0
        positions[field.name] = self._advance(np.where(self.fits, length, 0))
        positions[f"{field.name}_end"] = self.at

    def _advance(self, width: int | Int64s) -> Int64s:
        """Move each cursor over `width` bytes and return where they begin; rows that are too short stop fitting."""
        begin = self.at
        after = begin + width
        inside = after <= self._end
        if inside.all():
            self.at = after
        else:
            self.fits &= inside
            self.at = np.where(inside, after, begin)
        return begin

    def _int16(self) -> Int64s:
        """Read the int16 length of a string in a non-flexible version."""
        begin = self._advance(2)
        return self._column.numbers(np.where(self.fits, begin, -1), np.dtype(">i2"), absent=-1).astype(np.int64)

    def _byte(self) -> Int64s:
        """Read one byte; 0 for rows that do not fit."""
        begin = self._advance(1)
        if not len(self._column.bytes):
            return np.zeros(len(begin), dtype=np.int64)
        return np.where(self.fits, self._column.bytes[np.where(self.fits, begin, 0)], 0).astype(np.int64)

    def _compact_length(self) -> Int64s:
        """Read a varint of length + 1 and return the length; rows with varints above two bytes stop fitting."""
        value = self._byte()
        continued = value >= 0x80
        if continued.any():
            inside = self.at < self._end
            self.fits &= inside | ~continued
            two_bytes = continued & inside
            second = np.zeros(len(value), dtype=np.int64)
            second[two_bytes] = self._column.bytes[self.at[two_bytes]]
            self.fits &= second < 0x80
            value = (value & 0x7F) | second << 7
            self.at = self.at + two_bytes
        return value - 1

    def _one_tag(self, tagged: list[Field], positions: dict[str, Int64s]) -> None:
        """Walk over a tagged section that is empty or has exactly one field: the known uuid, with its tag and size."""
        (field,) = tagged
        count = self._byte()
        has_tag = count == 1
        self.fits &= has_tag | (count == 0)
        begin = np.full(len(self.at), -1, dtype=np.int64)
        positions[field.name] = begin
        if not has_tag.any():
            return
        inside = self.at + 18 <= self._end
        self.fits &= inside | ~has_tag
        rows = np.flatnonzero(self.fits & has_tag)
        tag_at = self.at[rows]
        is_known = (self._column.bytes[tag_at] == field.tag) & (self._column.bytes[tag_at + 1] == 16)
        self.fits[rows[~is_known]] = False
        begin[rows[is_known]] = tag_at[is_known] + 2
        self.at[rows[is_known]] += 18
