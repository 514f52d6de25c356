"""The records of many batches of magic 2 at once, by vectors: numpy under Arrow arrays.

Batches hop over the lengths of their records in step; all fields are then read by vectors of cursors over one buffer,
and Arrow slices keys and values out of it. What does not fit exactly, and what has headers, is declined as a whole.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoders.log.batch import LOG_APPEND_TIME

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Headers = npt.NDArray[np.void]
Columns = tuple[pa.Array, pa.Array, pa.Array, pa.Array]
"""Offset, timestamp, key, value: as in `decoders.log.columns.SCHEMA`."""


# No varint is longer than ten bytes: with this behind the last record no cursor can leave the buffer.
PADDING: Final = bytes(16)
_LARGEST_BUFFER: Final = 0x7FFFFFFF
_FEW: Final = 400
"""With fewer batches than this a step of all of them costs more than hopping in each."""
HEADER_TYPE: Final = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("count", ">i4"),
    ]
)
"""`decoders.log.batch.HEADER` for vectors."""


class Part(NamedTuple):
    """Some batches of a block, ready to be read: their headers, and where their records lie in a padded buffer.

    `numbers` are their places in the block.
    """

    buffer: bytes
    starts: Ints
    ends: Ints
    headers: Headers
    numbers: list[int]


def read_fast(part: Part) -> Columns | None:
    """Read all records of a part at once; None where the slow reader has to."""
    headers = part.headers
    counts = headers["count"].astype(np.int64)
    if len(part.buffer) > _LARGEST_BUFFER or counts.min(initial=0) < 0:
        return None
    bodies = _record_bodies(part, counts)
    fields = None if bodies is None else _fields(np.frombuffer(part.buffer, np.uint8), *bodies)
    if fields is None:
        return None
    timestamp_delta, offset_delta, key_start, key_size, value_start, value_size = fields
    owner = np.repeat(np.arange(len(counts)), counts)
    appended = (headers["attributes"] & LOG_APPEND_TIME) != 0
    created_at = headers["base_timestamp"].astype(np.int64)[owner] + timestamp_delta
    timestamp = np.where(appended[owner], headers["max_timestamp"].astype(np.int64)[owner], created_at)
    offset = headers["base_offset"].astype(np.int64)[owner] + offset_delta
    key, value = _slices(part.buffer, key_start, key_size, value_start, value_size)
    return pa.array(offset), timestamps(timestamp), key, value


def _record_bodies(part: Part, counts: Ints) -> tuple[Ints, Ints] | None:
    """Find where each record's fields begin and end. None unless the records fill their batches exactly.

    All batches hop from record to record in step while they are many; the few long ones that remain hop one by one.
    """
    buffer = np.frombuffer(part.buffer, np.uint8)
    first = np.cumsum(counts) - counts
    total = int(counts.sum())
    # Every record takes at least one byte: a count that cannot be true must not allocate anything.
    if total > len(buffer):
        return None
    starts, ends = np.empty(total, np.int64), np.empty(total, np.int64)
    at, step = part.starts.copy(), 0
    while len(active := np.flatnonzero(counts > step)) >= _FEW:
        size, start = _varints(buffer, np.minimum(at[active], part.ends[active]), 5)
        at[active] = start + size
        starts[first[active] + step], ends[first[active] + step] = start, at[active]
        if (size < 0).any() or (at[active] > part.ends[active]).any():
            return None
        step += 1
    for number in active.tolist():
        here, after = int(first[number]) + step, int(first[number] + counts[number])
        borders = _hop(part.buffer, int(at[number]), int(part.ends[number]), after - here)
        if borders is None:
            return None
        starts[here:after], ends[here:after] = borders
        at[number] = part.ends[number]
    return (starts, ends) if np.array_equal(at, part.ends) else None


def _hop(buffer: bytes, at: int, end: int, count: int) -> tuple[list[int], list[int]] | None:
    """Hop over so many records of one batch, which must end where it ends."""
    starts: list[int] = []
    ends: list[int] = []
    for _ in range(count):
        # The length is a zigzag varint: an odd one is negative, four bytes or more are left to the slow reader.
        byte = buffer[at]
        if byte < 0x80:
            at += 1
        elif (second := buffer[at + 1]) < 0x80:
            byte += (second << 7) - 0x80
            at += 2
        elif (third := buffer[at + 2]) < 0x80:
            byte += (second << 7) + (third << 14) - 0x4080
            at += 3
        else:
            return None
        starts.append(at)
        at += byte >> 1
        if byte & 1 or at > end:
            return None
        ends.append(at)
    return (starts, ends) if at == end else None


def _fields(buffer: Bytes, at: Ints, end: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints] | None:
    """Read all records' fields, one field at a time; None where one does not fit its record or has headers."""
    timestamp_delta, at = _varints(buffer, np.minimum(at + 1, end), 10)
    offset_delta, at = _varints(buffer, np.minimum(at, end), 5)
    key_size, key_start = _varints(buffer, np.minimum(at, end), 5)
    at = key_start + np.maximum(key_size, 0)
    value_size, value_start = _varints(buffer, np.minimum(at, end), 5)
    at = value_start + np.maximum(value_size, 0)
    header_count, at = _varints(buffer, np.minimum(at, end), 5)
    # A cursor that ran past its record anywhere also ends past it: they only move forward, and by the same rules.
    if np.array_equal(at, end) and not header_count.any():
        return timestamp_delta, offset_delta, key_start, key_size, value_start, value_size
    return None


