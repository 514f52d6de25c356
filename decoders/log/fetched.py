"""The record batches of one partition in a fetch response: which are valid and visible, and their records as columns.

The walk over the batches checks lengths, checksums and the order of offsets, and ends at the first invalid batch; an
incomplete last batch is normal, because brokers cut a response at its size limit. Aborted transactions are left out by
the broker's list of them. `columns` reads the records with `decoders.log.columns`.

Source: org.apache.kafka.clients.consumer.internals.CompletedFetch#nextFetchedRecord; KIP-74 (the first batch of a
response is complete), KIP-98 (transactions).
"""

from __future__ import annotations

import array
import bisect
import contextlib
import dataclasses
import struct
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

import google_crc32c
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoders.log.batch import CONTROL, CRC_STARTS, FRAME, HEADER, TRANSACTIONAL, int64_of
from decoders.log.codecs import DEFAULT_LIMIT
from decoders.log.columns import TARGET, headers_of, parts_of, read_batches
from decoders.log.control import transaction_marker
from decoders.log.errors import Damaged, LogFault
from decoders.log.files import MAGIC_AT, SMALLEST_BY_MAGIC, UP_TO_MAGIC, BatchBlock, LogBatch
from decoders.log.vectors import Headers, Ints, LogColumns, Part, read_times

_LENGTH: Final = struct.Struct(">i")
_LENGTH_MAGIC_CRC: Final = struct.Struct(">i4xbI")
"""The fields of a batch from its length on; the epoch of the leader between them is not needed."""
_GREATEST_OFFSET: Final = (1 << 63) - (1 << 32)
"""No batch begins above it, so that no sum of an offset and a delta overflows."""


