"""Tests of the detection of a deleted or replaced checkpoint."""

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stream.checkpoint.storage_watch import Presence


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoint" / "v1"
    for name in ("offsets", "commits", "state/0/0"):
        (folder / "spark" / name).mkdir(parents=True)
    for name in ("lock", "lagwarden.json", "spark/metadata", "spark/offsets/0"):
        (folder / name).write_text("{}")
    return folder


@pytest.fixture
def presence(folder: Path) -> Iterator[Presence]:
    """Return a Presence that has opened all files."""
    with contextlib.closing(Presence(folder)) as presence:
        assert presence.lost() is None
        yield presence


def test_files_written_by_spark_are_no_loss(folder: Path, presence: Presence) -> None:
    """Files and folders of batches that are created and deleted are no loss."""
    (folder / "spark" / "offsets" / "1").write_text("v1")
    (folder / "spark" / "offsets" / "0").unlink()
    shutil.rmtree(folder / "spark" / "state" / "0" / "0")
    assert presence.lost() is None


def make_again(path: Path) -> None:
    copy = shutil.copytree(path, path.parent.parent / "copy")
    shutil.rmtree(path)
    shutil.copytree(copy, path)


@pytest.mark.parametrize(
    ("loss", "named"),
    [
        (lambda folder: shutil.rmtree(folder.parent), "v1 was deleted"),
        (shutil.rmtree, "v1 was deleted"),
        (lambda folder: (shutil.rmtree(folder.parent), folder.parent.write_text("")), "v1 was deleted"),
        (make_again, "v1 was replaced"),
        (lambda folder: folder.rename(folder.parent / "elsewhere"), "v1 was deleted"),
        (lambda folder: (folder / "lagwarden.json").unlink(), "lagwarden.json was deleted"),
        (lambda folder: shutil.rmtree(folder / "spark"), "spark was deleted"),
        (lambda folder: make_again(folder / "spark"), "spark was replaced"),
        (lambda folder: (folder / "spark" / "metadata").unlink(), "metadata was deleted"),
        (lambda folder: make_again(folder / "spark" / "offsets"), "offsets was replaced"),
        (lambda folder: shutil.rmtree(folder / "spark" / "commits"), "commits was deleted"),
        (lambda folder: make_again(folder / "spark" / "state"), "state was replaced"),
    ],
)
def test_loss_is_named(folder: Path, presence: Presence, loss: Callable[[Path], object], named: str) -> None:
    """The loss is named even if a folder with the same name and content exists at the next check."""
    loss(folder)
    assert named in str(presence.lost())


def test_folder_of_a_new_checkpoint_is_watched_once_it_exists(tmp_path: Path) -> None:
    """A folder of Spark that is created after the first check is no loss, and its later deletion is reported."""
    with contextlib.closing(Presence(tmp_path / "v1")) as presence:
        assert presence.lost() is None
        (tmp_path / "v1" / "spark").mkdir(parents=True)
        assert presence.lost() is None
        (tmp_path / "v1" / "spark").rmdir()
        assert "spark was deleted" in str(presence.lost())


def test_storage_that_is_away_is_no_loss(folder: Path, presence: Presence, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of a mounted file system is no loss. A deletion is reported after the file system has returned."""

    def fail(path: Path, **_: object) -> os.stat_result:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(path))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "stat", fail)
        assert presence.lost() is None
    assert presence.lost() is None
    shutil.rmtree(folder)
    assert presence.lost() is not None
