"""Indexes, and looking up through them: hints that may be wrong without changing an answer."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.log.errors import LogError
from decoders.log.index import AbortedTransaction, OffsetIndex, TimeIndex, read_aborted
from decoders.log.lookup import SegmentIndex, first_record_at_time
from decoders.log.segment import Segment
from tests.decoders.log.fixtures import RECORDED, RECORDED_SEGMENTS, opened, simple_batches

if TYPE_CHECKING:
    from pathlib import Path

OFFSETS = RECORDED / "__consumer_offsets-0" / "00000000000000000000.log"


def test_entries_end_where_they_stop_ascending(tmp_path: Path) -> None:
    """A preallocated index gives its entries and not its zeros."""
    path = tmp_path / "a.index"
    path.write_bytes(struct.pack(">iiiiii", 3, 100, 7, 250, 9, 400) + bytes(800))
    index = OffsetIndex.read(path, 1_000)
    assert [tuple(entry) for entry in index.entries] == [(1_003, 100), (1_007, 250), (1_009, 400)]
    assert [index.position_before(offset) for offset in (0, 1_002, 1_003, 1_008, 9_999)] == [0, 0, 100, 250, 400]


def test_time_entries_end_where_they_stop_ascending(tmp_path: Path) -> None:
    """A time index gives an offset that is surely not behind the first record as late as asked."""
    path = tmp_path / "a.timeindex"
    path.write_bytes(struct.pack(">qiqi", 500, 3, 800, 9) + bytes(12))
    index = TimeIndex.read(path, 1_000)
    assert [tuple(entry) for entry in index.entries] == [(500, 1_003), (800, 1_009)]
    assert [index.offset_before(time) for time in (0, 500, 501, 9_999)] == [1_000, 1_000, 1_003, 1_009]


@pytest.mark.parametrize(
    ("raw", "sane"),
    [
        pytest.param(struct.pack(">iiii", 3, 100, 7, 250), True, id="ascending"),
        pytest.param(b"", True, id="empty"),
        pytest.param(struct.pack(">ii", 3, 100) + bytes(16), True, id="preallocated"),
        pytest.param(struct.pack(">ii", 3, 100) + b"\0", False, id="half an entry"),
        pytest.param(struct.pack(">ii", -3, 100), False, id="below the base"),
    ],
)
def test_the_sanity_check_of_offset_indexes_is_the_brokers(tmp_path: Path, raw: bytes, sane: bool) -> None:  # noqa: FBT001
    """An index is sane exactly where a broker would not rebuild it at start."""
    path = tmp_path / "a.index"
    path.write_bytes(raw)
    fault = OffsetIndex.read(path, 1_000).fault()
    assert (fault is None) is sane


@pytest.mark.parametrize(
    ("raw", "sane"),
    [
        pytest.param(struct.pack(">qiqi", 500, 3, 800, 9), True, id="ascending"),
        pytest.param(b"", True, id="empty"),
        pytest.param(struct.pack(">qi", 500, 3) + bytes(12), False, id="preallocated"),
        pytest.param(struct.pack(">qi", 500, 3) + b"\0", False, id="half an entry"),
        pytest.param(struct.pack(">qi", 500, -3), False, id="below the base"),
    ],
)
def test_the_sanity_check_of_time_indexes_is_the_brokers(tmp_path: Path, raw: bytes, sane: bool) -> None:  # noqa: FBT001
    """The same for time indexes, which in Kafka fail while they are preallocated."""
    path = tmp_path / "a.timeindex"
    path.write_bytes(raw)
    fault = TimeIndex.read(path, 1_000).fault()
    assert (fault is None) is sane


def test_the_aborted_transactions_of_a_real_broker() -> None:
    """A recorded `.txnindex` gives the three transactions that were aborted, in the order of their markers."""
    entries, fault = read_aborted(OFFSETS.with_suffix(".txnindex"))
    assert fault is None
    assert len(entries) == 3
    assert all(entry.first_offset < entry.last_offset for entry in entries)
    assert sorted(entries, key=lambda entry: entry.last_offset) == list(entries)


def test_aborted_transactions_end_at_damage(tmp_path: Path) -> None:
    """A version of the future ends the list with a fault; half an entry is an append under way."""
    path = tmp_path / "a.txnindex"
    good = struct.pack(">hqqqq", 0, 5, 10, 20, 11)
    path.write_bytes(good + good[:7])
    assert read_aborted(path) == ((AbortedTransaction(0, 5, 10, 20, 11),), None)
    path.write_bytes(good + struct.pack(">hqqqq", 1, 5, 10, 20, 11))
    entries, fault = read_aborted(path)
    assert len(entries) == 1
    assert isinstance(fault, LogError)
    assert fault.position == len(good)


@pytest.mark.parametrize("path", RECORDED_SEGMENTS, ids=lambda path: f"{path.parent.name}-{path.name[-6:-4]}")
def test_looking_up_gives_what_a_scan_gives(path: Path) -> None:
    """For every offset and every time, the indexes of a real broker lead to the batch and record of a full scan."""
    with Segment.open(path) as segment:
        through = SegmentIndex.load(segment)
        assert through.offsets is not None
        without = SegmentIndex(segment, None, None)
        batches = list(segment.batches())
        records = [record for batch in batches for record in batch.records()]
        for offset in range(segment.base_offset - 1, batches[-1].last_offset + 3):
            found = through.batch_at(offset)
            assert found == next((batch for batch in batches if batch.last_offset >= offset), None)
        for time in sorted({record.timestamp + shift for record in records for shift in (-1, 0, 1)}):
            assert through.record_at_time(time) == without.record_at_time(time)
            assert through.record_at_time(time) == next((each for each in records if each.timestamp >= time), None)


def test_a_time_is_looked_up_over_all_segments() -> None:
    """Over several segments of a real broker the answer is the first record of a full scan."""
    with opened(RECORDED / "uncompressed-0") as log:
        assert len(log.segments) > 1
        records = [placed.record for placed in log.records(only_committed=False)]
        for time in sorted({record.timestamp + shift for record in records for shift in (-1, 0, 1)}):
            wanted = next((record for record in records if record.timestamp >= time), None)
            assert first_record_at_time(log, time) == wanted


@given(
    entries=st.lists(st.tuples(st.integers(-5, 30), st.integers(-5, 1_500)), max_size=20),
    junk=st.binary(max_size=7),
    offset=st.integers(-1, 21),
)
def test_a_wrong_offset_index_changes_no_answer(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[int, int]], junk: bytes, offset: int
) -> None:
    """Whatever stands in an `.index`, the batch found for an offset is that of a full scan."""
    path = tmp_path_factory.getbasetemp() / "00000000000000000000.log"
    path.write_bytes(b"".join(simple_batches(20)))
    path.with_suffix(".index").write_bytes(b"".join(struct.pack(">ii", *entry) for entry in entries) + junk)
    with Segment.open(path) as segment:
        found = SegmentIndex.load(segment).batch_at(offset)
        assert found == next((batch for batch in segment.batches() if batch.last_offset >= offset), None)
