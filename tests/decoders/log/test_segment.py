"""One segment file: where its valid data ends, and that it may grow while it is read."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

import pytest

from decoders.log.errors import LogFault
from decoders.log.segment import CHUNK, Segment
from tests.decoders.log import logwriter as write
from tests.decoders.log.fixtures import RECORDED_SEGMENTS, simple_batches

if TYPE_CHECKING:
    from pathlib import Path

    from decoders.log.frames import Tail


def segment_of(folder: Path, content: bytes, base: int = 0) -> Segment:
    """Write these bytes as a segment and open it."""
    path = folder / f"{base:020}.log"
    path.write_bytes(content)
    return Segment.open(path)


def frame(length: int, magic: int) -> bytes:
    """Write the frame of a batch that says this of itself, and some zeros."""
    return struct.pack(">qiib", 0, length, 0, magic) + bytes(99)


def walk(segment: Segment) -> tuple[list[int], Tail]:
    """Give the last offsets of all batches, and where the walk ended."""
    cursor = segment.batches()
    offsets = [batch.last_offset for batch in cursor]
    assert cursor.tail is not None
    return offsets, cursor.tail


def test_batches_of_all_magics_in_one_file(tmp_path: Path) -> None:
    """A log that lived through upgrades holds all three magics, one behind the other."""
    content = (
        write.message(0, b"k", b"v", 0) + write.message(1, b"k", b"v", 1) + write.batch(2, [write.Rec(0, 0, b"", b"")])
    )
    with segment_of(tmp_path, content) as segment:
        batches = list(segment.batches())
        assert [(batch.magic, batch.position, batch.last_offset) for batch in batches] == [
            (0, 0, 0),
            (1, 28, 1),
            (2, 64, 2),
        ]


@pytest.mark.parametrize("path", RECORDED_SEGMENTS, ids=lambda path: f"{path.parent.name}-{path.name[-6:-4]}")
def test_recorded_segments_end_quietly_at_every_cut(path: Path, tmp_path: Path) -> None:
    """What a real broker wrote, cut at any byte, gives its whole batches and a tail that a healthy log may have."""
    content = path.read_bytes()
    base = int(path.stem)
    with Segment.open(path) as segment:
        ends = [batch.position + batch.size for batch in segment.batches()]
    assert ends[-1] == len(content)
    with segment_of(tmp_path, content, base) as segment:
        for size in range(len(content), -1, -1):
            os.truncate(segment.path, size)
            segment.refresh()
            offsets, tail = walk(segment)
            whole = [end for end in ends if end <= size]
            assert len(offsets) == len(whole)
            assert tail.position == (whole[-1] if whole else 0)
            assert tail.fault is (None if size in {0, *ends} else LogFault.TORN)
            assert tail.is_expected(last_segment=True)
            assert tail.is_expected(last_segment=False) is (size in {0, *ends})


@pytest.mark.parametrize("zeros", [1, 16, 17, 61, 100_000, CHUNK + 5])
def test_a_preallocated_tail_ends_quietly(tmp_path: Path, zeros: int) -> None:
    """Zeros behind the last batch, a few or megabytes, are no damage in the segment being written."""
    content = b"".join(simple_batches(3))
    with segment_of(tmp_path, content + bytes(zeros)) as segment:
        offsets, tail = walk(segment)
        assert (offsets, tail.position, tail.size) == ([0, 1, 2], len(content), zeros)
        assert tail.is_expected(last_segment=True)
        assert not tail.is_expected(last_segment=False)


def test_zeros_with_data_behind_them_are_damage(tmp_path: Path) -> None:
    """A hole in the file is no preallocation: something was there and is lost."""
    with segment_of(tmp_path, b"".join(simple_batches(1)) + bytes(5_000) + b"x") as segment:
        cursor = segment.batches()
        assert len(list(cursor)) == 1
        error = cursor.error(last_segment=True)
        assert error is not None
        assert error.fault is LogFault.BAD_LENGTH


def test_a_bad_checksum_is_reported_with_its_place(tmp_path: Path) -> None:
    """Damage in the middle is reported with file, byte and offset; the batches before it are given."""
    batches = simple_batches(4)
    batches[2] = batches[2][:-1] + b"\x7f"
    with segment_of(tmp_path, b"".join(batches)) as segment:
        cursor = segment.batches()
        assert [batch.last_offset for batch in cursor] == [0, 1]
        for last in (True, False):
            error = cursor.error(last_segment=last)
            assert error is not None
            assert (error.fault, error.offset) == (LogFault.BAD_CRC, 2)
            assert (error.path, error.position) == (str(segment.path), len(batches[0]) + len(batches[1]))
        assert [batch.last_offset for batch in segment.batches(verify=False)] == [0, 1, 2, 3]


def test_a_bad_checksum_at_the_very_end_is_a_torn_write(tmp_path: Path) -> None:
    """The last batch of the last segment may have reached the disk in part."""
    batches = simple_batches(2)
    batches[1] = batches[1][:-1] + b"\x7f"
    with segment_of(tmp_path, b"".join(batches)) as segment:
        cursor = segment.batches()
        assert len(list(cursor)) == 1
        assert cursor.error(last_segment=True) is None
        assert cursor.error(last_segment=False) is not None


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        pytest.param(frame(0x31, 3), LogFault.BAD_MAGIC, id="magic 3"),
        pytest.param(frame(0x30, 2), LogFault.BAD_LENGTH, id="shorter than v2"),
        pytest.param(frame(-1, 2), LogFault.BAD_LENGTH, id="negative"),
        pytest.param(frame(0x7FFFFFFF, 2), LogFault.TORN, id="2 GiB claimed"),
        pytest.param(b"".join(reversed(simple_batches(2))), LogFault.OFFSET_ORDER, id="offsets go down"),
        pytest.param(
            write.batch(2**31, [write.Rec(0, 0, b"", b"")]), LogFault.OFFSET_ORDER, id="too far from the base"
        ),
    ],
)
def test_what_is_no_batch_ends_the_walk(tmp_path: Path, content: bytes, fault: LogFault) -> None:
    """Each rule for the end of valid data names itself; a length of 2 GiB allocates nothing."""
    with segment_of(tmp_path, content) as segment:
        assert walk(segment)[1].fault is fault


def test_a_batch_above_the_limit_is_refused_unread(tmp_path: Path) -> None:
    """A batch larger than the reader's limit is an error although the file holds it; below the limit it is read."""
    large = write.batch(0, [write.Rec(0, 0, b"k", bytes(CHUNK + 1_000))])
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(large + write.batch(1, [write.Rec(0, 0, b"k", b"v")]))
    with Segment(path, 0, largest_batch=CHUNK) as segment:
        assert walk(segment)[1].fault is LogFault.TOO_LARGE
    with Segment(path, 0) as segment:
        assert walk(segment)[0] == [0, 1]


