"""A checkpoint that is deleted or replaced under a running process is noticed, whatever is made in its place."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stream.checkpoint.presence import Presence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give the files of a checkpoint whose query has started."""
    folder = tmp_path / "checkpoint" / "v1"
    for name in ("offsets", "commits", "state/0/0"):
        (folder / "spark" / name).mkdir(parents=True)
    for name in ("lock", "lagwarden.json", "spark/metadata", "spark/offsets/0"):
        (folder / name).write_text("{}")
    return folder


@pytest.fixture
def presence(folder: Path) -> Iterator[Presence]:
    """Give a watch that has seen the checkpoint whole."""
    with contextlib.closing(Presence(folder)) as presence:
        assert presence.lost() is None
        yield presence


def test_work_of_spark_is_no_loss(folder: Path, presence: Presence) -> None:
    """Files of batches come and go."""
    (folder / "spark" / "offsets" / "1").write_text("v1")
    (folder / "spark" / "offsets" / "0").unlink()
    shutil.rmtree(folder / "spark" / "state" / "0" / "0")
    assert presence.lost() is None


def make_again(path: Path) -> None:
    """Delete a folder and put a copy of it in its place."""
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
    """Also when a folder of the same name, with the same content, is there again at the next look."""
    loss(folder)
    assert named in str(presence.lost())


def test_what_comes_later_is_held_from_then_on(tmp_path: Path) -> None:
    """A new checkpoint has no folders of Spark until the first batch."""
    with contextlib.closing(Presence(tmp_path / "v1")) as presence:
        assert presence.lost() is None
        (tmp_path / "v1" / "spark").mkdir(parents=True)
        assert presence.lost() is None
        (tmp_path / "v1" / "spark").rmdir()
        assert "spark was deleted" in str(presence.lost())


def test_closed_watch_holds_nothing(folder: Path) -> None:
    """No descriptor stays open."""
    presence = Presence(folder)
    presence.lost()
    before = len(list(Path("/proc/self/fd").iterdir()))
    presence.close()
    assert before - len(list(Path("/proc/self/fd").iterdir())) == 9
