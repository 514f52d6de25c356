"""Fetch responses as columns: the rows of the slow reader for valid bytes, and a fault for all others."""

import dataclasses
import itertools
from collections.abc import Collection, Iterator
from pathlib import Path
from random import Random

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.log import columns, fetched, vectors
from decoders.log.control import is_transactional_data, transaction_marker
from decoders.log.errors import Damaged, LogFault
from decoders.log.fetched import FetchedBatches, times_of_all
from decoders.log.files import MAGIC_AT, BatchBlock, LogBatch
from sandbox.kafka import log_writer as write
from tests.decoders.log.fixtures import RECORDED_SEGMENTS
from tests.decoders.log.test_fuzz import mutate

Row = tuple[int, int, bytes | None, bytes | None]
Fault = tuple[LogFault, int]
TRANSACTIONAL = 0x10
WHOLE = (0, 1 << 40)


@dataclasses.dataclass
class Read:
    """The result of one reader: the rows, the faults with the base offsets of their batches, and the next offset."""

    rows: list[Row]
    faults: list[Fault]
    next_offset: int
    ended_by: LogFault | None


def fast(
    raw: bytes, aborted: Collection[tuple[int, int]] = (), start: int = 0, end: int = WHOLE[1], limit: int = 1 << 20
) -> Read:
    faults: list[Fault] = []

    def on_fault(batch: LogBatch, fault: Damaged) -> None:
        faults.append((fault.fault, batch.base_offset))

    fetched = FetchedBatches.read(raw, aborted, on_fault=on_fault)
    rows: list[Row] = []
    for piece in fetched.columns(start, end, on_fault, limit=limit):
        fields = (piece.offset.tolist(), piece.timestamp.tolist(), piece.key.to_pylist(), piece.value.to_pylist())
        rows += zip(*fields, strict=True)
    return Read(rows, sorted(faults, key=str), fetched.next_offset, fetched.fault and fetched.fault.fault)


def slow(
    raw: bytes, aborted: Collection[tuple[int, int]] = (), start: int = 0, end: int = WHOLE[1], limit: int = 1 << 20
) -> Read:
    """Read batch by batch and record by record, with the set of producers that Kafka's consumer keeps."""
    read = Read([], [], 0, None)
    waiting = sorted(((first, producer) for producer, first in aborted), reverse=True)
    aborting: set[int] = set()
    for batch in valid_batches(raw, read):
        read.next_offset = batch.last_offset + 1
        while waiting and waiting[-1][0] <= batch.last_offset:
            aborting.add(waiting.pop()[1])
        if batch.is_control:
            if batch.is_transactional and batch.producer_id in aborting and is_abort(batch, read):
                aborting.discard(batch.producer_id)
        elif not (is_transactional_data(batch) and batch.producer_id in aborting) and batch.last_offset >= start:
            if batch.magic == 2 and batch.base_offset >= end:
                continue
            try:
                for record in batch.records(limit):
                    if start <= record.offset < end:
                        read.rows.append((record.offset, record.timestamp, record.key, record.value))
            except Damaged as fault:
                read.faults.append((fault.fault, batch.base_offset))
    read.faults.sort(key=str)
    return read


def is_abort(batch: LogBatch, read: Read) -> bool:
    """Return whether a control batch aborts its transaction; a damaged one is a fault and does not."""
    try:
        marker = transaction_marker(batch)
    except Damaged as fault:
        read.faults.append((fault.fault, batch.base_offset))
        return False
    return marker is not None and not marker.committed


def valid_batches(raw: bytes, read: Read) -> Iterator[LogBatch]:
    """Yield the batches before the first invalid one, and set the fault of that one."""
    at, next_offset = 0, 0
    while len(raw) - at > MAGIC_AT:
        length, magic = int.from_bytes(raw[at + 8 : at + 12], "big", signed=True), raw[at + MAGIC_AT]
        if magic > 2 or length < (14, 22, 49)[magic]:
            read.ended_by = LogFault.BAD_MAGIC if magic > 2 else LogFault.BAD_LENGTH
            return
        if at + 12 + length > len(raw):
            break
        batch = BatchBlock(raw, 0, [at], [at + 12 + length]).batch(0)
        if not batch.has_valid_crc():
            read.ended_by = LogFault.BAD_CRC
            return
        if not next_offset <= batch.base_offset <= min(batch.last_offset, 2**63 - 2**32):
            read.ended_by = LogFault.OFFSET_ORDER
            return
        next_offset = batch.last_offset + 1
        yield batch
        at += 12 + length
    if at == 0 < len(raw):
        read.ended_by = LogFault.TORN


# Random histories: what producers, the transaction coordinator, compaction and old clients leave in a log.

FIELD = st.none() | st.binary(max_size=40)


