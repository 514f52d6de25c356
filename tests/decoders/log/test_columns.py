"""Records as Arrow columns: the fast and the slow reader give the same rows, for valid and for damaged data."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.log import columns, vectors
from decoders.log.batch import record_batch
from decoders.log.columns import partition_records
from decoders.log.errors import LogFault
from decoders.log.partition import PartitionLog
from decoders.log.vectors import HEADER_TYPE, PADDING, Part, read_fast, read_times
from sandbox.kafka import log_writer as write
from tests.decoders.log.fixtures import RECORDED_SEGMENTS, opened, partition, simple_batches

Row = tuple[int, int, bytes | None, bytes | None]


def rows_of(log: PartitionLog, start: int = 0) -> list[Row]:
    """Return the rows of a partition, read as columns."""
    rows: list[Row] = []
    for read, *_ in partition_records(log, start, with_aborted=False):
        rows += zip(*(each.tolist() for each in read[:2]), *(each.to_pylist() for each in read[2:]), strict=True)
    return [row for row in rows if row[0] >= start]


def slow_rows_of(log: PartitionLog, start: int = 0) -> list[Row]:
    records = (placed.record for placed in log.records(start))
    return [(each.offset, each.timestamp, each.key, each.value) for each in records]


def part_of(batches: list[bytes]) -> Part:
    """Return uncompressed batches as a part for the fast reader."""
    ends = np.cumsum([len(batch) for batch in batches])
    starts = ends - [len(batch) - 61 for batch in batches]
    headers = np.frombuffer(b"".join(batch[:61] for batch in batches), HEADER_TYPE)
    return Part(b"".join(batches) + PADDING, starts, ends, headers, np.arange(len(batches)))


FIELD = st.none() | st.binary(max_size=90)
RECORD = st.builds(write.Rec, st.integers(0, 2**20), st.integers(-(2**62), 2**62), FIELD, FIELD)
WITH_HEADERS = st.builds(write.Rec, st.just(0), st.just(0), FIELD, FIELD, st.just(((b"h", None),)))
BATCH = st.tuples(
    st.lists(st.one_of(RECORD, RECORD, RECORD, RECORD, RECORD, WITH_HEADERS), max_size=8),
    st.integers(0, 4),
    st.sampled_from([0, 0x08, 0x10, 0x20, 0x40]),
)


def batches_of(parts: list[tuple[list[write.Rec], int, int]]) -> list[bytes]:
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


@given(parts=st.lists(BATCH, max_size=12), min_parallel=st.sampled_from([1, 3, 200]), start=st.integers(0, 5 << 20))
def test_columns_have_the_rows_of_the_records(
    tmp_path_factory: pytest.TempPathFactory,
    parts: list[tuple[list[write.Rec], int, int]],
    min_parallel: int,
    start: int,
) -> None:
    """Any batches of any codec and kind give the same rows in both readers, with and without parallel steps."""
    path = partition(tmp_path_factory.mktemp("log"), {0: batches_of(parts)})
    with pytest.MonkeyPatch.context() as patch, opened(path) as log:
        patch.setattr(vectors, "_MIN_PARALLEL_BATCHES", min_parallel)
        assert rows_of(log) == slow_rows_of(log)
        assert rows_of(log, start) == slow_rows_of(log, start)
        assert log.errors == []


def test_batches_without_headers_are_not_declined() -> None:
    """The fast reader declines only valid batches with headers, so the comparison above is not empty."""
    plain = write.batch(0, [write.Rec(n, n, b"k" * n, None if n % 3 else b"v" * 70 * n) for n in range(300)])
    with_headers = write.batch(0, [write.Rec(0, 0, b"k", b"v", ((b"h", b"x"),))])
    assert read_fast(part_of([plain, write.batch(300, []), plain])) is not None
    assert read_fast(part_of([plain, with_headers])) is None
    short = write.batch(0, [write.Rec(n, n, None, b"value") for n in range(3)])
    times = read_times([part_of([plain, with_headers]), part_of([]), part_of([short])])
    assert times is not None
    assert [each[0].tolist() for each in times] == [[*range(300), 0], [], [0, 1, 2]]
    assert all((each[1] == each[0] + 1_000).all() for each in times)


@given(
    records=st.lists(RECORD, min_size=1, max_size=5),
    damage=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=3),
    repeat=st.sampled_from([1, 5]),
    min_parallel=st.sampled_from([1, 200]),
)
def test_the_fast_reader_agrees_with_the_slow_one_on_damaged_batches(
    records: list[write.Rec], damage: list[tuple[int, int]], repeat: int, min_parallel: int
) -> None:
    """The slow reader gives the same rows without a fault for each batch that the fast reader accepts."""
    raw = bytearray(write.batch(0, records))
    for at, byte in damage:
        # Any byte except the length, which the walk over the file checks.
        raw[21 + at % (len(raw) - 21)] = byte
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "_MIN_PARALLEL_BATCHES", min_parallel)
        result = read_fast(part_of([bytes(raw)] * repeat))
    if result is None:
        return
    expected = [
        (each.offset, each.timestamp, each.key, each.value)
        for _ in range(repeat)
        for each in record_batch(memoryview(bytes(raw)), 0)._replace(attributes=_uncompressed(raw)).records()
    ]
    columns = (result.offset.tolist(), result.timestamp.tolist(), result.key.to_pylist(), result.value.to_pylist())
    assert list(zip(*columns, strict=True)) == expected


def _uncompressed(raw: bytearray) -> int:
    return int.from_bytes(raw[21:23], "big", signed=True) & ~7


@pytest.mark.parametrize("path", RECORDED_SEGMENTS, ids=lambda path: f"{path.parent.name}-{path.name[-6:-4]}")
def test_recorded_partitions_give_the_same_rows(path: Path) -> None:
    """Logs of a real broker with all codecs, with and without headers, give the same rows in both readers."""
    with opened(path.parent) as log:
        assert rows_of(log) == slow_rows_of(log) != []
        assert log.errors == []


def test_a_damaged_batch_is_an_error_and_the_other_rows_are_read(tmp_path: Path) -> None:
    """A batch with inconsistent records and a valid checksum is one error; the other batches are read."""
    wrong_count = write.batch(1, [write.Rec(0, 0, b"k", b"v")], count=3)
    damaged = write.batch(2, [write.Rec(0, 0, b"k", b"v")], write.ZSTD)
    damaged = _with_checksum(damaged[:61] + b"\xff" * 9 + damaged[70:])
    path = partition(tmp_path, {0: [*simple_batches(1), wrong_count, damaged, *simple_batches(1, first=3)]})
    with opened(path) as log:
        assert [row[0] for row in rows_of(log)] == [0, 1, 3]
        assert {(error.fault, error.offset) for error in log.errors} == {
            (LogFault.BAD_RECORD, 1),
            (LogFault.BAD_COMPRESSION, 2),
        }


def _with_checksum(raw: bytes) -> bytes:
    import google_crc32c  # only needed here

    return raw[:17] + google_crc32c.value(raw[21:]).to_bytes(4, "big") + raw[21:]


VARINTS = {
    "an offset of more than 32 bits wraps": b"\0\0\x80\x80\x80\x80\x70\x01\x01\0",
    "an offset with a longer encoding than needed": b"\0\0\x80\x80\x80\x80\0\x01\x01\0",
    "a timestamp of more than 64 bits wraps": b"\0" + b"\xff" * 9 + b"\x7f" + b"\0\x01\x01\0",
    "a length that wraps to a negative number": b"\0\0\0\x01\x81\x80\x80\x80\x10\0",
}


@pytest.mark.parametrize("min_parallel", [1, 200])
@pytest.mark.parametrize("body", VARINTS.values(), ids=VARINTS)
def test_unusual_varints_give_the_same_numbers(body: bytes, min_parallel: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Varints with unneeded bytes or with overflow give the same numbers in both readers."""
    monkeypatch.setattr(vectors, "_MIN_PARALLEL_BATCHES", min_parallel)
    raw = write.encoded_batch(write.zigzag(len(body)) + body, 1)
    result = read_fast(part_of([raw]))
    assert result is not None
    (expected,) = record_batch(memoryview(raw), 0).records()
    assert (result.offset.tolist(), result.timestamp.tolist()) == ([expected.offset], [expected.timestamp])
    assert (result.key.to_pylist(), result.value.to_pylist()) == ([expected.key], [expected.value])


