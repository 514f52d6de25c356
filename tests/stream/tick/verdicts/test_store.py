"""The file beside the checkpoint: what it gives back, and what it does with bytes that are not its own."""

from __future__ import annotations

import json
import random
import zipfile
from typing import TYPE_CHECKING

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from exporters.readmodel import VerdictChange
from stream.checkpoint.directory import VERDICTS
from stream.checkpoint.side_files import SideFiles
from stream.tick.verdicts.store import FORMAT, StoredVerdicts, VerdictStore
from tests.support.limits import full_after

if TYPE_CHECKING:
    from pathlib import Path

CHANGES = st.builds(
    VerdictChange,
    st.floats(0, 4e9),
    st.one_of(st.none(), st.text(max_size=3)),
    st.text(max_size=3),
    st.text(max_size=3),
)
NAMES = st.text(st.characters(), max_size=5)
KEPT = st.builds(
    StoredVerdicts,
    st.sampled_from(["lagwarden", "burrow"]),
    st.one_of(st.none(), st.binary(max_size=9)),
    st.dictionaries(NAMES, st.lists(CHANGES, max_size=2), max_size=3),
    st.dictionaries(NAMES, st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=2), max_size=3),
)


@given(kept=KEPT)
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, kept: StoredVerdicts) -> None:
    """Whatever groups are named, also with halves of characters."""
    file = VerdictStore(tmp_path_factory.mktemp("checkpoint"))
    file.write(StoredVerdicts("another", b"before"))
    file.write(kept)
    assert file.read() == kept


def test_nothing_kept_is_nothing(tmp_path: Path) -> None:
    """A checkpoint from before has no such file."""
    assert VerdictStore(tmp_path).read() is None
    assert list(tmp_path.iterdir()) == []


def archive(folder: Path, **members: object) -> bytes:
    """Give an archive with some members as JSON."""
    path = folder / "made.zip"
    with zipfile.ZipFile(path, "w") as made:
        for name, value in members.items():
            made.writestr(f"{name}.json", json.dumps(value))
    content = path.read_bytes()
    path.unlink()
    return content


WHOLE: dict[str, object] = {"about": {"format": FORMAT, "rules": "lagwarden"}, "changes": {}, "rebalances": {}}


@pytest.mark.parametrize(
    "members",
    [
        pytest.param({**WHOLE, "about": {"format": FORMAT + 1, "rules": "lagwarden"}}, id="another format"),
        pytest.param({**WHOLE, "about": {}}, id="no format"),
        pytest.param({"about": WHOLE["about"]}, id="a part only"),
        pytest.param({**WHOLE, "changes": []}, id="changes of another shape"),
        pytest.param({**WHOLE, "changes": {"g": [[1, 2]]}}, id="a change of another shape"),
        pytest.param({**WHOLE, "rebalances": {"g": [["x", "y"]]}}, id="counts that are none"),
    ],
)
def test_a_foreign_file_is_set_aside(tmp_path: Path, members: dict[str, object]) -> None:
    """It is kept under another name, and verdicts begin anew; a later write is not in its way."""
    content = archive(tmp_path, **members)
    _is_set_aside(tmp_path, content)


@pytest.mark.parametrize(
    "cut", [0, 1, 20, 0.5, -1], ids=["empty", "one byte", "the head", "the half", "all but a byte"]
)
def test_a_broken_file_is_set_aside(tmp_path: Path, cut: float) -> None:
    """A disk that was full, or a power cut of a careless file system."""
    file = VerdictStore(tmp_path)
    file.write(StoredVerdicts("lagwarden", b"shown" * 99))
    content = (tmp_path / VERDICTS).read_bytes()
    _is_set_aside(tmp_path, content[: cut if isinstance(cut, int) else int(len(content) * cut)])


def test_a_flipped_bit_is_noticed(tmp_path: Path) -> None:
    """The archive carries sums of what is in it."""
    file = VerdictStore(tmp_path)
    file.write(StoredVerdicts("lagwarden", bytes(range(256)), {"g": [VerdictChange(1, None, "ok", "fine")]}))
    content = bytearray((tmp_path / VERDICTS).read_bytes())
    content[content.index(b"shown") + 40] ^= 1
    _is_set_aside(tmp_path, bytes(content))


def _is_set_aside(folder: Path, content: bytes) -> None:
    path = folder / VERDICTS
    path.write_bytes(content)
    file = VerdictStore(folder)
    assert file.read() is None
    assert not path.exists()
    assert path.with_suffix(".zip.set-aside").read_bytes() == content
    file.write(StoredVerdicts("lagwarden"))
    assert file.read() == StoredVerdicts("lagwarden")


def test_a_folder_that_takes_nothing_costs_a_line_and_no_more(tmp_path: Path) -> None:
    """The job goes on, and says it once."""
    files = SideFiles()
    file = VerdictStore(tmp_path / "gone", files)
    with structlog.testing.capture_logs() as lines:
        for _ in range(3):
            file.write(StoredVerdicts("lagwarden"))
        assert file.read() is None
    assert [line["event"] for line in lines] == ["a file cannot be written; the process goes on without it"]
    assert {"file": "verdicts", "failures": 3} in files.table().to_pylist()


@pytest.mark.parametrize("room", [0, 10, 300])
def test_a_full_disk_keeps_the_old_file(tmp_path: Path, room: int) -> None:
    """Wherever the disk is full: nothing is raised, the old file stays, and no half of a new one takes up space."""
    file = VerdictStore(tmp_path)
    file.write(StoredVerdicts("lagwarden", b"old"))
    with structlog.testing.capture_logs(), full_after(room):
        file.write(StoredVerdicts("lagwarden", random.Random(1).randbytes(4096)))  # noqa: S311 -- bytes that do not compress
    assert file.read() == StoredVerdicts("lagwarden", b"old")
    assert [path.name for path in tmp_path.iterdir()] == [VERDICTS]


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new one takes its place only when it is whole."""
    file = VerdictStore(tmp_path)
    file.write(StoredVerdicts("lagwarden", b"old"))

    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("stream.tick.verdicts.store.os.fsync", full)
    file.write(StoredVerdicts("lagwarden", b"new"))
    assert file.read() == StoredVerdicts("lagwarden", b"old")