@dataclasses.dataclass(frozen=True)
class History:
    """A log as bytes, with the aborted transactions that a broker would list."""

    raw: bytes
    aborted: tuple[tuple[int, int], ...]
    starts: tuple[int, ...]
    """Where batches begin in the bytes."""
    end: int


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Return random logs of plain and transactional batches of three producers, markers, gaps and message sets."""
    pieces: list[bytes] = []
    aborted: list[tuple[int, int]] = []
    began: dict[int, int] = {}
    at = 0
    for _ in range(draw(st.integers(0, 14))):
        at += draw(st.sampled_from([0, 0, 0, 3]))
        kind = draw(st.sampled_from(["plain", "plain", "data", "data", "end", "headers", "old", "empty"]))
        producer = draw(st.integers(1, 3))
        fields = draw(st.lists(st.tuples(FIELD, FIELD), min_size=1, max_size=6))
        records = [write.Rec(n, n, key, value) for n, (key, value) in enumerate(fields)]
        codec = draw(st.integers(0, 4))
        match kind:
            case "plain":
                raw = write.batch(at, records, codec, last_offset_delta=len(records) + draw(st.integers(0, 2)))
            case "headers":
                with_header = dataclasses.replace(records[0], headers=((b"h", None),))
                raw = write.batch(at, [with_header, *records[1:]], codec)
            case "empty":  # the records were compacted away, the last batch of a producer stays
                raw = write.batch(at, [], last_offset_delta=2)
            case "data":
                began.setdefault(producer, at)
                raw = write.batch(at, records, codec, attributes=TRANSACTIONAL, producer_id=producer, producer_epoch=0)
            case "end":
                committed = draw(st.booleans())
                if (first := began.pop(producer, None)) is not None and not committed:
                    aborted.append((producer, first))
                raw = write.marker(at, producer, committed=committed)
            case _:
                magic = draw(st.integers(0, 1))
                inner = [write.message(n if magic else at + n, *pair, magic) for n, pair in enumerate(fields)]
                at += len(inner) - 1
                wrapped = write.wrapper(at, b"".join(inner), magic, codec) if 0 < codec < 4 else None
                raw = wrapped or write.message(at, *fields[0], magic)
        pieces.append(raw)
        at = FetchedBatches.read(raw).next_offset
    ends = itertools.accumulate(map(len, pieces), initial=0)
    return History(b"".join(pieces), tuple(aborted), tuple(ends), at)


@given(history=histories(), data=st.data(), min_parallel=st.sampled_from([1, 3, 200]))
def test_any_part_of_any_history_gives_the_rows_of_the_slow_reader(
    history: History, data: st.DataObject, min_parallel: int
) -> None:
    """A response begins at any batch and ends at any byte, and any range of its offsets is requested."""
    first = data.draw(st.sampled_from(history.starts))
    raw = history.raw[first : data.draw(st.integers(first, len(history.raw)) | st.just(len(history.raw)))]
    start, end = sorted(data.draw(st.tuples(st.integers(0, history.end), st.integers(0, history.end + 1))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "_MIN_PARALLEL_BATCHES", min_parallel)
        patch.setattr(columns, "TARGET", data.draw(st.sampled_from([50, 8 << 20])))
        assert fast(raw, history.aborted, start, end) == slow(raw, history.aborted, start, end)
        assert fast(raw, history.aborted).faults == []


@given(several=st.lists(histories(), max_size=4), min_parallel=st.sampled_from([1, 3, 200]), data=st.data())
def test_times_of_several_partitions_are_those_of_the_slow_reader(
    several: list[History], min_parallel: int, data: st.DataObject
) -> None:
    """Partitions that are read together, or one by one after some bytes, have the times of their own records."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "_MIN_PARALLEL_BATCHES", min_parallel)
        patch.setattr(fetched, "TARGET", data.draw(st.sampled_from([50, 200, 8 << 20])))
        times = times_of_all([FetchedBatches.read(each.raw, each.aborted) for each in several])
    assert [each.T.tolist() for each in times if not isinstance(each, Damaged)] == [
        [[offset, time] for offset, time, _, _ in slow(each.raw, each.aborted).rows] for each in several
    ]


@given(
    history=histories(),
    rng=st.randoms(use_true_random=False),
    aborted=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 40))),
)
def test_damaged_responses_give_the_rows_of_the_slow_reader(
    history: History, rng: Random, aborted: list[tuple[int, int]]
) -> None:
    """Mutated bytes and any list of aborted transactions give the same rows and the same faults, and no exception."""
    raw = mutate(rng, history.raw)
    assert fast(raw, aborted) == slow(raw, aborted)


@given(history=histories(), rng=st.randoms(use_true_random=False))
def test_damage_with_a_valid_checksum_gives_the_rows_of_the_slow_reader(history: History, rng: Random) -> None:
    """Batches whose content is damaged, but not their checksum, are faults; the other batches are read."""
    damaged = []
    for begin, end in itertools.pairwise(history.starts):
        raw = history.raw[begin:end]
        damaged.append(_resealed(raw, mutate(rng, raw)) if rng.random() < 0.4 else raw)
    content = b"".join(damaged)
    read = slow(content, history.aborted)
    assert fast(content, history.aborted) == read
    (times,) = times_of_all([FetchedBatches.read(content, history.aborted)])
    assert read.faults if isinstance(times, Damaged) else read.faults or len(times[0]) == len(read.rows)


