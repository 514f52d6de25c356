"""What a checkpoint keeps of a first read: complete and undamaged, or nothing."""

import shutil
from pathlib import Path

import pytest

from stream.checkpoint.continuity import FOLDER, KeptRead, result_file
from stream.checkpoint.spark_offsets import SourceOffsets

READ = KeptRead({0: 3, 1: 0}, SourceOffsets({0: 9, 1: 4}, {0: 7}), (((0, 3, 9),), ((1, 0, 4),)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a first read of two tasks, in the checkpoint `tmp_path`."""
    made = tmp_path / FOLDER
    made.mkdir()
    for task in range(2):
        result_file(made, task).write_bytes(b"result %d" % task)
    READ.write(made)
    return made


def test_a_complete_read_is_found_while_its_folder_exists(folder: Path) -> None:
    """The next start finds the same ranges, until the folder is removed with the end of the first batch."""
    assert KeptRead.read(folder.parent) == READ
    shutil.rmtree(folder)
    assert KeptRead.read(folder.parent) is None


@pytest.mark.parametrize("name", ["0.arrow", "1.arrow", "index.json"])
@pytest.mark.parametrize("content", [None, b"", b"result 2", b"{}", b"[1]"])
def test_a_damaged_read_is_none(folder: Path, name: str, content: bytes | None) -> None:
    """A file that is missing, shorter or other than written, as after a power cut, leaves the topic to be read."""
    (folder / name).unlink() if content is None else (folder / name).write_bytes(content)
    assert KeptRead.read(folder.parent) is None