def _varints(buffer: Bytes, at: Ints, longest: int) -> tuple[Ints, Ints]:
    """Read the zigzag number at each cursor: the numbers and the cursors behind them.

    A number of more than `longest` bytes leaves its cursor far behind every end.
    """
    byte = buffer[at]
    number = (byte & 0x7F).astype(np.int64)
    after = at + 1
    going_on = np.flatnonzero(byte & 0x80)
    for place in range(1, longest):
        if not len(going_on):
            break
        byte = buffer[after[going_on]]
        number[going_on] |= (byte & 0x7F).astype(np.int64) << (7 * place)
        after[going_on] += 1
        going_on = going_on[(byte & 0x80) != 0]
    after[going_on] = np.iinfo(np.int64).max >> 1
    if longest == 5:  # a 32-bit number: what overflows is cut off
        number &= 0xFFFFFFFF
    return ((number >> 1) & np.int64(0x7FFFFFFFFFFFFFFF)) ^ -(number & 1), after


def _slices(
    buffer: bytes, key_start: Ints, key_size: Ints, value_start: Ints, value_size: Ints
) -> tuple[pa.Array, pa.Array]:
    """Cut keys and values out of the buffer.

    All their borders, in order, are the offsets of one binary array over the buffer, whose elements are key, gap,
    value, gap, key ...; taking every fourth one copies the bytes in C++.
    """
    borders = np.empty((len(key_start), 4), np.int32)
    borders[:, 0] = key_start
    borders[:, 1] = key_start + np.maximum(key_size, 0)
    borders[:, 2] = value_start
    borders[:, 3] = value_start + np.maximum(value_size, 0)
    pieces = pa.Array.from_buffers(
        pa.binary(), max(0, borders.size - 1), [None, pa.py_buffer(borders), pa.py_buffer(buffer)]
    )
    places = np.arange(len(key_start), dtype=np.int64) * 4
    return (
        pieces.take(pa.array(places, mask=key_size < 0)),
        pieces.take(pa.array(places + 2, mask=value_size < 0)),
    )


def timestamps(milliseconds: Ints) -> pa.Array:
    """Make the column of these milliseconds; -1 is none."""
    return pa.array(milliseconds.view("datetime64[ms]"), pa.timestamp("ms"), mask=milliseconds == -1)
