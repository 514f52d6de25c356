"""One segment file: the end of its valid data."""

import os
import struct
from pathlib import Path

import pytest

from decoders.log.errors import LogFault
from decoders.log.segment import CHUNK, BatchCursor, Segment
from sandbox.kafka import log_writer as write
from tests.decoders.log.fixtures import RECORDED_SEGMENTS, simple_batches


def segment_of(folder: Path, content: bytes, base: int = 0) -> Segment:
    """Write these bytes as a segment and open it."""
    path = folder / f"{base:020}.log"
    path.write_bytes(content)
    return Segment.open(path)


def frame(length: int, magic: int) -> bytes:
    """Return the frame of a batch with this length and magic, followed by zeros."""
    return struct.pack(">qiib", 0, length, 0, magic) + bytes(99)


def walk(segment: Segment) -> tuple[list[int], BatchCursor]:
    """Return the last offsets of all batches, and the ended walk."""
    cursor = segment.batches()
    return [batch.last_offset for batch in cursor], cursor


def fault_of(cursor: BatchCursor) -> LogFault | None:
    error = cursor.error(last_segment=False)
    return error and error.fault


def test_batches_of_all_magics_are_read_from_one_file(tmp_path: Path) -> None:
    """A log can have batches of all three magics after upgrades."""
    content = (
        write.message(0, b"k", b"v", 0) + write.message(1, b"k", b"v", 1) + write.batch(2, [write.Rec(0, 0, b"", b"")])
    )
    with segment_of(tmp_path, content) as segment:
        batches = list(segment.batches())
        places = [(batch.magic, batch.position, batch.last_offset) for batch in batches]
        assert places == [(0, 0, 0), (1, 28, 1), (2, 64, 2)]


@pytest.mark.parametrize("path", RECORDED_SEGMENTS, ids=lambda path: f"{path.parent.name}-{path.name[-6:-4]}")
def test_recorded_segments_truncated_anywhere_have_an_expected_tail(path: Path, tmp_path: Path) -> None:
    """A real segment truncated at any byte gives its complete batches and a tail that a healthy log can have."""
    content = path.read_bytes()
    base = int(path.stem)
    with Segment.open(path) as segment:
        ends = [batch.position + batch.size for batch in segment.batches()]
    assert ends[-1] == len(content)
    with segment_of(tmp_path, content, base) as segment:
        for size in range(len(content), -1, -1):
            os.truncate(segment.path, size)
            segment.size = size
            offsets, cursor = walk(segment)
            complete = [end for end in ends if end <= size]
            assert len(offsets) == len(complete)
            assert cursor.end == (complete[-1] if complete else 0)
            assert fault_of(cursor) is (None if size in {0, *ends} else LogFault.TORN)
            assert cursor.error(last_segment=True) is None


def test_a_preallocated_tail_is_expected(tmp_path: Path) -> None:
    """Zeros after the last batch, a few or megabytes, are not damage in the active segment."""
    content = b"".join(simple_batches(3))
    for zeros in (1, 16, 17, 61, 100_000, CHUNK + 5):
        with segment_of(tmp_path, content + bytes(zeros)) as segment:
            offsets, cursor = walk(segment)
            assert (offsets, cursor.end) == ([0, 1, 2], len(content))
            assert cursor.error(last_segment=True) is None
            assert fault_of(cursor) is not None


def test_zeros_with_data_after_them_are_damage(tmp_path: Path) -> None:
    """A hole in the file is lost data, not preallocated space."""
    with segment_of(tmp_path, b"".join(simple_batches(1)) + bytes(5_000) + b"x") as segment:
        cursor = segment.batches()
        assert len(list(cursor)) == 1
        error = cursor.error(last_segment=True)
        assert error.fault is LogFault.BAD_LENGTH


def test_a_bad_checksum_is_reported_with_its_position(tmp_path: Path) -> None:
    """Damage in the middle is reported with file, byte and offset; the batches before it are returned."""
    batches = simple_batches(4)
    batches[2] = batches[2][:-1] + b"\x7f"
    with segment_of(tmp_path, b"".join(batches)) as segment:
        cursor = segment.batches()
        assert [batch.last_offset for batch in cursor] == [0, 1]
        for last in (True, False):
            error = cursor.error(last_segment=last)
            assert (error.fault, error.offset) == (LogFault.BAD_CRC, 2)
            assert (error.path, error.position) == (str(segment.path), len(batches[0]) + len(batches[1]))
        assert [batch.last_offset for batch in segment.batches(verify=False)] == [0, 1, 2, 3]


def test_a_bad_checksum_at_the_very_end_is_a_torn_write(tmp_path: Path) -> None:
    """The last batch of the last segment may have been written to disk only in part."""
    batches = simple_batches(2)
    batches[1] = batches[1][:-1] + b"\x7f"
    with segment_of(tmp_path, b"".join(batches)) as segment:
        cursor = segment.batches()
        assert len(list(cursor)) == 1
        assert cursor.error(last_segment=True) is None
        assert cursor.error(last_segment=False) is not None


INVALID = {
    "magic 3": (frame(0x31, 3), LogFault.BAD_MAGIC),
    "length below that of an empty batch": (frame(0x30, 2), LogFault.BAD_LENGTH),
    "negative length": (frame(-1, 2), LogFault.BAD_LENGTH),
    "length of 2 GiB": (frame(0x7FFFFFFF, 2), LogFault.TORN),
    "descending offsets": (b"".join(reversed(simple_batches(2))), LogFault.OFFSET_ORDER),
    "too far from the base offset": (write.batch(2**31, [write.Rec(0, 0, b"", b"")]), LogFault.OFFSET_ORDER),
}


def test_invalid_data_ends_the_walk(tmp_path: Path) -> None:
    """The walk ends with the fault of the rule that the data violates."""
    for story, (content, fault) in INVALID.items():
        with segment_of(tmp_path, content) as segment:
            assert fault_of(walk(segment)[1]) is fault, story


def test_a_batch_above_the_limit_is_not_read(tmp_path: Path) -> None:
    """A complete batch larger than the limit is an error. It is read with a higher limit."""
    large = write.batch(0, [write.Rec(0, 0, b"k", bytes(CHUNK + 1_000))])
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(large + write.batch(1, [write.Rec(0, 0, b"k", b"v")]))
    with Segment(path, 0, largest_batch=CHUNK) as segment:
        assert fault_of(walk(segment)[1]) is LogFault.TOO_LARGE
    with Segment(path, 0) as segment:
        assert walk(segment)[0] == [0, 1]


def test_a_file_truncated_while_it_is_read_is_torn(tmp_path: Path) -> None:
    """A follower may truncate its log during the read."""
    with segment_of(tmp_path, b"".join(simple_batches(3))) as segment:
        os.truncate(segment.path, segment.size - 5)
        offsets, cursor = walk(segment)
        assert (offsets, fault_of(cursor)) == ([0, 1], LogFault.TORN)
