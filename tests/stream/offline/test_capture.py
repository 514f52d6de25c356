"""Capture files: rows are read as written, a torn file is readable up to the tear, and captures can be continued."""

import io
from pathlib import Path

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.errors import ExitCode
from stream.offline.capture import SCHEMA, CaptureFile, CaptureWriter
from stream.offline.replay import Replay
from stream.offline.rows import OFFSETS_TOPIC, LogRow, Origin, UnreadableRefusal
from tests.stream.offline.captures import ORIGIN, RECORDED, capture_of, commit, row
from tests.support.hypothesis_profiles import examples
from tests.support.replayed_groups import replayed_groups

ROWS = st.builds(
    LogRow,
    st.sampled_from([OFFSETS_TOPIC, "__transaction_state"]),
    st.integers(0, 3),
    st.integers(0, 2**63 - 1),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.binary(max_size=40),
    st.none() | st.binary(max_size=40),
)


def _many(count: int) -> list[LogRow]:
    return [row(at, b"key %d" % at, bytes(1000), partition=at % 3) for at in range(count)]


@examples(50)
@given(st.lists(ROWS, max_size=20))
def test_rows_are_read_as_written(tmp_path_factory: pytest.TempPathFactory, rows: list[LogRow]) -> None:
    """Nulls, empty bytes and numbers up to the limits of 64 bits are preserved."""
    path = capture_of(tmp_path_factory.mktemp("c") / "c.avro", rows)
    assert list(CaptureFile(path).rows()) == rows


def test_capture_is_readable_by_any_avro_reader(tmp_path: Path) -> None:
    """A capture is a standard Avro container file, whose header has the origin of the rows, version and time."""
    path = capture_of(tmp_path / "c.avro", [LogRow("t", 1, 2, None, b"k", None)])
    fields = {"topic": "t", "partition": 1, "offset": 2, "timestamp": None, "key": b"k", "value": None}
    with path.open("rb") as file:
        assert list(fastavro.reader(file)) == [fields]
    capture = CaptureFile(path)
    assert capture.origin == ORIGIN


def test_torn_file_is_read_up_to_the_tear(tmp_path: Path) -> None:
    """A file cut off after the header yields its complete blocks, and one problem with the position of the tear."""
    rows = _many(1000)
    path = capture_of(tmp_path / "c.avro", rows)
    raw = path.read_bytes()
    borders = [block.start for block in CaptureFile(path).blocks()] + [len(raw)]
    assert len(borders) > 4
    for cut in {*range(borders[0] + 1, len(raw), 997), borders[1] - 1, borders[1] + 1, len(raw) - 1}:
        path.write_bytes(raw[:cut])
        torn = CaptureFile(path)
        kept = list(torn.rows())
        assert kept == rows[: len(kept)]
        assert torn.end == max(border for border in borders if border <= cut)
        assert len(torn.problems) == (0 if cut in borders else 1), cut
        assert all(f"torn at byte {torn.end}: " in problem for problem in torn.problems)


def test_damaged_block_ends_the_read_with_a_problem(tmp_path: Path) -> None:
    """Damage in the framing or in the compressed bytes of a block ends the read there.

    The rows of the earlier blocks are read, and the problem has the position of the damaged block.
    """
    rows = _many(1000)
    path = capture_of(tmp_path / "c.avro", rows)
    raw = bytearray(path.read_bytes())
    first = next(CaptureFile(path).blocks())
    second = first.end
    for at in (second + 1, second + 20, second + 40):
        damaged = bytearray(raw)
        damaged[at] ^= 0xFF
        path.write_bytes(damaged)
        capture = CaptureFile(path)
        assert list(capture.rows()) == rows[: len(first.rows)]
        assert capture.end == second
        (problem,) = capture.problems
        assert f"damaged at byte {second}: " in problem


SMALL = RECORDED.read_bytes()


