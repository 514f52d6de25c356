"""Records as Arrow columns, many batches at a time: the vectorised counterpart of `RecordBatch.records`.

`decoders.log.vectors` reads batches of magic 2. It declines everything else (magic 0 and 1, headers, any damage), which
is then read batch by batch with the slow reader; only that one reports faults. Tests check that both return the same
rows wherever the fast reader does not decline.
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
from decoders.log.zstd_many import decompress_together

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
        # Null for records of magic 0, which have no timestamp.
        ("timestamp", pa.timestamp("ms")),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)
"""One row per record, in log order."""

TARGET: Final = 8 << 20
"""Decompressed bytes per returned batch: bounds the memory and still gives long vectors."""
_CODEC_BITS: Final = 7
_BATCHES_PER_CALL: Final = 256
"""Compressed batches that are decompressed by one call where possible."""


def partition_columns(log: PartitionLog, start_offset: int = 0) -> Iterator[pa.RecordBatch]:
    """Yield the committed records of a partition from an offset on, as batches of SCHEMA.

    Faults are added to `log.errors`; the readable rest of the partition is returned.
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
    """Return the headers of all batches, None if the block has message sets."""
    buffer = np.frombuffer(block.chunk, np.uint8)
    starts = np.array(block.starts, np.int64)
    if (buffer[starts + MAGIC_AT] != 2).any():
        return None
    raw = buffer[starts[:, None] + np.arange(HEADER_TYPE.itemsize)]
    headers: Headers = raw.view(HEADER_TYPE)[:, 0]
    return headers


def _parts(log: PartitionLog, path: Path, block: BatchBlock, headers: Headers) -> Iterator[Part]:
    """Yield the visible batches in parts; compressed batches are decompressed and joined, some megabytes per part."""
    flags = headers["attributes"]
    visible = np.ones(len(headers), np.bool_)
    for number in np.flatnonzero(flags & (TRANSACTIONAL | CONTROL)).tolist():
        visible[number] = log.outcome(block.batch(number)).is_visible
    numbers = np.flatnonzero(visible)
    codecs = flags.astype(np.int64) & _CODEC_BITS
    if not codecs[numbers].any():
        starts = np.array(block.starts, np.int64)[numbers] + HEADER.size
        ends = np.array(block.ends, np.int64)[numbers]
        yield Part(block.chunk + PADDING, starts, ends, headers[numbers], numbers.tolist())
        return
    payloads: list[tuple[int, bytes]] = []
    size = 0
    for number, payload in _decompressed(log, path, block, codecs, numbers.tolist()):
        payloads.append((number, payload))
        size += len(payload)
        if size >= TARGET:
            yield _joined(payloads, headers)
            payloads, size = [], 0
    yield _joined(payloads, headers)


def _decompressed(
    log: PartitionLog, path: Path, block: BatchBlock, codecs: Ints, numbers: list[int]
) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the decompressed records of each batch; undecodable ones are errors and left out."""
    for first in range(0, len(numbers), _BATCHES_PER_CALL):
        selected = numbers[first : first + _BATCHES_PER_CALL]
        records = [block.chunk[block.starts[number] + HEADER.size : block.ends[number]] for number in selected]
        all_zstd = bool((codecs[selected] == Codec.ZSTD).all())
        payloads = decompress_together(records) if all_zstd else None
        if payloads is not None and max(map(len, payloads)) <= log.limit:
            yield from zip(selected, payloads, strict=True)
            continue
        for number, compressed in zip(selected, records, strict=True):
            try:
                yield number, decompress(codec_of(int(codecs[number])), compressed, limit=log.limit)
            except Damaged as fault:
                log.add_error(path, block.batch(number), fault)


def _joined(payloads: list[tuple[int, bytes]], headers: Headers) -> Part:
    numbers = [number for number, _ in payloads]
    ends = np.cumsum(np.array([len(payload) for _, payload in payloads], np.int64))
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]]) if numbers else ends
    return Part(b"".join([*(payload for _, payload in payloads), PADDING]), starts, ends, headers[numbers], numbers)


def _rows(log: PartitionLog, columns: Columns, start_offset: int) -> pa.RecordBatch:
    """Return rows of SCHEMA with topic and partition, without the records below `start_offset`."""
    offset = columns[0]
    topic = pa.repeat(pa.scalar(log.directory.topic), len(offset))
    partition = pa.repeat(pa.scalar(log.directory.partition, pa.int32()), len(offset))
    rows = pa.RecordBatch.from_arrays([topic, partition, *columns], schema=SCHEMA)
    requested = offset.to_numpy() >= start_offset
    return rows if requested.all() else rows.filter(pa.array(requested))


def _read_slow(log: PartitionLog, path: Path, batches: Sequence[LogBatch]) -> Iterator[Columns]:
    """Read record by record. A damaged batch gives the records before the damage, and its fault is an error."""
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
            log.add_error(path, batch, fault)
    yield _columns_of(records)


def _columns_of(records: list[LogRecord]) -> Columns:
    return (
        pa.array([record.offset for record in records], pa.int64()),
        timestamps(np.array([record.timestamp for record in records], np.int64)),
        pa.array([record.key for record in records], pa.binary()),
        pa.array([record.value for record in records], pa.binary()),
    )
