"""Records as Arrow columns: the fast reader and the slow one give the same rows, for good bytes and for bad ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.log import columns, vectors
from decoders.log.batch import record_batch
from decoders.log.columns import SCHEMA, partition_columns
from decoders.log.errors import LogFault
from decoders.log.vectors import HEADER_TYPE, PADDING, Part, read_fast
from tests.decoders.log import logwriter as write
from tests.decoders.log.fixtures import RECORDED_SEGMENTS, opened, partition, simple_batches

if TYPE_CHECKING:
    from pathlib import Path

    from decoders.log.partition import PartitionLog


Row = tuple[int, int | None, bytes | None, bytes | None]


def rows_of(log: PartitionLog, start: int = 0) -> list[Row]:
    """Read a partition by columns, as plain rows."""
    table = pa.Table.from_batches(partition_columns(log, start), SCHEMA)
    timestamps = table["timestamp"].cast(pa.int64()).to_pylist()
    fields = (table["offset"].to_pylist(), timestamps, table["key"].to_pylist(), table["value"].to_pylist())
    return list(zip(*fields, strict=True))


def slow_rows_of(log: PartitionLog, start: int = 0) -> list[Row]:
    """Read the same record by record."""
    records = (placed.record for placed in log.records(start))
    return [(each.offset, None if each.timestamp == -1 else each.timestamp, each.key, each.value) for each in records]


def part_of(batches: list[bytes]) -> Part:
    """Put uncompressed batches behind each other as the fast reader takes them."""
    ends = np.cumsum([len(batch) for batch in batches])
    starts = ends - [len(batch) - 61 for batch in batches]
    headers = np.frombuffer(b"".join(batch[:61] for batch in batches), HEADER_TYPE)
    return Part(b"".join(batches) + PADDING, starts, ends, headers, list(range(len(batches))))


FIELD = st.none() | st.binary(max_size=90)
RECORD = st.builds(write.Rec, st.integers(0, 2**20), st.integers(-(2**62), 2**62), FIELD, FIELD)
WITH_HEADERS = st.builds(write.Rec, st.just(0), st.just(0), FIELD, FIELD, st.just(((b"h", None),)))
BATCH = st.tuples(
    st.lists(st.one_of(RECORD, RECORD, RECORD, RECORD, RECORD, WITH_HEADERS), max_size=8),
    st.integers(0, 4),
    st.sampled_from([0, 0x08, 0x10, 0x20, 0x40]),
)


def batches_of(parts: list[tuple[list[write.Rec], int, int]]) -> list[bytes]:
    """Write these batches with ascending offsets."""
    return [
        write.batch(
            number << 21,
            records,
            codec,
            attributes=flags,
            base_timestamp=number,
            max_timestamp=77,
            last_offset_delta=2**20,
        )
        for number, (records, codec, flags) in enumerate(parts)
    ]


@given(parts=st.lists(BATCH, max_size=12), few=st.sampled_from([1, 3, 400]), start=st.integers(0, 5 << 20))
def test_columns_are_the_records(
    tmp_path_factory: pytest.TempPathFactory, parts: list[tuple[list[write.Rec], int, int]], few: int, start: int
) -> None:
    """Any batches of any codec and kind give the same rows by vectors, in step or hopping, as one by one."""
    path = partition(tmp_path_factory.mktemp("log"), {0: batches_of(parts)})
    with pytest.MonkeyPatch.context() as patch, opened(path) as log:
        patch.setattr(vectors, "_MIN_PARALLEL_BATCHES", few)
        assert rows_of(log) == slow_rows_of(log)
        assert rows_of(log, start) == slow_rows_of(log, start)
        assert log.errors == []


def test_batches_without_headers_take_the_fast_way() -> None:
    """The vectors decline what has headers and nothing else that is good: the law above is not met by declining all."""
    plain = write.batch(0, [write.Rec(n, n, b"k" * n, None if n % 3 else b"v" * 70 * n) for n in range(300)])
    headed = write.batch(0, [write.Rec(0, 0, b"k", b"v", ((b"h", b"x"),))])
    assert read_fast(part_of([plain, write.batch(300, []), plain])) is not None
    assert read_fast(part_of([plain, headed])) is None


@given(
    records=st.lists(RECORD, min_size=1, max_size=5),
    damage=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=3),
    repeat=st.sampled_from([1, 5]),
    few=st.sampled_from([1, 400]),
)
def test_the_fast_reader_never_contradicts_the_slow_one(
    records: list[write.Rec], damage: list[tuple[int, int]], repeat: int, few: int
) -> None:
    """Whatever bytes a batch holds, where the vectors answer they give what the slow reader gives without a fault."""
    raw = bytearray(write.batch(0, records))
    for at, byte in damage:
        # Everything but the length, which the walk over the file has checked.
        place = 21 + at % (len(raw) - 21)
        raw[place] = byte
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "_MIN_PARALLEL_BATCHES", few)
        answer = read_fast(part_of([bytes(raw)] * repeat))
    if answer is None:
        return
    wanted = [
        (each.offset, each.timestamp, each.key, each.value)
        for _ in range(repeat)
        for each in record_batch(memoryview(bytes(raw)), 0)._replace(attributes=_uncompressed(raw)).records()
    ]
    offset, timestamp, key, value = (
        column.to_pylist() for column in (answer[0], answer[1].cast(pa.int64()), *answer[2:])
    )
    # -1 is no timestamp, and the least of all numbers is how numpy writes no time: both are null.
    none = {-1, -(2**63)}
    assert offset == [each[0] for each in wanted]
    assert timestamp == [None if each[1] in none else each[1] for each in wanted]
    assert (key, value) == ([each[2] for each in wanted], [each[3] for each in wanted])


def _uncompressed(raw: bytearray) -> int:
    return int.from_bytes(raw[21:23], "big", signed=True) & ~7


@pytest.mark.parametrize("path", RECORDED_SEGMENTS, ids=lambda path: f"{path.parent.name}-{path.name[-6:-4]}")
def test_recorded_partitions_give_the_same_rows(path: Path) -> None:
    """What a real broker wrote, with headers and without, in all codecs, gives the same rows both ways."""
    with opened(path.parent) as log:
        assert rows_of(log) == slow_rows_of(log) != []
        assert log.errors == []


def test_message_sets_give_rows_too(tmp_path: Path) -> None:
    """Old messages are read the slow way; those of magic 0 have no timestamp."""
    path = partition(
        tmp_path, {0: [write.message(0, b"k", None, 0), write.message(1, None, b"v", 1), *simple_batches(1, first=2)]}
    )
    with opened(path) as log:
        assert rows_of(log) == [(0, None, b"k", None), (1, 1_000, None, b"v"), (2, 1_000, b"key", b"value")]


def test_a_damaged_batch_gives_its_error_and_the_rows_around_it(tmp_path: Path) -> None:
    """A batch whose records contradict its header, with a right checksum, is noted once; the others are read."""
    liar = write.batch(1, [write.Rec(0, 0, b"k", b"v")], count=3)
    broken = write.batch(2, [write.Rec(0, 0, b"k", b"v")], write.ZSTD)
    broken = _with_checksum(broken[:61] + b"\xff" * 9 + broken[70:])
    path = partition(tmp_path, {0: [*simple_batches(1), liar, broken, *simple_batches(1, first=3)]})
    with opened(path) as log:
        assert [row[0] for row in rows_of(log)] == [0, 1, 3]
        assert {(error.fault, error.offset) for error in log.errors} == {
            (LogFault.BAD_RECORD, 1),
            (LogFault.BAD_COMPRESSION, 2),
        }


def _with_checksum(raw: bytes) -> bytes:
    import google_crc32c  # noqa: PLC0415  # only this one writes a checksum over damage

    return raw[:17] + google_crc32c.value(raw[21:]).to_bytes(4, "big") + raw[21:]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"\0\0\x80\x80\x80\x80\x70\x01\x01\0", id="an offset of more than 32 bits is cut off"),
        pytest.param(b"\0\0\x80\x80\x80\x80\0\x01\x01\0", id="an offset written longer than needed"),
        pytest.param(b"\0" + b"\xff" * 9 + b"\x7f" + b"\0\x01\x01\0", id="a timestamp of more than 64 bits is cut off"),
        pytest.param(b"\0\0\0\x01\x81\x80\x80\x80\x10\0", id="a length that is negative after the cut"),
    ],
)
@pytest.mark.parametrize("few", [1, 400])
def test_odd_numbers_are_read_alike(body: bytes, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers longer than they need be, or than they may be, mean the same to both readers."""
    monkeypatch.setattr(vectors, "_MIN_PARALLEL_BATCHES", few)
    raw = write.encoded_batch(write.zigzag(len(body)) + body, 1)
    answer = read_fast(part_of([raw]))
    assert answer is not None
    (wanted,) = record_batch(memoryview(raw), 0).records()
    assert answer[0].to_pylist() == [wanted.offset]
    assert answer[1].cast(pa.int64()).to_pylist() == [None if wanted.timestamp == -1 else wanted.timestamp]
    assert (answer[2].to_pylist(), answer[3].to_pylist()) == ([wanted.key], [wanted.value])