@examples(100)
@given(st.lists(st.tuples(st.integers(0, len(SMALL) - 1), st.integers(1, 255)), min_size=1, max_size=4))
def test_damaged_file_is_rejected_or_replayed(
    tmp_path_factory: pytest.TempPathFactory, flips: list[tuple[int, int]]
) -> None:
    """A file with any changed bytes is rejected, or the pipeline processes its rows."""
    damaged = bytearray(SMALL)
    for at, mask in flips:
        damaged[at] ^= mask
    path = tmp_path_factory.mktemp("c") / "c.avro"
    path.write_bytes(damaged)
    try:
        capture = CaptureFile(path)
    except UnreadableRefusal:
        return
    pipeline = Replay()
    pipeline.read(capture.rows())
    replayed_groups(pipeline)


def test_invalid_partitions_and_offsets_are_damage(tmp_path: Path) -> None:
    """A row with a negative partition or offset ends the read."""
    for invalid in (LogRow("t", -1, 0, None, None, None), LogRow("t", 0, -5, None, None, None)):
        path = capture_of(tmp_path / f"{invalid.offset}.avro", [commit(0, 1)])
        capture_of(path, [invalid])
        capture = CaptureFile(path)
        assert list(capture.rows()) == [commit(0, 1)]
        assert len(capture.problems) == 1


def test_continued_capture_has_the_same_rows(tmp_path: Path) -> None:
    """A capture written in three runs, torn after the first, has the same rows as one written in a single run."""
    rows = _many(1000)
    path = tmp_path / "c.avro"
    capture_of(path, rows[:400])
    path.write_bytes(path.read_bytes()[:-5])
    for upto in (700, 1000):
        with CaptureWriter(path, ORIGIN) as writer:
            for each in rows[:upto]:
                if each.offset > writer.last.get(each.place, -1):
                    writer.write(each)
    assert sorted(CaptureFile(path).rows(), key=lambda each: each.offset) == rows
    assert not CaptureFile(path).problems


OTHER_ORIGINS = {
    "to cluster cluster-1, not to cluster-2": Origin("cluster-2", ORIGIN.topic_ids),
    "was re-created": Origin("cluster-1", {OFFSETS_TOPIC: "id-2"}),
    "created without topic __x": Origin("cluster-1", {"__x": None}),
}


def test_rows_of_another_origin_are_rejected(tmp_path: Path) -> None:
    """A capture never mixes clusters or re-created topics, because offsets of different logs are not comparable.

    A log directory may lack the cluster id and the topic id; an unknown id does not conflict with a known one.
    """
    path = capture_of(tmp_path / "c.avro", _many(3))
    before = path.read_bytes()
    for problem, other in OTHER_ORIGINS.items():
        with pytest.raises(UnreadableRefusal, match=problem):
            CaptureWriter(path, other)
        assert path.read_bytes() == before
    CaptureWriter(path, Origin(None, {OFFSETS_TOPIC: None})).close()
    assert len(list(CaptureFile(path).rows())) == 3


def avro(schema: dict[str, object]) -> bytes:
    """Return an Avro file without rows."""
    file = io.BytesIO()
    fastavro.writer(file, schema, [])
    return file.getvalue()


def test_file_that_is_not_a_capture_is_rejected(tmp_path: Path) -> None:
    """The error is one line with the exit code UNREADABLE."""
    path = tmp_path / "c.avro"
    other_fields = {**SCHEMA, "fields": [{"name": "topic", "type": "int"}, *SCHEMA["fields"][1:]]}
    for content, problem in (
        *((content, None) for content in (None, b"", b"# a text file\n", b"Obj\x01", b"Obj\x01" + b"\xff" * 60)),
        (avro(other_fields), "another format"),
        (avro({"type": "record", "name": "Other", "fields": []}), "an Avro file, but not a capture"),
    ):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(UnreadableRefusal, match=problem) as refused:
            CaptureFile(path)
        assert refused.value.code == ExitCode.UNREADABLE
        assert "\n" not in str(refused.value)