@dataclasses.dataclass(frozen=True, slots=True)
class FetchedBatches:
    """The valid batches of one partition in a response, in log order. One element per batch in all vectors."""

    block: BatchBlock
    base_offset: Ints
    last_offset: Ints
    """The offset of the last record written to the batch, even if compaction removed that record."""
    visible: npt.NDArray[np.bool_]
    """True for data that is not aborted and not of an open transaction."""
    pending: npt.NDArray[np.bool_]
    """True for data of a transaction whose end is not known: it begins at or above the last stable offset."""
    aborted: npt.NDArray[np.bool_]
    """True for data of an aborted transaction."""
    producer: Ints
    """The producer id of the batch's transaction, whatever its outcome; -1 outside of transactions."""
    fault: Damaged | None
    """The reason why the bytes after the valid batches cannot be read; None if there are none, or a part of a batch."""
    headers: Headers | None
    """None if there are message sets."""

    @classmethod
    def read(
        cls,
        raw: bytes,
        aborted: Collection[tuple[int, int]] = (),
        *,
        last_stable_offset: int | None = None,
        on_fault: Callable[[LogBatch, Damaged], None] | None = None,
    ) -> FetchedBatches:
        """Read the headers of the batches in the `records` of a fetch response. Raises nothing for any bytes.

        `aborted` has the (producer id, first offset) of each aborted transaction that the response lists.
        `last_stable_offset` is that of a `read_uncommitted` response; None for a `read_committed` response, which ends
        below it. `on_fault` is called for each marker of an aborted transaction that cannot be decoded.
        """
        block, fault = _walk(raw)
        headers = headers_of(block)
        if headers is None:
            base, last, flags, producer = _mixed(block)
        else:
            base = headers["base_offset"].astype(np.int64)
            last = base + headers["last_offset_delta"]
            flags, producer = headers["attributes"].astype(np.int64), headers["producer_id"]
        ordered = _in_order(base, last)
        if ordered < len(base):
            after = f" after {last[ordered - 1]}" if ordered else ""
            detail = f"offsets {base[ordered]} to {last[ordered]}{after}"
            fault = Damaged(LogFault.OFFSET_ORDER, detail, block.starts[ordered])
            block = BatchBlock(raw, 0, block.starts[:ordered], block.ends[:ordered])
            base, last, flags, producer = (each[:ordered] for each in (base, last, flags, producer))
            headers = None if headers is None else headers[:ordered]
        control = (flags & CONTROL) != 0
        transactional = (flags & TRANSACTIONAL) != 0
        producer = np.where(transactional, producer, -1)
        data = transactional & ~control
        pending = np.zeros(len(base), np.bool_) if last_stable_offset is None else data & (base >= last_stable_offset)
        visible = ~control & ~pending
        of_aborted = np.zeros(len(base), np.bool_)
        if aborted:
            of_aborted[_aborted(block, last, producer, aborted, on_fault)] = True
        return cls(block, base, last, visible & ~of_aborted, pending, data & of_aborted, producer, fault, headers)

    @property
    def next_offset(self) -> int:
        """The offset after the last valid batch, 0 if there is none."""
        return int(self.last_offset[-1]) + 1 if len(self.last_offset) else 0

    def columns(
        self,
        start: int,
        end: int,
        on_fault: Callable[[LogBatch, Damaged], None],
        *,
        selected: npt.NDArray[np.bool_] | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> Iterator[LogColumns]:
        """Yield the records with `start` <= offset < `end` of the selected batches, in pieces of some megabytes.

        The default selects the visible batches. `on_fault` is called for each batch that cannot be decoded; its records
        before the damage are returned. `limit` bounds the decompressed bytes of a batch.
        """
        wanted = self.visible if selected is None else selected
        # The only offset of a message set is its last one: its records may begin far below it.
        begin_below = _GREATEST_OFFSET if self.headers is None else end
        numbers = np.flatnonzero(wanted & (self.last_offset >= start) & (self.base_offset < begin_below))
        for columns in read_batches(self.block, self.headers, numbers, limit, on_fault):
            inside = (columns.offset >= start) & (columns.offset < end)
            if inside.all():
                yield columns
            else:
                rows = pa.array(inside)
                yield LogColumns(
                    columns.offset[inside],
                    columns.timestamp[inside],
                    columns.key.filter(rows),
                    columns.value.filter(rows),
                )

    def times(self) -> Ints:
        """Return offset and time (ms) of each visible record, in two rows. Raises Damaged."""
        return np.hstack([np.empty((2, 0), np.int64), *(each[:2] for each in self.columns(0, _GREATEST_OFFSET, _fail))])

    def producers(self, offsets: Ints) -> Ints:
        """Return the producer id of the transaction of each of these offsets, -1 outside of transactions."""
        return self.producer[np.searchsorted(self.last_offset, offsets)]

    def aborted_columns(
        self, start: int, end: int, on_fault: Callable[[LogBatch, Damaged], None]
    ) -> Iterator[tuple[int, LogColumns]]:
        """Yield producer ids and the records of their aborted transactions with `start` <= offset < `end`.

        The records of one producer come in log order, those of several producers one producer after the other.
        """
        for producer in np.unique(self.producer[self.aborted]).tolist():
            selected = self.aborted & (self.producer == producer)
            for columns in self.columns(start, end, on_fault, selected=selected):
                yield producer, columns


def times_of_all(several: Sequence[FetchedBatches]) -> list[Ints | Damaged]:
    """Return the `times` of several partitions, as far as the first megabytes have them, or why they are damaged.

    Partitions with few bytes are read together: one by one, their number would decide how long that takes.
    """
    parts: list[Part] = []
    left = TARGET
    with contextlib.suppress(Damaged):
        for each in several:
            if each.headers is None or left <= 0:
                break
            numbers = np.flatnonzero(each.visible)
            parts.append(next(parts_of(each.block, each.headers, numbers, DEFAULT_LIMIT, _fail)))
            left -= len(parts[-1].buffer)
    times: list[Ints | Damaged] = [*(read_times(parts) or ())] if parts else []
    for each in several[len(times) :]:
        try:
            times.append(each.times())
        except Damaged as fault:
            times.append(fault)
    return times


def _fail(_batch: LogBatch, fault: Damaged) -> None:
    raise fault


def _walk(raw: bytes) -> tuple[BatchBlock, Damaged | None]:
    """Return the batches with a valid frame and checksum, and why the walk ended before the end of the bytes."""
    starts = array.array("q")
    at, size = 0, len(raw)
    fault: Damaged | None = None
    while fault is None:
        at = _walk_magic_2(raw, at, starts)
        if size - at < UP_TO_MAGIC:
            break
        frame_size, fault = _checked_frame_size(raw, at)
        if frame_size == 0:
            break
        starts.append(at)
        at += frame_size
    if fault is None and at == 0 < size:
        fault = Damaged(LogFault.TORN, f"the first batch has more than the {size} bytes of the response")
    ends = starts[1:]
    if starts:
        ends.append(at)
    return BatchBlock(raw, 0, starts, ends), fault


def _walk_magic_2(raw: bytes, at: int, starts: array.array[int]) -> int:
    """Append the starts of valid batches of magic 2; return the position of the first other data.

    The fast path of the walk, with as little work per batch as the checksum allows.
    """
    size, smallest = len(raw), HEADER.size - FRAME
    read_head, checksum, append = _LENGTH_MAGIC_CRC.unpack_from, google_crc32c.value, starts.append
    while at + HEADER.size <= size:
        length, magic, crc = read_head(raw, at + 8)
        after = at + FRAME + length
        if magic != 2 or length < smallest or after > size or checksum(raw[at + CRC_STARTS : after]) != crc:
            break
        append(at)
        at = after
    return at


def _checked_frame_size(raw: bytes, at: int) -> tuple[int, Damaged | None]:
    """Return the size of the batch at `at`, or 0 and the reason why it is invalid; None if it is only incomplete."""
    magic, length = raw[at + MAGIC_AT], _LENGTH.unpack_from(raw, at + 8)[0]
    if magic >= len(SMALLEST_BY_MAGIC):
        return 0, Damaged(LogFault.BAD_MAGIC, f"magic {magic}", at)
    if length < SMALLEST_BY_MAGIC[magic]:
        return 0, Damaged(LogFault.BAD_LENGTH, f"the length of a batch of magic {magic} is {length}", at)
    if at + FRAME + length > len(raw):
        return 0, None
    if not BatchBlock(raw, 0, [at], [at + FRAME + length]).batch(0).has_valid_crc():
        return 0, Damaged(LogFault.BAD_CRC, "the checksum does not match", at)
    return FRAME + length, None


def _mixed(block: BatchBlock) -> tuple[Ints, Ints, Ints, Ints]:
    """Return base offset, last offset, attributes (0 in message sets) and producer id of batches of any magic."""
    rows = [
        (each.base_offset, int64_of(each.last_offset), each.attributes if each.magic == 2 else 0, each.producer_id)
        for each in block.batches()
    ]
    base, last, flags, producer = np.array(rows, np.int64).reshape(-1, 4).T
    return base, last, flags, producer


def _in_order(base: Ints, last: Ints) -> int:
    """Return the number of batches whose offsets ascend; a record belongs to one batch only."""
    expected = np.zeros(len(base), np.int64)
    expected[1:] = last[:-1] + 1
    wrong = np.flatnonzero((base < expected) | (base > _GREATEST_OFFSET) | (last < base))
    return int(wrong[0]) if len(wrong) else len(base)


def _aborted(
    block: BatchBlock,
    last: Ints,
    producer: Ints,
    aborted: Collection[tuple[int, int]],
    on_fault: Callable[[LogBatch, Damaged], None] | None,
) -> list[int]:
    """Return the numbers of the batches of aborted transactions, including their markers.

    A transaction takes effect at the first batch that ends at or above its first offset, and ends at the first abort
    marker of its producer from there on.
    """
    transactional = np.flatnonzero(producer != -1)
    producers = producer[transactional]
    by_producer = np.argsort(producers, kind="stable")
    producers, numbers = producers[by_producer], transactional[by_producer].tolist()
    found: list[int] = []
    for aborted_by, first_offset in aborted:
        first_batch = int(np.searchsorted(last, first_offset))
        begin, end = (int(np.searchsorted(producers, aborted_by, side)) for side in ("left", "right"))
        for at in range(bisect.bisect_left(numbers, first_batch, begin, end), end):
            number = numbers[at]
            found.append(number)
            if _is_abort_marker(block.batch(number), on_fault):
                break
    return found


def _is_abort_marker(batch: LogBatch, on_fault: Callable[[LogBatch, Damaged], None] | None) -> bool:
    try:
        marker = transaction_marker(batch)
    except Damaged as fault:
        if on_fault is not None:
            on_fault(batch, fault)
        return False
    return marker is not None and not marker.committed
