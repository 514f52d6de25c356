"""Records as Arrow columns, many batches at a time: the fast twin of `RecordBatch.records`.

Python touches a record once, to hop over its length; all fields are then read by vectors of cursors over one buffer,
and keys and values are sliced out of it by Arrow. What the vectors do not understand (magic 0 and 1, headers, damage of
any kind) they decline as a whole, and the slow reader, which alone words faults, does it batch by batch. The law: for
any bytes, where the fast reader answers, it gives the rows of the slow one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoders.log.batch import RecordBatch
from decoders.log.errors import Damaged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from decoders.log.batch import LogRecord
    from decoders.log.partition import PartitionLog, PlacedBatch

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

SCHEMA: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        # Null for the records of magic 0, which have none.
        ("timestamp", pa.timestamp("ms")),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)
"""One row per record, in the order of the log."""

TARGET: Final = 8 << 20
"""Decompressed bytes per Arrow batch: vectors long enough that Python's share vanishes, short enough for the caches."""
# No varint is longer than ten bytes: with this behind the last record no cursor can leave the buffer.
_PAD: Final = bytes(16)
_LARGEST_BUFFER: Final = 0x7FFFFFFF


def partition_columns(log: PartitionLog, start_offset: int = 0) -> Iterator[pa.RecordBatch]:
    """Read a partition's committed records from an offset on, as batches of SCHEMA.

    Faults are noted in `log.errors`; what could be read of the partition is given.
    """
    waiting: list[tuple[PlacedBatch, bytes]] = []
    size = 0
    for placed in log.batches(start_offset):
        if not placed.outcome.counts:
            continue
        try:
            payload = placed.batch.payload(log.limit) if isinstance(placed.batch, RecordBatch) else b""
        except Damaged as fault:
            log.note(placed, fault)
            continue
        waiting.append((placed, payload))
        size += len(payload) or placed.batch.size
        if size >= TARGET:
            yield _rows(log, waiting, start_offset)
            waiting, size = [], 0
    if waiting:
        yield _rows(log, waiting, start_offset)


def _rows(log: PartitionLog, waiting: list[tuple[PlacedBatch, bytes]], start_offset: int) -> pa.RecordBatch:
    """Turn some batches into rows, fast if possible."""
    columns = read_fast([(placed.batch, payload) for placed, payload in waiting])
    if columns is None:
        columns = _read_slow(log, [placed for placed, _ in waiting])
    offset, timestamp, key, value = columns
    rows = pa.RecordBatch.from_arrays(
        [
            pa.repeat(pa.scalar(log.directory.topic), len(offset)),
            pa.repeat(pa.scalar(log.directory.partition, pa.int32()), len(offset)),
            offset,
            timestamp,
            key,
            value,
        ],
        schema=SCHEMA,
    )
    return rows.filter(pa.array(offset.to_numpy() >= start_offset)) if start_offset else rows


Columns = tuple[pa.Array, pa.Array, pa.Array, pa.Array]
"""Offset, timestamp, key, value: as in SCHEMA."""


def _read_slow(log: PartitionLog, waiting: Sequence[PlacedBatch]) -> Columns:
    """Read record by record. A damaged batch gives what comes before the damage, and its fault is noted."""
    records: list[LogRecord] = []
    for placed in waiting:
        try:
            records.extend(placed.batch.records(log.limit))
        except Damaged as fault:
            log.note(placed, fault)
    return (
        pa.array([record.offset for record in records], pa.int64()),
        _timestamps(np.array([record.timestamp for record in records], np.int64)),
        pa.array([record.key for record in records], pa.binary()),
        pa.array([record.value for record in records], pa.binary()),
    )


def read_fast(batches: Sequence[tuple[object, bytes]]) -> Columns | None:
    """Read batches of magic 2 with their decompressed payloads; None where the slow reader has to.

    The columns are those of SCHEMA without topic and partition.
    """
    headers = [batch for batch, _ in batches if isinstance(batch, RecordBatch)]
    buffer = b"".join([*(payload for _, payload in batches), _PAD])
    if len(headers) != len(batches) or len(buffer) > _LARGEST_BUFFER:
        return None
    counts = np.array([header.record_count for header in headers], np.int64)
    bodies = (
        None if counts.min(initial=0) < 0 else _record_bodies(buffer, [len(payload) for _, payload in batches], counts)
    )
    if bodies is None:
        return None
    fields = _fields(np.frombuffer(buffer, np.uint8), *bodies)
    if fields is None:
        return None
    timestamp_delta, offset_delta, key_start, key_size, value_start, value_size = fields
    base_offset = np.array([header.base_offset for header in headers], np.int64)
    base_timestamp = np.array([header.base_timestamp for header in headers], np.int64)
    appended = np.array([header.is_log_append_time for header in headers], np.bool_)
    appended_at = np.array([header.max_timestamp for header in headers], np.int64)
    created_at = np.repeat(base_timestamp, counts) + timestamp_delta
    timestamp = np.where(np.repeat(appended, counts), np.repeat(appended_at, counts), created_at)
    key, value = _slices(buffer, key_start, key_size, value_start, value_size)
    return pa.array(np.repeat(base_offset, counts) + offset_delta), _timestamps(timestamp), key, value


def _record_bodies(buffer: bytes, sizes: list[int], counts: Ints) -> tuple[Ints, Ints] | None:
    """Hop from record to record: where its fields begin and end. None unless records fill all payloads exactly."""
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for size, count in zip(sizes, counts.tolist(), strict=True):
        end = at + size
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
        if at != end:
            return None
    return np.array(starts, np.int64), np.array(ends, np.int64)


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


def _timestamps(milliseconds: Ints) -> pa.Array:
    return pa.array(milliseconds.view("datetime64[ms]"), pa.timestamp("ms"), mask=milliseconds == -1)
