"""Tests of paths in an object store: each result is that of a directory with the same files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stream.checkpoint.objects.path import ObjectPath

FILES = (
    "lagwarden.json",
    "spark/metadata",
    "spark/offsets/0",
    "spark/offsets/1",
    "spark/offsets-old/7",
    "spark/state/0/1/2.changelog",
    "spark/state/0/1/2.zip",
    "spark/state/0/1/SSTs/a.sst",
    "spark/state/0/_metadata/metadata",
    "spark/state/0/_metadata/.draft",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


@pytest.fixture(params=["asked", "listed", "with markers of folders"])
def objects(root: ObjectPath, request: pytest.FixtureRequest) -> ObjectPath:
    """Return the objects with the same names; Hadoop's client leaves markers of folders that it created."""
    for name in FILES:
        (root / name).write_bytes(name.encode())
    if request.param == "with markers of folders":
        for name in ("", "spark/", "spark/offsets/", "spark/state/0/1/"):
            root.store.write(f"{root.key}/{name}", b"")
    return root.listed() if request.param == "listed" else root


QUESTIONS: tuple[Callable[[Any], object], ...] = (
    lambda path: sorted(each.name for each in path.iterdir()),
    lambda path: sorted(each.name for each in (path / "spark" / "offsets").glob("[0-9]*")),
    lambda path: sorted(each.name for each in (path / "spark" / "state").glob("*/[0-9]*/[0-9]*")),
    lambda path: sorted(each.name for each in (path / "spark" / "state").rglob("[!.]*") if each.is_file()),
    lambda path: [*(path / "nothing").glob("*")],
    lambda path: [(path / name).exists() for name in ("spark", "spark/off", "spark/metadata")],
    lambda path: [(path / name).is_file() for name in ("spark", "spark/metadata")],
    lambda path: (path / "spark" / "metadata").stat().st_size,
    lambda path: (path / "spark" / "metadata").read_text(),
    lambda path: (path / "spark" / "metadata").with_name("x").name,
)


def test_results_equal_those_of_a_directory(folder: Path, objects: ObjectPath) -> None:
    """Each method returns the same result for objects as for a directory."""
    assert [ask(objects) for ask in QUESTIONS] == [ask(folder) for ask in QUESTIONS]


def test_rename_of_a_folder_moves_all_objects_below(root: ObjectPath) -> None:
    """A single object can be moved too. An object whose name only begins with the folder's name is not moved."""
    for name in ("spark/a", "spark/b/c", "spark-old/a", "other"):
        (root / name).write_bytes(name.encode())
    (root / "spark").rename(root / "set-aside-1" / "spark")
    (root / "other").rename(root / "set-aside-1" / "other")
    assert sorted(root.sizes()) == ["set-aside-1/other", "set-aside-1/spark/a", "set-aside-1/spark/b/c", "spark-old/a"]
    assert (root / "set-aside-1" / "spark" / "b" / "c").read_text() == "spark/b/c"


def test_missing_object_is_a_missing_file(root: ObjectPath) -> None:
    """Reading or describing a missing object raises FileNotFoundError. Deleting a missing object raises no error."""
    for ask in (root.read_bytes, root.stat, root.open):
        with pytest.raises(FileNotFoundError):
            ask()
    (root / "none").unlink()


def test_text_of_a_path_is_an_s3a_address(root: ObjectPath) -> None:
    """The text of a path has the form that Hadoop's S3 client uses."""
    assert str(root / "v2" / "spark") == "s3a://kafka-state/team/lagwarden/v2/spark"
