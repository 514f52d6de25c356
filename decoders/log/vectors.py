"""Reads the records of many batches of magic 2 at once, with numpy vectors under Arrow arrays.

First the record boundaries are found, by following the record lengths in all batches in parallel. All fields are then
read with vectors of cursors over one buffer, and Arrow slices keys and values out of it. A part with a record that does
not fit exactly or has headers is declined as a whole.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoders.log.batch import HEADER, LOG_APPEND_TIME, RecordBatch

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Headers = npt.NDArray[np.void]


# No varint is longer than ten bytes: with this after the last record no cursor can leave the buffer.
PADDING: Final = bytes(16)
_LARGEST_BUFFER: Final = 0x7FFFFFFF
_OF_ONE_BYTE: Final = (np.arange(128) >> 1) ^ -(np.arange(128) & 1)
"""The zigzag numbers of one byte."""
_NOT_FOLLOWED: Final = -1
_MIN_PARALLEL_BATCHES: Final = 200
"""With fewer batches one parallel step costs more than following the lengths in each batch."""
HEADER_TYPE: Final = np.dtype(
    [(name, f">{code}") for name, code in zip(RecordBatch._fields, HEADER.format.removeprefix(">"), strict=False)]
)
"""`batch.HEADER` as a numpy type."""


class LogColumns(NamedTuple):
    """Records in log order: offset, timestamp in ms (-1 = none), key and value."""

    offset: Ints
    timestamp: Ints
    key: pa.BinaryArray
    value: pa.BinaryArray


class Part(NamedTuple):
    """Some batches of a block: their headers, and the positions of their records in a padded buffer.

    `numbers` are the positions of the batches in the block.
    """

    buffer: bytes
    starts: Ints
    ends: Ints
    headers: Headers
    numbers: Ints


def headers_at(chunk: bytes, starts: Ints) -> Headers:
    """Return the headers of the batches of magic 2 that begin at these positions, each with all its 61 bytes."""
    size = HEADER_TYPE.itemsize
    # An array whose elements overlap: one gather copies whole headers instead of 61 single bytes of each.
    everywhere = np.ndarray((max(len(chunk) - size + 1, 0),), np.dtype((np.void, size)), chunk, strides=(1,))
    return everywhere[starts].view(HEADER_TYPE)


def read_fast(part: Part) -> LogColumns | None:
    """Return the records of a part as columns; None if the slow reader must read them."""
    bodies = _record_bodies(part)
    fields = None if bodies is None else _fields(np.frombuffer(part.buffer, np.uint8), *bodies)
    if fields is None:
        return None
    timestamp_delta, offset_delta, key_start, key_size, value_start, value_size = fields
    offset, timestamp = _positions(part.headers, timestamp_delta, offset_delta)
    key, value = _slices(part.buffer, key_start, key_size, value_start, value_size)
    return LogColumns(offset, timestamp, key, value)


def read_times(parts: Sequence[Part]) -> list[Ints] | None:
    """Return offset and timestamp of the records of each part, in two rows; None if the slow reader must read some.

    The parts are read together. Keys, values and headers are not looked at.
    """
    sizes = np.array([len(part.buffer) for part in parts], np.int64)
    shift = np.repeat(np.cumsum(sizes) - sizes, [len(part.starts) for part in parts])
    starts = np.concatenate([part.starts for part in parts]) + shift
    ends = np.concatenate([part.ends for part in parts]) + shift
    headers = np.frombuffer(b"".join(part.headers.tobytes() for part in parts), HEADER_TYPE)
    joined = b"".join(part.buffer for part in parts)
    bodies = _record_bodies(Part(joined, starts, ends, headers, np.arange(len(starts))))
    if bodies is None:
        return None
    buffer, (at, end) = np.frombuffer(joined, np.uint8), bodies
    timestamp_delta, at = _varints(buffer, np.minimum(at + 1, end), 10)
    offset_delta, at = _varints(buffer, np.minimum(at, end), 5)
    if (at > end).any():
        return None
    times = np.stack(_positions(headers, timestamp_delta, offset_delta))
    records = [int(part.headers["record_count"].sum()) for part in parts]
    return np.split(times, np.cumsum(records)[:-1], axis=1)


def _positions(headers: Headers, timestamp_delta: Ints, offset_delta: Ints) -> tuple[Ints, Ints]:
    """Return offset and timestamp of all records of these batches."""
    counts = headers["record_count"]
    base_offset, base_timestamp, max_timestamp, log_append_time = (
        headers["base_offset"].astype(np.int64),
        headers["base_timestamp"].astype(np.int64),
        headers["max_timestamp"].astype(np.int64),
        (headers["attributes"] & LOG_APPEND_TIME) != 0,
    )
    if (counts != 1).any():
        batch_of_record = np.repeat(np.arange(len(counts)), counts)
        base_offset, base_timestamp, max_timestamp, log_append_time = (
            column[batch_of_record] for column in (base_offset, base_timestamp, max_timestamp, log_append_time)
        )
    return base_offset + offset_delta, np.where(log_append_time, max_timestamp, base_timestamp + timestamp_delta)


def _record_bodies(part: Part) -> tuple[Ints, Ints] | None:
    """Return where the fields of each record begin and end; None unless the records fill their batches exactly.

    While there are many batches, they are followed in parallel, one record per step; the few longest ones one by one.
    """
    counts, buffer = part.headers["record_count"].astype(np.int64), np.frombuffer(part.buffer, np.uint8)
    first = np.cumsum(counts) - counts
    total = int(counts.sum())
    # Every record takes at least one byte: an impossible count must not allocate anything.
    if total > len(buffer) or counts.min(initial=0) < 0 or len(buffer) > _LARGEST_BUFFER:
        return None
    starts, ends = np.empty(total, np.int64), np.empty(total, np.int64)
    at, step = part.starts.copy(), 0
    while len(active := np.flatnonzero(counts > step)) >= _MIN_PARALLEL_BATCHES:
        cursor, last, into = at[active], part.ends[active], first[active] + step
        for _ in range(int(counts[active].min()) - step):
            size, start = _varints(buffer, np.minimum(cursor, last), 5)
            cursor = start + size
            starts[into], ends[into] = start, cursor
            if size.min() < 0 or (cursor > last).any():
                return None
            into += 1
        at[active], step = cursor, int(counts[active].min())
    length_at = np.full(total, _NOT_FOLLOWED)
    for number in active.tolist():
        begin, after = int(first[number]) + step, int(first[number] + counts[number])
        ends_in_batch = _ends_in_batch(part.buffer, int(at[number]), after - begin)
        if ends_in_batch is None or ends_in_batch[-1] != part.ends[number]:
            return None
        ends[begin:after] = ends_in_batch
        length_at[begin], length_at[begin + 1 : after] = at[number], ends[begin : after - 1]
        at[number] = part.ends[number]
    if not np.array_equal(at, part.ends):
        return None
    if len(active):
        followed = np.flatnonzero(length_at != _NOT_FOLLOWED)
        size, starts[followed] = _varints(buffer, length_at[followed], 5)
        if (size < 0).any():
            return None
    return starts, ends


def _ends_in_batch(buffer: bytes, at: int, count: int) -> list[int] | None:
    """Return the ends of `count` records that follow each other; the caller checks the last one and the signs.

    Lengths only move forward, so if one exceeds its batch the last end does too.
    """
    ends: list[int] = []
    append = ends.append
    try:
        for _ in range(count):
            # The length is a zigzag varint; varints of four or more bytes are left to the slow reader.
            byte = buffer[at]
            if byte < 0x80:
                at += 1 + (byte >> 1)
            elif (second := buffer[at + 1]) < 0x80:
                at += 2 + ((byte + (second << 7) - 0x80) >> 1)
            elif (third := buffer[at + 2]) < 0x80:
                at += 3 + ((byte + (second << 7) + (third << 14) - 0x4080) >> 1)
            else:
                return None
            append(at)
    except IndexError:  # past the end of the buffer
        return None
    return ends


def _fields(buffer: Bytes, at: Ints, end: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints] | None:
    """Return the fields of all records, read one field at a time; None if one exceeds its record or has headers."""
    timestamp_delta, at = _varints(buffer, np.minimum(at + 1, end), 10)
    offset_delta, at = _varints(buffer, np.minimum(at, end), 5)
    key_size, key_start = _varints(buffer, np.minimum(at, end), 5)
    at = key_start + np.maximum(key_size, 0)
    value_size, value_start = _varints(buffer, np.minimum(at, end), 5)
    at = value_start + np.maximum(value_size, 0)
    header_count, at = _varints(buffer, np.minimum(at, end), 5)
    # Cursors only move forward, so a cursor that ran past its record at any field also ends past it.
    if np.array_equal(at, end) and not header_count.any():
        return timestamp_delta, offset_delta, key_start, key_size, value_start, value_size
    return None


def _varints(buffer: Bytes, at: Ints, longest: int) -> tuple[Ints, Ints]:
    """Read the zigzag number at each cursor. Return the numbers and the cursors after them.

    A number of more than `longest` bytes moves its cursor far past every end.
    """
    byte = buffer[at]
    after = at + 1
    if byte.max(initial=0) < 0x80:
        return _OF_ONE_BYTE[byte], after
    number = (byte & 0x7F).astype(np.int64)
    continued = np.flatnonzero(byte & 0x80)
    for index in range(1, longest):
        if not len(continued):
            break
        byte = buffer[after[continued]]
        number[continued] |= (byte & 0x7F).astype(np.int64) << (7 * index)
        after[continued] += 1
        continued = continued[(byte & 0x80) != 0]
    after[continued] = np.iinfo(np.int64).max >> 1
    if longest == 5:  # a 32-bit number: overflow wraps
        number &= 0xFFFFFFFF
    return ((number >> 1) & np.int64(0x7FFFFFFFFFFFFFFF)) ^ -(number & 1), after


def _slices(
    buffer: bytes, key_start: Ints, key_size: Ints, value_start: Ints, value_size: Ints
) -> tuple[pa.Array, pa.Array]:
    """Return copies of keys and values from the buffer.

    Their bounds, in order, are the offsets of one binary array over the buffer, with the elements key, gap, value, gap,
    key ...; taking every fourth element copies the bytes in C++.
    """
    bounds = np.empty((len(key_start), 4), np.int32)
    bounds[:, 0] = key_start
    bounds[:, 1] = key_start + np.maximum(key_size, 0)
    bounds[:, 2] = value_start
    bounds[:, 3] = value_start + np.maximum(value_size, 0)
    pieces = pa.Array.from_buffers(
        pa.binary(), max(0, bounds.size - 1), [None, pa.py_buffer(bounds), pa.py_buffer(buffer)]
    )
    key_indexes = np.arange(len(key_start), dtype=np.int64) * 4
    return (
        pieces.take(pa.array(key_indexes, mask=key_size < 0)),
        pieces.take(pa.array(key_indexes + 2, mask=value_size < 0)),
    )
