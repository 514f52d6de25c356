"""Records as columns, many batches at a time: the vectorised counterpart of `RecordBatch.records`.

`decoders.log.vectors` reads batches of magic 2. It declines everything else (magic 0 and 1, headers, any damage), which
is then read batch by batch with the slow reader; only that one reports faults. Tests check that both return the same
rows wherever the fast reader does not decline. The blocks come from log files (`partition_records`) or from fetch
responses (`decoders.log.fetched`).
"""

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from decoders.log.batch import CONTROL, HEADER, TRANSACTIONAL, LogRecord
from decoders.log.codecs import Codec, codec_of, decompress
from decoders.log.control import BatchOutcome
from decoders.log.errors import Damaged
from decoders.log.files import MAGIC_AT, BatchBlock, LogBatch
from decoders.log.partition import PartitionLog
from decoders.log.vectors import PADDING, Headers, Ints, LogColumns, Part, headers_at, read_fast
from decoders.log.zstd_many import decompress_together

TARGET: Final = 8 << 20
"""Decompressed bytes per returned piece: bounds the memory and still gives long vectors."""
_CODEC_BITS: Final = 7
_BATCHES_PER_CALL: Final = 256
"""Compressed batches that are decompressed by one call where possible."""


class EndedRecords(NamedTuple):
    """Records whose outcome is known: all aborted, or all committed or outside of transactions."""

    columns: LogColumns
    producer: Ints
    """The producer id of the record's transaction; -1 outside of transactions, and in message sets."""
    aborted: bool


def partition_records(log: PartitionLog, start_offset: int = 0, *, with_aborted: bool = True) -> Iterator[EndedRecords]:
    """Yield the records of a partition, without those of open transactions, from the batch with an offset on.

    In each block of the log the aborted records follow the others. Faults are added to `log.errors`.
    """
    for path, block in log.blocks(start_offset):
        headers = headers_of(block)
        numbers = np.arange(len(block.ends))
        if headers is not None:
            numbers = np.flatnonzero(headers["attributes"] & (TRANSACTIONAL | CONTROL))
        visible, aborted = np.ones(len(block.ends), np.bool_), np.zeros(len(block.ends), np.bool_)
        for number in numbers.tolist():
            outcome = log.outcome(block.batch(number))
            visible[number], aborted[number] = outcome.is_visible, outcome is BatchOutcome.ABORTED
        on_fault = functools.partial(log.add_error, path)
        for selected in (visible, aborted) if with_aborted and aborted.any() else (visible,):
            for columns in read_batches(block, headers, np.flatnonzero(selected), log.limit, on_fault):
                yield EndedRecords(columns, _producers(headers, columns.offset), selected is aborted)


def _producers(headers: Headers | None, offsets: Ints) -> Ints:
    """Return the producer id of the transactional batch of each offset, -1 for other batches."""
    producers = np.full(len(offsets), -1, np.int64)
    if headers is not None and (headers["attributes"] & TRANSACTIONAL).any():
        batches = np.searchsorted(headers["base_offset"].astype(np.int64), offsets, "right") - 1
        transactional = (headers["attributes"][batches] & TRANSACTIONAL) != 0
        producers[transactional] = headers["producer_id"][batches[transactional]]
    return producers


def headers_of(block: BatchBlock) -> Headers | None:
    """Return the headers of all batches of a block, None if it has message sets."""
    buffer = np.frombuffer(block.chunk, np.uint8)
    starts = np.array(block.starts, np.int64)
    return None if (buffer[starts + MAGIC_AT] != 2).any() else headers_at(block.chunk, starts)


def read_batches(
    block: BatchBlock, headers: Headers | None, numbers: Ints, limit: int, on_fault: Callable[[LogBatch, Damaged], None]
) -> Iterator[LogColumns]:
    """Yield the records of these batches of a block (ascending numbers) in pieces of about TARGET bytes.

    `headers` is what `headers_of` returns for the block. A batch may decompress to at most `limit` bytes. `on_fault`
    is called for each batch that cannot be decoded; its records before the damage are returned, if there are any.
    """
    if headers is None:
        yield from _read_slow(map(block.batch, numbers.tolist()), limit, on_fault)
        return
    for part in parts_of(block, headers, numbers, limit, on_fault):
        columns = read_fast(part)
        if columns is None:
            yield from _read_slow(map(block.batch, part.numbers.tolist()), limit, on_fault)
        else:
            yield columns


def parts_of(
    block: BatchBlock, headers: Headers, numbers: Ints, limit: int, on_fault: Callable[[LogBatch, Damaged], None]
) -> Iterator[Part]:
    """Yield the batches in parts; compressed batches are decompressed and joined, some megabytes per part."""
    codecs = headers["attributes"][numbers].astype(np.int64) & _CODEC_BITS
    if not codecs.any():
        starts = np.array(block.starts, np.int64)[numbers] + HEADER.size
        ends = np.array(block.ends, np.int64)[numbers]
        yield Part(block.chunk + PADDING, starts, ends, headers[numbers], numbers)
        return
    payloads: list[tuple[int, bytes]] = []
    size = 0
    for number, payload in _decompressed(block, codecs.tolist(), numbers.tolist(), limit, on_fault):
        payloads.append((number, payload))
        size += len(payload)
        if size >= TARGET:
            yield _joined(payloads, headers)
            payloads, size = [], 0
    yield _joined(payloads, headers)


def _decompressed(
    block: BatchBlock, codecs: list[int], numbers: list[int], limit: int, on_fault: Callable[[LogBatch, Damaged], None]
) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the decompressed records of each batch; undecodable ones are faults and left out."""
    for first in range(0, len(numbers), _BATCHES_PER_CALL):
        selected = numbers[first : first + _BATCHES_PER_CALL]
        used = codecs[first : first + _BATCHES_PER_CALL]
        records = [block.chunk[block.starts[number] + HEADER.size : block.ends[number]] for number in selected]
        payloads = decompress_together(records) if set(used) == {Codec.ZSTD} else None
        if payloads is not None and max(map(len, payloads)) <= limit:
            yield from zip(selected, payloads, strict=True)
            continue
        for number, codec, compressed in zip(selected, used, records, strict=True):
            try:
                yield number, decompress(codec_of(codec), compressed, limit=limit)
            except Damaged as fault:
                on_fault(block.batch(number), fault)


def _joined(payloads: list[tuple[int, bytes]], headers: Headers) -> Part:
    numbers = np.array([number for number, _ in payloads], np.int64)
    ends = np.cumsum(np.array([len(payload) for _, payload in payloads], np.int64))
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]]) if len(numbers) else ends
    return Part(b"".join([*(payload for _, payload in payloads), PADDING]), starts, ends, headers[numbers], numbers)


def _read_slow(
    batches: Iterable[LogBatch], limit: int, on_fault: Callable[[LogBatch, Damaged], None]
) -> Iterator[LogColumns]:
    """Read record by record. A damaged batch gives the records before the damage, and its fault is reported."""
    records: list[LogRecord] = []
    size = 0
    for batch in batches:
        try:
            for record in batch.records(limit):
                records.append(record)
                size += len(record.key or b"") + len(record.value or b"")
                if size >= TARGET:
                    yield _columns_of(records)
                    records, size = [], 0
        except Damaged as fault:
            on_fault(batch, fault)
    yield _columns_of(records)


def _columns_of(records: list[LogRecord]) -> LogColumns:
    return LogColumns(
        np.array([record.offset for record in records], np.int64),
        np.array([record.timestamp for record in records], np.int64),
        pa.array([record.key for record in records], pa.binary()),
        pa.array([record.value for record in records], pa.binary()),
    )
