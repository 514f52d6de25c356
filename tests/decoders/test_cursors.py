"""Columns and cursors read one Arrow buffer, each row within its own bounds."""

import numpy as np
import pyarrow as pa

from decoders.cursors import BinaryColumn, Cursors
from decoders.schema import INT32, STRING, UUID, Field, Message, Struct

ROWS = [b"\x00\x01abcd", None, b"", b"\x7f\xff\xff\xff\xff\xfe"]


def column(rows: list[bytes | None]) -> BinaryColumn:
    """Return the rows as a slice of a longer column."""
    return BinaryColumn(pa.array([b"xx", *rows, b"yy"], pa.binary()).slice(1, len(rows)))


def test_a_column_handles_a_slice_of_an_array() -> None:
    """Starts and ends are positions in the shared buffer; the null mask is that of the slice."""
    rows = column(ROWS)
    assert (rows.end - rows.start).tolist() == [6, 0, 0, 6]
    assert rows.null.tolist() == [False, True, False, False]
    assert rows.start[0] == 2


def test_numbers_are_big_endian_at_any_position() -> None:
    """Positions need no alignment; a negative position gives the `absent` value."""
    rows = column(ROWS)
    at = np.array([rows.start[3] + 2, -1])
    assert rows.numbers(at, np.dtype(">i4"), absent=-7).tolist() == [-2, -7]
    assert rows.numbers(at[:0], np.dtype(">i4"), absent=-7).tolist() == []


def test_slices_and_ids_are_copied_for_the_requested_rows() -> None:
    """Rows may be in any order and repeated; negative positions and ids of zeros give null."""
    rows = column([b"..abc", b"..", bytes(16), b"\x01" * 16])
    order = np.array([3, 1, 2, 0, 0])
    begin = np.array([rows.start[0] + 2, rows.start[1] + 2, -1, rows.start[3] + 15])[order]
    end = np.array([rows.end[0], rows.end[1], -1, rows.end[3]])[order]
    assert rows.slices(begin, end).to_pylist() == [b"\x01", b"", None, b"abc", b"abc"]
    assert rows.slices(begin[:0], end[:0]).to_pylist() == []
    assert rows.slices(begin[2:3], end[2:3]).to_pylist() == [None]
    at = np.array([rows.start[2], rows.start[3], -1])
    assert rows.uuids(at).to_pylist() == [None, b"\x01" * 16, None]


MESSAGE = Message(
    valid="0-1",
    flexible="1",
    struct=Struct("M", (Field("name", STRING), Field("size", INT32), Field("id", UUID, "1", tag=0))),
)


def fits(rows: list[bytes], version: int) -> list[bool]:
    """Return which rows fit the message."""
    cursors = Cursors(column(rows), np.arange(len(rows)))
    cursors.walk(MESSAGE, version)
    return cursors.fits.tolist()


def test_a_row_never_reads_into_the_next() -> None:
    """A string or number that ends after its own row does not fit, although the buffer continues."""
    whole = b"vv\x00\x01a\x00\x00\x00\x05"
    assert fits([whole, whole[:-1], b"vv\x00\x09a", b"vv\xff\xff", b"vv\x00", b"", whole], 0) == [
        *(True, False, False, False, False, False),
        True,
    ]


def test_long_varints_and_unexpected_tags_do_not_fit() -> None:
    """Lengths of two bytes fit, and lengths of three do not. The one known id is the only tagged field that fits."""
    size = b"\x00\x00\x00\x05"
    rows = [
        b"vv\x81\x01" + b"x" * 128 + size + b"\x00",
        b"vv\x81\x80\x00" + size + b"\x00",
        b"vv\x81\x80\x00" + b"x" * 16383 + size + b"\x00",
        b"vv\x02a" + size + b"\x01\x00\x10" + bytes(16),
        b"vv\x02a" + size + b"\x01\x00\x10" + bytes(15),
        b"vv\x02a" + size + b"\x01\x00\x11" + bytes(17),
        b"vv\x02a" + size + b"\x01\x01\x10" + bytes(16),
        b"vv\x02a" + size + b"\x02\x00\x10" + bytes(16) + b"\x05\x00",
        b"vv\x00" + size + b"\x00",
    ]
    assert fits(rows, 1) == [True, False, False, True, False, False, False, False, False]
