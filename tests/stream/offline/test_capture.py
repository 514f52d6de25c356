"""Capture files: what is written is read, a tear costs only what lies behind it, and going on makes no difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.errors import ExitCode
from stream.offline.capture import SCHEMA, CaptureFile, CaptureWriter
from stream.offline.replay import Replay
from stream.offline.rows import OFFSETS_TOPIC, Origin, TopicRow, UnreadableRefusal
from tests.stream.offline.captures import ORIGIN, RECORDED, capture_of, commit, row
from tests.support.laws import examples
from tests.support.replayed_groups import replayed_groups

if TYPE_CHECKING:
    from pathlib import Path

ROWS = st.builds(
    TopicRow,
    st.sampled_from([OFFSETS_TOPIC, "__transaction_state"]),
    st.integers(0, 3),
    st.integers(0, 2**63 - 1),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.binary(max_size=40),
    st.none() | st.binary(max_size=40),
)


def _many(count: int) -> list[TopicRow]:
    """Give rows for several blocks."""
    return [row(at, b"key %d" % at, bytes(1000), partition=at % 3) for at in range(count)]


@examples(50)
@given(st.lists(ROWS, max_size=20))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, rows: list[TopicRow]) -> None:
    """Any row comes back as it was: nulls, empty bytes, numbers to the limits of 64 bits."""
    path = capture_of(tmp_path_factory.mktemp("c") / "c.avro", rows)
    assert list(CaptureFile(path).rows()) == rows


def test_the_header_says_where_the_rows_come_from(tmp_path: Path) -> None:
    """Cluster, topics and their ids, lagwarden's version and the moment stand in the file."""
    capture = CaptureFile(capture_of(tmp_path / "c.avro", []))
    assert capture.origin == ORIGIN
    assert capture.version
    assert capture.created.startswith("20")


def test_any_avro_reader_reads_it(tmp_path: Path) -> None:
    """The container is plain Avro: names, types and null as anybody expects them."""
    path = capture_of(tmp_path / "c.avro", [TopicRow("t", 1, 2, None, b"k", None)])
    with path.open("rb") as file:
        assert list(fastavro.reader(file)) == [
            {"topic": "t", "partition": 1, "offset": 2, "timestamp": None, "key": b"k", "value": None}
        ]


def test_a_torn_file_is_read_up_to_the_tear(tmp_path: Path) -> None:
    """Cut anywhere behind the header, it gives whole blocks, and one line says from where the rest is lost."""
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


def test_a_flipped_bit_never_gives_a_wrong_end(tmp_path: Path) -> None:
    """Damage in a block's frame or its compressed bytes ends the reading there, with the line that says so."""
    rows = _many(1000)
    path = capture_of(tmp_path / "c.avro", rows)
    raw = bytearray(path.read_bytes())
    second = [block.start for block in CaptureFile(path).blocks()][1]
    for at in (second + 1, second + 20, second + 40):
        damaged = bytearray(raw)
        damaged[at] ^= 0xFF
        path.write_bytes(damaged)
        capture = CaptureFile(path)
        kept = list(capture.rows())
        assert 0 < len(kept) < len(rows)
        assert capture.problems


SMALL = RECORDED.read_bytes()


@examples(100)
@given(st.lists(st.tuples(st.integers(0, len(SMALL) - 1), st.integers(1, 255)), min_size=1, max_size=4))
def test_no_damage_is_fatal(tmp_path_factory: pytest.TempPathFactory, flips: list[tuple[int, int]]) -> None:
    """Whatever bytes are wrong, the file is refused, or gives rows that the pipeline takes."""
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


def test_rows_that_cannot_be_are_damage(tmp_path: Path) -> None:
    """Whole numbers that no partition and no offset has end the reading, before anything takes them for true."""
    for wrong in (TopicRow("t", -1, 0, None, None, None), TopicRow("t", 0, -5, None, None, None)):
        path = capture_of(tmp_path / f"{wrong.offset}.avro", [commit(0, 1)])
        capture_of(path, [wrong])
        capture = CaptureFile(path)
        assert list(capture.rows()) == [commit(0, 1)]
        assert len(capture.problems) == 1