ENCODED = b"\x0c\0\0\0\x01\x01\0"
"""A record with null key and value at offset delta zero, with its length prefix."""


INCONSISTENT = {
    "a negative length": (b"\x0d" + ENCODED[1:], 1),
    "bytes after the last record": (ENCODED * 2, 1),
    "a record too few": (ENCODED, 2),
    "a record too many": (ENCODED, 0),
    "a negative count": (ENCODED, -1),
    "an absurd count": (ENCODED, 0x7FFFFFFF),
    "a byte after the fields": (b"\x0e" + ENCODED[1:] + b"\0", 1),
    "a value that exceeds its record": (b"\x0c\0\0\0\x01\x08\0", 1),
    "headers": (b"\x0c\0\0\0\x01\x01\x02", 1),
    "no bytes": (b"", 1),
}


@pytest.mark.parametrize("min_parallel", [1, 200])
@pytest.mark.parametrize(("encoded", "count"), INCONSISTENT.values(), ids=INCONSISTENT)
def test_inconsistent_batches_are_declined(
    encoded: bytes, count: int, min_parallel: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches that do not fit exactly are declined, with and without parallel steps, also between valid batches."""
    monkeypatch.setattr(vectors, "_MIN_PARALLEL_BATCHES", min_parallel)
    valid, invalid = write.encoded_batch(ENCODED, 1), write.encoded_batch(encoded, count)
    assert read_fast(part_of([valid, valid])) is not None
    for batches in ([invalid], [valid, invalid], [invalid, valid], [valid, invalid, valid]):
        assert read_fast(part_of(batches)) is None


def test_decompressed_batches_are_returned_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece has at most four of the twenty batches, so that not all content is in memory at once."""
    monkeypatch.setattr(columns, "TARGET", 10_000)
    batches = [write.batch(n, [write.Rec(0, 0, b"k", bytes(3_000))], write.ZSTD) for n in range(20)]
    with opened(partition(tmp_path, {0: batches})) as log:
        pieces = [len(piece.columns.offset) for piece in partition_records(log)]
    assert sum(pieces) == 20
    assert max(pieces) == 4