def test_a_growing_segment_is_read_on_where_it_stopped(tmp_path: Path) -> None:
    """Bytes appended one by one come out as batches as soon as they are whole, each once."""
    content = b"".join(simple_batches(5)) + write.message(5, b"k", b"v", 1)
    with segment_of(tmp_path, b"") as segment, segment.path.open("ab", buffering=0) as broker:
        cursor = segment.batches()
        seen = []
        for byte in content:
            broker.write(bytes([byte]))
            segment.refresh()
            seen += [batch.last_offset for batch in cursor]
        assert seen == [0, 1, 2, 3, 4, 5]


def test_a_walk_left_early_goes_on_with_the_next_batch(tmp_path: Path) -> None:
    """Leaving the loop loses nothing: the next loop begins with the batch after the last one given."""
    with segment_of(tmp_path, b"".join(simple_batches(4))) as segment:
        cursor = segment.batches()
        assert next(cursor).last_offset == 0
        assert cursor.position == cursor.segment.size // 4
        assert [batch.last_offset for batch in cursor] == [1, 2, 3]


def test_bytes_behind_the_size_at_opening_are_not_read(tmp_path: Path) -> None:
    """The end is fixed when the file is opened, so that a reader of a busy log comes to an end."""
    first, second = simple_batches(2)
    with segment_of(tmp_path, first) as segment:
        with segment.path.open("ab") as broker:
            broker.write(second)
        assert walk(segment)[0] == [0]


def test_a_file_cut_while_it_is_read_is_torn(tmp_path: Path) -> None:
    """A follower may cut its log under the reader: that is a tail, not a crash."""
    with segment_of(tmp_path, b"".join(simple_batches(3))) as segment:
        os.truncate(segment.path, segment.size - 5)
        offsets, tail = walk(segment)
        assert (offsets, tail.fault) == ([0, 1], LogFault.TORN)


@pytest.mark.parametrize("name", ["x.log", "00000000000000000000.index", "00000000000000000000.log.deleted"])
def test_other_files_are_no_segments(tmp_path: Path, name: str) -> None:
    """Only a name of digits and .log (or .log.swap) tells a base offset."""
    (tmp_path / name).touch()
    with pytest.raises(ValueError, match="base offset"):
        Segment.open(tmp_path / name)