def test_going_on_makes_the_same_file(tmp_path: Path) -> None:
    """Written in one go or in three, torn in between, a capture holds the same rows."""
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


def test_only_what_is_new_can_be_asked_for(tmp_path: Path) -> None:
    """Rows behind an offset per partition; places that are not named are given whole."""
    path = capture_of(tmp_path / "c.avro", [commit(at, at, partition=at % 2) for at in range(10)])
    assert [each.offset for each in CaptureFile(path).rows({(OFFSETS_TOPIC, 0): 4})] == [1, 3, 5, 6, 7, 8, 9]
    assert CaptureFile(path).last_offsets() == {(OFFSETS_TOPIC, 0): 8, (OFFSETS_TOPIC, 1): 9}


@pytest.mark.parametrize(
    ("other", "says"),
    [
        pytest.param(Origin("cluster-2", ORIGIN.topic_ids), "to cluster cluster-1, not to cluster-2", id="cluster"),
        pytest.param(Origin("cluster-1", {OFFSETS_TOPIC: "id-2"}), "was re-created", id="topic re-created"),
        pytest.param(Origin("cluster-1", {"__x": None}), "created without topic __x", id="another topic"),
    ],
)
def test_rows_of_something_else_are_refused(tmp_path: Path, other: Origin, says: str) -> None:
    """A file never mixes clusters or the lives of a topic: offsets of different logs cannot be compared."""
    path = capture_of(tmp_path / "c.avro", _many(3))
    before = path.read_bytes()
    with pytest.raises(UnreadableRefusal, match=says):
        CaptureWriter(path, other)
    assert path.read_bytes() == before


def test_unknown_origins_go_together(tmp_path: Path) -> None:
    """A log directory does not always tell its cluster: what is not known contradicts nothing."""
    path = capture_of(tmp_path / "c.avro", _many(3))
    CaptureWriter(path, Origin(None, {OFFSETS_TOPIC: None})).close()
    assert len(list(CaptureFile(path).rows())) == 3


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(None, id="no such file"),
        pytest.param(b"", id="empty"),
        pytest.param(b"# a text file\n", id="text"),
        pytest.param(b"Obj\x01", id="four bytes of Avro"),
        pytest.param(b"Obj\x01" + b"\xff" * 60, id="Avro and then garbage"),
    ],
)
def test_what_is_no_capture_is_refused(tmp_path: Path, content: bytes | None) -> None:
    """One line, and the exit code for what cannot be read."""
    path = tmp_path / "c.avro"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UnreadableRefusal) as refused:
        CaptureFile(path)
    assert refused.value.code == ExitCode.UNREADABLE
    assert "\n" not in str(refused.value)


def test_a_capture_with_other_fields_is_refused(tmp_path: Path) -> None:
    """The name alone does not make a capture that can be read."""
    path = tmp_path / "c.avro"
    schema = {**SCHEMA, "fields": [{"name": "topic", "type": "int"}, *SCHEMA["fields"][1:]]}
    with path.open("wb") as file:
        fastavro.writer(file, schema, [])
    with pytest.raises(UnreadableRefusal, match="another format"):
        CaptureFile(path)


def test_other_avro_is_refused(tmp_path: Path) -> None:
    """An Avro file with other rows is named as that."""
    path = tmp_path / "c.avro"
    with path.open("wb") as file:
        fastavro.writer(file, {"type": "record", "name": "Other", "fields": []}, [])
    with pytest.raises(UnreadableRefusal, match="an Avro file, but not a capture"):
        CaptureFile(path)


def test_the_recorded_capture_is_small_and_whole() -> None:
    """What the tests replay is a file of real traffic that nobody minds in a repository."""
    capture = CaptureFile(RECORDED)
    assert RECORDED.stat().st_size < 300_000
    assert len(list(capture.rows())) > 100
    assert not capture.problems
    assert capture.origin.topic_ids.keys() == {OFFSETS_TOPIC, "__transaction_state", "__share_group_state"}