def _resealed(original: bytes, mutated: bytes) -> bytes:
    """Return the mutated batch with a length and a checksum that fit."""
    body = mutated[21:]
    if original[MAGIC_AT] != 2 or len(body) < 40:
        return original
    crc = google_crc32c.value(body).to_bytes(4, "big")
    return original[:8] + (len(body) + 9).to_bytes(4, "big") + original[12:17] + crc + body


@pytest.mark.parametrize("path", RECORDED_SEGMENTS, ids=lambda path: f"{path.parent.name}-{path.name[-6:-4]}")
def test_recorded_logs_give_the_rows_of_the_slow_reader(path: Path) -> None:
    """The logs of a real broker have all codecs, with and without headers, and are read whole and in part."""
    raw = path.read_bytes()
    read = fast(raw, limit=16 << 20)
    assert read == slow(raw, limit=16 << 20)
    assert read.faults == []
    middle = read.next_offset // 2
    part = {"start": middle // 2, "end": middle, "limit": 16 << 20}
    assert fast(raw, **part) == slow(raw, **part)


def plain(at: int, count: int = 1, codec: int = write.NONE) -> bytes:
    """Return a batch of `count` records."""
    return write.batch(at, [write.Rec(n, n, b"k", b"%d" % (at + n)) for n in range(count)], codec)


def in_transaction(at: int, producer: int, count: int = 1) -> bytes:
    """Return a batch of `count` records of a transaction."""
    records = [write.Rec(n, n, b"k", b"t") for n in range(count)]
    return write.batch(at, records, attributes=TRANSACTIONAL, producer_id=producer, producer_epoch=0)


def ended(at: int, producer: int = 7, *, committed: bool = False) -> bytes:
    return write.marker(at, producer, committed=committed)


ONE = in_transaction(0, 7) + in_transaction(1, 8) + in_transaction(2, 7) + ended(3)
BOTH = in_transaction(0, 8) + in_transaction(1, 7) + in_transaction(2, 8)
ABORTED = {
    "records without the marker": (in_transaction(0, 7, 3) + plain(3) + ended(4), ((7, 0),), {7: [0, 1, 2]}),
    "records of one aborted producer": (ONE, ((7, 0),), {7: [0, 2]}),
    "two aborted producers": (BOTH, ((7, 0), (8, 0)), {7: [1], 8: [0, 2]}),
    "a committed transaction": (in_transaction(0, 7) + ended(1, committed=True) + plain(2), (), {}),
    "up to the end of the range": (in_transaction(0, 7, 50), ((7, 0),), {7: list(range(40))}),
}


def test_records_of_aborted_transactions_can_be_read_by_producer() -> None:
    """Each record is returned with its producer."""
    for story, (raw, aborted, found) in ABORTED.items():
        rows: dict[int, list[int]] = {}
        for producer, piece in FetchedBatches.read(raw, aborted).aborted_columns(0, 40, no_fault):
            rows.setdefault(producer, []).extend(piece.offset.tolist())
        assert rows == found, story


def no_fault(batch: LogBatch, fault: Damaged) -> None:
    """Fail: every batch can be decoded."""
    raise AssertionError((batch.base_offset, fault))


def test_data_above_the_last_stable_offset_is_pending() -> None:
    """A read_uncommitted response marks the batches of transactions whose end is unknown; plain ones are visible."""
    raw = in_transaction(0, 7) + ended(1, committed=True) + in_transaction(2, 8) + plain(3) + in_transaction(4, 7)
    fetched = FetchedBatches.read(raw, last_stable_offset=2)
    assert fetched.visible.tolist() == [True, False, False, True, False]
    assert fetched.pending.tolist() == [False, False, True, False, True]
    pieces = fetched.columns(*WHOLE, no_fault, selected=fetched.pending)
    assert [piece.offset.tolist() for piece in pieces] == [[2, 4]]


def test_a_first_batch_that_is_incomplete_is_a_fault() -> None:
    """Brokers always send the first batch whole, and a reader would make no progress without it."""
    assert fast(plain(0)[:-1]).ended_by is LogFault.TORN


def test_the_limit_bounds_the_content_of_a_batch() -> None:
    """A batch that expands beyond the limit is a fault, and the others are read."""
    large = write.batch(1, [write.Rec(0, 0, b"k", bytes(100_000))], write.GZIP)
    read = fast(plain(0) + large + plain(2), limit=10_000)
    assert [row[0] for row in read.rows] == [0, 2]
    assert read.faults == [(LogFault.EXPANDS_PAST_LIMIT, 1)]


def test_a_damaged_marker_is_a_fault() -> None:
    """The transaction counts as not ended, and the read continues."""
    bad = write.batch(1, [write.Rec(0, 0, b"", b"")], attributes=0x30, producer_id=7, producer_epoch=0)
    read = fast(in_transaction(0, 7) + bad + plain(2) + in_transaction(3, 7), ((7, 0),))
    assert [row[0] for row in read.rows] == [2]
    assert read.faults == [(LogFault.BAD_CONTROL, 1)]