ENCODED = b"\x0c\0\0\0\x01\x01\0"
"""A record of nulls at offset zero, with its length before it."""


@pytest.mark.parametrize(
    ("encoded", "count"),
    [
        pytest.param(b"\x0d" + ENCODED[1:], 1, id="a negative length"),
        pytest.param(ENCODED * 2, 1, id="bytes behind the last record"),
        pytest.param(ENCODED, 2, id="a record too few"),
        pytest.param(ENCODED, 0, id="a record too many"),
        pytest.param(ENCODED, -1, id="a negative count"),
        pytest.param(ENCODED, 0x7FFFFFFF, id="a count that allocates nothing"),
        pytest.param(b"\x0e" + ENCODED[1:] + b"\0", 1, id="a byte behind the fields"),
        pytest.param(b"\x0c\0\0\0\x01\x08\0", 1, id="a value that runs past its record"),
        pytest.param(b"\x0c\0\0\0\x01\x01\x02", 1, id="headers"),
        pytest.param(b"", 1, id="nothing"),
    ],
)
@pytest.mark.parametrize("few", [1, 400])
def test_contradictions_are_declined(encoded: bytes, count: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever does not fit exactly is left to the slow reader, in step and hopping, also between good batches."""
    monkeypatch.setattr(vectors, "_MIN_PARALLEL_BATCHES", few)
    good, odd = write.encoded_batch(ENCODED, 1), write.encoded_batch(encoded, count)
    assert read_fast(part_of([good, good])) is not None
    for batches in ([odd], [good, odd], [odd, good], [good, odd, good]):
        assert read_fast(part_of(batches)) is None


def test_records_below_the_batch_they_lie_in_are_left_out_by_both(tmp_path: Path) -> None:
    """Only damage makes a negative offset; both readers pass over it, as a consumer does."""
    path = partition(tmp_path, {0: [write.batch(0, [write.Rec(-1, 0, b"k", b"v"), write.Rec(0, 0, b"k", b"v")])]})
    with opened(path) as log:
        assert [row[0] for row in rows_of(log)] == [row[0] for row in slow_rows_of(log)] == [0]


def test_the_limit_holds_for_batches_expanded_together(tmp_path: Path) -> None:
    """A batch above the limit is left out with its error, also where many are expanded by one call."""
    words = [bytes(range(n, n + 60)) for n in range(40)]
    batches = [
        write.batch(0, [write.Rec(0, 0, b"k", b"v")], write.ZSTD),
        write.batch(1, [write.Rec(0, 0, b"k", b"".join(words))], write.ZSTD),
        write.batch(2, [write.Rec(0, 0, b"k", b"v")], write.ZSTD),
    ]
    with opened(partition(tmp_path, {0: batches}), limit=1_000) as log:
        assert [row[0] for row in rows_of(log)] == [0, 2]
        assert [(error.fault, error.offset) for error in log.errors] == [(LogFault.EXPANDS_PAST_LIMIT, 1)]


def test_decompressed_batches_come_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the file, what it expands to is never held as a whole."""
    monkeypatch.setattr(columns, "TARGET", 10_000)
    batches = [write.batch(n, [write.Rec(0, 0, b"k", bytes(3_000))], write.ZSTD) for n in range(20)]
    with opened(partition(tmp_path, {0: batches})) as log:
        pieces = [len(piece) for piece in partition_columns(log)]
    assert sum(pieces) == 20
    assert max(pieces) == 4
