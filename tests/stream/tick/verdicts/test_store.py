"""The verdict file: round trip, foreign and damaged files, full disks."""

import json
import os
import random
import stat
import zipfile
from pathlib import Path

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from exporters.readmodel import VerdictChange
from stream.checkpoint.directory import VERDICTS
from stream.checkpoint.usage import SideFiles
from stream.health.day_one import DayOne
from stream.tick.verdicts.store import FORMAT, StoredVerdicts, VerdictStore
from tests.support.resources import full_after

CHANGES = st.builds(
    VerdictChange,
    st.floats(0, 4e9),
    st.one_of(st.none(), st.text(max_size=3)),
    st.text(max_size=3),
    st.text(max_size=3),
)
NAMES = st.text(st.characters(), max_size=5)
STORED = st.builds(
    StoredVerdicts,
    st.one_of(st.none(), st.binary(max_size=9)),
    st.dictionaries(NAMES, st.lists(CHANGES, max_size=2), max_size=3),
    st.dictionaries(NAMES, st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=2), max_size=3),
    st.builds(DayOne, st.integers(0, 1 << 60), st.integers(0, 1 << 60), st.frozensets(NAMES, max_size=3)),
    st.one_of(st.none(), st.binary(max_size=9)),
)


@given(stored=STORED)
def test_written_verdicts_are_read_back(tmp_path_factory: pytest.TempPathFactory, stored: StoredVerdicts) -> None:
    """The verdicts may have any group names, also those with lone surrogates."""
    file = VerdictStore(tmp_path_factory.mktemp("checkpoint"))
    file.write(StoredVerdicts(b"before"))
    file.write(stored)
    assert file.read() == stored


def archive(folder: Path, **members: object) -> bytes:
    """Return an archive with these members as JSON."""
    path = folder / "made.zip"
    with zipfile.ZipFile(path, "w") as made:
        for name, value in members.items():
            made.writestr(f"{name}.json", json.dumps(value))
    content = path.read_bytes()
    path.unlink()
    return content


COMPLETE: dict[str, object] = {"about": {"format": FORMAT}, "changes": {}, "rebalances": {}}


FOREIGN: dict[str, dict[str, object]] = {
    "another format": {**COMPLETE, "about": {"format": FORMAT + 1}},
    "no format": {**COMPLETE, "about": {}},
    "a part only": {"about": COMPLETE["about"]},
    "changes of another shape": {**COMPLETE, "changes": []},
    "a change of another shape": {**COMPLETE, "changes": {"g": [[1, 2]]}},
    "counts that are not numbers": {**COMPLETE, "rebalances": {"g": [["x", "y"]]}},
}


@pytest.mark.parametrize("members", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_file_is_set_aside(tmp_path: Path, members: dict[str, object]) -> None:
    """A foreign file gets another name, and a new file can be written."""
    _is_set_aside(tmp_path, archive(tmp_path, **members))


def test_a_flipped_bit_is_detected(tmp_path: Path) -> None:
    """The archive has checksums of its members."""
    file = VerdictStore(tmp_path)
    file.write(StoredVerdicts(bytes(range(256)), {"g": [VerdictChange(1, None, "ok", "fine")]}))
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
    file.write(StoredVerdicts())
    assert file.read() == StoredVerdicts()


def test_a_missing_folder_is_logged_once(tmp_path: Path) -> None:
    """A failed write raises no exception, so that the job continues."""
    files = SideFiles()
    file = VerdictStore(tmp_path / "gone", files)
    with structlog.testing.capture_logs() as lines:
        for _ in range(3):
            file.write(StoredVerdicts())
        assert file.read() is None
    assert [line["event"] for line in lines] == ["optional file not written"]
    assert {"file": "verdicts", "failures": 3} in files.table().to_pylist()


@pytest.mark.parametrize("room", [0, 10, 300])
def test_a_full_disk_keeps_the_old_file(tmp_path: Path, room: int) -> None:
    """The write raises no exception, the old file stays, and no partial new file takes up space."""
    file = VerdictStore(tmp_path)
    file.write(StoredVerdicts(b"old"))
    with structlog.testing.capture_logs(), full_after(room):
        file.write(StoredVerdicts(random.Random(1).randbytes(4096)))  # noqa: S311 -- bytes that do not compress
    assert file.read() == StoredVerdicts(b"old")
    assert [path.name for path in tmp_path.iterdir()] == [VERDICTS]


def test_a_written_file_survives_a_loss_of_power(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is synced before its rename, and its folder after it."""
    synced: list[tuple[bool, bool]] = []
    sync = os.fsync

    def note(handle: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(handle).st_mode), (tmp_path / VERDICTS).exists()))
        sync(handle)

    monkeypatch.setattr("stream.checkpoint.files.os.fsync", note)
    VerdictStore(tmp_path).write(StoredVerdicts(b"new"))
    assert synced == [(False, False), (True, True)]
