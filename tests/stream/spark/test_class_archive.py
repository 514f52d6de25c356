"""The class archive: a cache that is used if it exists, and whose absence or damage has no effect."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from stream.spark.class_archive import ClassArchive

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a JVM to name archives by, which is never started."""
    home = tmp_path / "jdk"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("#!/bin/sh\n")
    monkeypatch.setenv("JAVA_HOME", str(home))
    return home / "bin" / "java"


@pytest.fixture(autouse=True)
def spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a Spark with one jar."""
    return install(tmp_path / "spark", monkeypatch)


def install(spark: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with one jar the Spark of this process."""
    (spark / "jars").mkdir(parents=True)
    (spark / "jars" / "core.jar").write_bytes(b"jar")
    os.utime(spark / "jars" / "core.jar", (1_000, 1_000))
    monkeypatch.setattr("stream.spark.java.spark_home", lambda: spark)
    monkeypatch.setattr("stream.spark.class_archive.spark_home", lambda: spark)
    return spark


@pytest.fixture
def archive(tmp_path: Path) -> ClassArchive:
    """Return an archive that a JVM is to write."""
    return ClassArchive.to_write(tmp_path / "classes", "4.3.0")


def draft_of(archive: ClassArchive) -> Path:
    """Return the file to which the JVM writes it."""
    assert archive.draft is not None
    assert f"-XX:ArchiveClassesAtExit={archive.draft}" in archive.java_options()
    return archive.draft


def test_draft_of_a_killed_jvm_is_removed(archive: ClassArchive) -> None:
    """Half an archive never has the name of a whole one, and takes no space."""
    draft_of(archive).write_bytes(b"half")
    assert archive.keep(complete=False) is False
    assert list(archive.path.parent.iterdir()) == []
    assert ClassArchive.existing(archive.path.parent, "4.3.0") is None


def test_complete_archive_is_used_by_the_next_start(archive: ClassArchive) -> None:
    """The draft of a JVM that ended in good order takes its place, and the next start maps it and writes none."""
    draft_of(archive).write_bytes(b"classes")
    assert archive.keep(complete=True) is True
    existing = ClassArchive.existing(archive.path.parent, "4.3.0")
    assert existing == ClassArchive(archive.path)
    assert f"-XX:SharedArchiveFile={archive.path}" in existing.java_options()
    assert archive.path.read_bytes() == b"classes"


def test_archive_is_not_said_to_be_kept_when_the_jvm_wrote_none(archive: ClassArchive) -> None:
    """A JVM may end in good order without one: its exit code says nothing of the archive."""
    assert archive.keep(complete=True) is False


def test_stale_drafts_are_removed_before_the_next_is_written(archive: ClassArchive) -> None:
    """What a killed process left behind; a draft that may still be being written stays."""
    folder = archive.path.parent
    stale, recent = folder / "spark-4.2.0-x.1.new", folder / "spark-4.2.0-x.2.new"
    for draft in (stale, recent):
        draft.write_bytes(b"half")
    os.utime(stale, (time.time() - 7200, time.time() - 7200))
    ClassArchive.to_write(folder, "4.3.0")
    assert list(folder.iterdir()) == [recent]


def test_another_jvm_or_spark_has_another_archive(tmp_path: Path, java: Path) -> None:
    """An archive fits one build of the JVM and one Spark only."""
    paths = {ClassArchive.to_write(tmp_path, version).path for version in ("4.2.0", "4.3.0")}
    java.write_text("#!/bin/sh\n# another build\n")
    assert len(paths | {ClassArchive.to_write(tmp_path, "4.2.0").path}) == 3


def test_each_installation_has_its_own_archive(
    archive: ClassArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The JVM refuses an archive of the same jars at other paths, so another virtual environment writes another one."""
    draft_of(archive).write_bytes(b"classes")
    archive.keep(complete=True)
    install(tmp_path / "second", monkeypatch)
    assert ClassArchive.existing(archive.path.parent, "4.3.0") is None
    second = ClassArchive.to_write(archive.path.parent, "4.3.0")
    draft_of(second).write_bytes(b"classes")
    second.keep(complete=True)
    assert set(archive.path.parent.iterdir()) == {archive.path, second.path}


def test_archive_of_replaced_jars_is_not_used_and_is_removed(archive: ClassArchive, spark: Path) -> None:
    """Jars that are installed again at the same paths have another time; the archive of the earlier ones is useless."""
    draft_of(archive).write_bytes(b"classes")
    archive.keep(complete=True)
    os.utime(spark / "jars" / "core.jar", (2_000, 2_000))
    assert ClassArchive.existing(archive.path.parent, "4.3.0") is None
    renewed = ClassArchive.to_write(archive.path.parent, "4.3.0")
    draft_of(renewed).write_bytes(b"classes")
    renewed.keep(complete=True)
    assert list(archive.path.parent.iterdir()) == [renewed.path]


def test_what_is_missing_stops_no_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder, a file in its place, a folder that may not be read, no Java: a start without an archive."""
    (tmp_path / "file").write_text("in the way")
    assert ClassArchive.existing(tmp_path / "none", "4.3.0") is None
    assert ClassArchive.existing(tmp_path / "file" / "classes", "4.3.0") is None
    with monkeypatch.context() as denied:
        denied.setattr("pathlib.Path.is_file", _denied)
        assert ClassArchive.existing(tmp_path, "4.3.0") is None
    monkeypatch.setattr("stream.spark.class_archive.spark_home", lambda: tmp_path / "nowhere")
    assert ClassArchive.existing(tmp_path, "4.3.0") is None
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert ClassArchive.existing(tmp_path, "4.3.0") is None
    with pytest.raises(OSError, match="no Java"):
        ClassArchive.to_write(tmp_path, "4.3.0")


def _denied(_: Path) -> bool:
    raise PermissionError(13, "Permission denied")
