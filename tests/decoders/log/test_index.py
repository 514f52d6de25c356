"""Indexes, and lookups with them; a wrong index does not change a result."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.log.index import OffsetIndex
from decoders.log.lookup import SegmentIndex, first_record_at_offset, first_record_at_time
from decoders.log.segment import Segment
from tests.decoders.log.fixtures import RECORDED, RECORDED_SEGMENTS, opened, simple_batches


def test_entries_end_where_they_stop_ascending(tmp_path: Path) -> None:
    """The zeros of a preallocated index are not entries."""
    path = tmp_path / "a.index"
    path.write_bytes(struct.pack(">iiiiii", 3, 100, 7, 250, 9, 400) + bytes(800))
    index = OffsetIndex.read(path, 1_000)
    assert [tuple(entry) for entry in index.entries] == [(1_003, 100), (1_007, 250), (1_009, 400)]
    assert [index.position_before(offset) for offset in (0, 1_002, 1_003, 1_008, 9_999)] == [0, 0, 100, 250, 400]


@pytest.mark.parametrize("path", RECORDED_SEGMENTS, ids=lambda path: f"{path.parent.name}-{path.name[-6:-4]}")
def test_a_lookup_gives_the_result_of_a_full_scan(path: Path) -> None:
    """The indexes of a real broker give the batch and record of a full scan for every offset and timestamp."""
    with Segment.open(path) as segment:
        index = SegmentIndex.load(segment)
        assert index.offsets is not None
        no_index = SegmentIndex(segment, None, None)
        batches = list(segment.batches())
        records = [record for batch in batches for record in batch.records()]
        for offset in range(segment.base_offset - 1, batches[-1].last_offset + 3):
            assert index.record_at_offset(offset) == no_index.record_at_offset(offset)
            found = index.record_at_offset(offset)
            expected = next((record for record in records if record.offset >= offset), None)
            assert (found.record if found else None) == expected
        for time in sorted({record.timestamp + shift for record in records for shift in (-1, 0, 1)}):
            assert index.record_at_time(time) == no_index.record_at_time(time)
            found = index.record_at_time(time)
            expected = next((record for record in records if record.timestamp >= time), None)
            assert (found.record if found else None) == expected


def test_lookups_cover_all_segments() -> None:
    """The results over several segments of a real broker are the first records of a full scan, with their place."""
    with opened(RECORDED / "uncompressed-0") as log:
        assert len(log.segments) > 1
        records = [placed.record for placed in log.records(only_committed=False)]
        for time in sorted({record.timestamp + shift for record in records for shift in (-1, 0, 1)}):
            expected = next((record for record in records if record.timestamp >= time), None)
            found = first_record_at_time(log, time)
            assert (found.record if found else None) == expected
        for offset in range(-1, records[-1].offset + 2):
            place = first_record_at_offset(log, offset)
            assert (place.record if place else None) == next((each for each in records if each.offset >= offset), None)
            if place is not None:
                with Segment.open(place.path) as segment:
                    assert place.record in list(next(iter(segment.batches(place.position))).records())


@given(
    entries=st.lists(st.tuples(st.integers(-5, 30), st.integers(-5, 1_500)), max_size=20),
    junk=st.binary(max_size=7),
    offset=st.integers(-1, 21),
)
def test_a_wrong_offset_index_does_not_change_a_result(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[int, int]], junk: bytes, offset: int
) -> None:
    """The record of an offset is that of a full scan for any content of an `.index`."""
    path = tmp_path_factory.getbasetemp() / "00000000000000000000.log"
    path.write_bytes(b"".join(simple_batches(20)))
    path.with_suffix(".index").write_bytes(b"".join(struct.pack(">ii", *entry) for entry in entries) + junk)
    with Segment.open(path) as segment:
        found = SegmentIndex.load(segment).record_at_offset(offset)
        assert found == SegmentIndex(segment, None, None).record_at_offset(offset)
