"""Records as Arrow columns, many batches at a time: the fast twin of `RecordBatch.records`.

`decoders.log.vectors` reads the batches of magic 2. What it does not understand (magic 0 and 1, headers, damage of any
kind) it declines, and the slow reader, which alone words faults, does it batch by batch. The law: for
any bytes, where the fast reader answers, it gives the rows of the slow one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from decoders.log.batch import CONTROL, HEADER, TRANSACTIONAL
from decoders.log.codecs import Codec, codec_of, decompress
from decoders.log.errors import Damaged
from decoders.log.frames import MAGIC_AT
from decoders.log.vectors import HEADER_TYPE, PADDING, Columns, Headers, Ints, Part, read_fast, timestamps
from decoders.log.zstd_many import expand_together

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from decoders.log.batch import LogRecord
    from decoders.log.frames import BatchBlock, LogBatch
    from decoders.log.partition import PartitionLog

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
"""Bytes at which decompressed batches are read and given: a limit on memory that leaves the vectors long."""
_CODEC_BITS: Final = 7
_TOGETHER: Final = 256
"""Compressed batches that are expanded by one call where that is possible."""


def partition_columns(log: PartitionLog, start_offset: int = 0) -> Iterator[pa.RecordBatch]:
    """Read a partition's committed records from an offset on, as batches of SCHEMA.

    Faults are noted in `log.errors`; what could be read of the partition is given.
    """
    for path, block in log.blocks(start_offset):
        for columns in _read_block(log, path, block):
            yield _rows(log, columns, start_offset)


def _read_block(log: PartitionLog, path: Path, block: BatchBlock) -> Iterator[Columns]:
    headers = _headers(block)
    if headers is None:
        yield from _read_slow(log, path, [batch for batch in block.batches() if log.outcome(batch).is_visible])
        return
    for part in _parts(log, path, block, headers):
        columns = read_fast(part)
        if columns is None:
            yield from _read_slow(log, path, [block.batch(number) for number in part.numbers])
        else:
            yield columns


def _headers(block: BatchBlock) -> Headers | None:
    """Read the headers of all batches at once; None when there are message sets among them."""
    buffer = np.frombuffer(block.chunk, np.uint8)
    starts = np.array(block.starts, np.int64)
    if (buffer[starts + MAGIC_AT] != 2).any():
        return None
    raw = buffer[starts[:, None] + np.arange(HEADER_TYPE.itemsize)]
    headers: Headers = raw.view(HEADER_TYPE)[:, 0]
    return headers


def _parts(log: PartitionLog, path: Path, block: BatchBlock, headers: Headers) -> Iterator[Part]:
    """Leave out the batches that do not count; join what has to be decompressed, some megabytes at a time."""
    flags = headers["attributes"]
    counts = np.ones(len(headers), np.bool_)
    for number in np.flatnonzero(flags & (TRANSACTIONAL | CONTROL)).tolist():
        counts[number] = log.outcome(block.batch(number)).is_visible
    numbers = np.flatnonzero(counts)
    codecs = flags.astype(np.int64) & _CODEC_BITS
    if not codecs[numbers].any():
        starts = np.array(block.starts, np.int64)[numbers] + HEADER.size
        ends = np.array(block.ends, np.int64)[numbers]
        yield Part(block.chunk + PADDING, starts, ends, headers[numbers], numbers.tolist())
        return
    waiting: list[tuple[int, bytes]] = []
    size = 0
    for number, payload in _expanded(log, path, block, codecs, numbers.tolist()):
        waiting.append((number, payload))
        size += len(payload)
        if size >= TARGET:
            yield _joined(waiting, headers)
            waiting, size = [], 0
    yield _joined(waiting, headers)


def _expanded(
    log: PartitionLog, path: Path, block: BatchBlock, codecs: Ints, numbers: list[int]
) -> Iterator[tuple[int, bytes]]:
    """Decompress batches, with their numbers; what cannot be decompressed is noted and left out."""
    for first in range(0, len(numbers), _TOGETHER):
        some = numbers[first : first + _TOGETHER]
        records = [block.chunk[block.starts[number] + HEADER.size : block.ends[number]] for number in some]
        all_zstd = bool((codecs[some] == Codec.ZSTD).all())
        together = expand_together(records) if all_zstd else None
        if together is not None and max(map(len, together)) <= log.limit:
            yield from zip(some, together, strict=True)
            continue
        for number, compressed in zip(some, records, strict=True):
            try:
                yield number, decompress(codec_of(int(codecs[number])), compressed, limit=log.limit)
            except Damaged as fault:
                log.note(path, block.batch(number), fault)


def _joined(waiting: list[tuple[int, bytes]], headers: Headers) -> Part:
    numbers = [number for number, _ in waiting]
    ends = np.cumsum(np.array([len(payload) for _, payload in waiting], np.int64))
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]]) if numbers else ends
    return Part(b"".join([*(payload for _, payload in waiting), PADDING]), starts, ends, headers[numbers], numbers)


def _rows(log: PartitionLog, columns: Columns, start_offset: int) -> pa.RecordBatch:
    """Put topic and partition before the columns, and cut off what lies below the first offset wanted."""
    offset = columns[0]
    topic = pa.repeat(pa.scalar(log.directory.topic), len(offset))
    partition = pa.repeat(pa.scalar(log.directory.partition, pa.int32()), len(offset))
    rows = pa.RecordBatch.from_arrays([topic, partition, *columns], schema=SCHEMA)
    wanted = offset.to_numpy() >= start_offset
    return rows if wanted.all() else rows.filter(pa.array(wanted))


def _read_slow(log: PartitionLog, path: Path, batches: Sequence[LogBatch]) -> Iterator[Columns]:
    """Read record by record. A damaged batch gives what comes before the damage, and its fault is noted."""
    records: list[LogRecord] = []
    size = 0
    for batch in batches:
        try:
            for record in batch.records(log.limit):
                records.append(record)
                size += len(record.key or b"") + len(record.value or b"")
                if size >= TARGET:
                    yield _columns_of(records)
                    records, size = [], 0
        except Damaged as fault:
            log.note(path, batch, fault)
    yield _columns_of(records)


def _columns_of(records: list[LogRecord]) -> Columns:
    return (
        pa.array([record.offset for record in records], pa.int64()),
        timestamps(np.array([record.timestamp for record in records], np.int64)),
        pa.array([record.key for record in records], pa.binary()),
        pa.array([record.value for record in records], pa.binary()),
    )
