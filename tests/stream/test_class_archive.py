"""The class archive: a cache that is used if it is there, made if it can be, and never in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import structlog

from stream.class_archive import ClassArchive

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a JVM to name archives by, which is never started."""
    home = tmp_path / "jdk"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("#!/bin/sh\n")
    monkeypatch.setenv("JAVA_HOME", str(home))
    return home / "bin" / "java"


def archive_in(folder: Path) -> ClassArchive:
    """Give the archive of a folder that can be used."""
    archive = ClassArchive.at(folder, "4.2.0")
    assert archive is not None
    return archive


def test_a_missing_archive_is_written_as_a_draft_first(tmp_path: Path) -> None:
    """A JVM killed while it writes must not leave half an archive under the real name."""
    archive = archive_in(tmp_path / "classes")
    assert archive.draft is not None
    assert f"-XX:ArchiveClassesAtExit={archive.draft}" in archive.java_options()
    archive.draft.write_bytes(b"half")
    archive.keep(complete=False)
    assert list((tmp_path / "classes").iterdir()) == []


def test_a_complete_archive_is_used_by_the_next_start(tmp_path: Path) -> None:
    """The draft of a JVM that ended in good order takes its place, and the next start maps it."""
    archive = archive_in(tmp_path / "classes")
    assert archive.draft is not None
    archive.draft.write_bytes(b"classes")
    archive.keep(complete=True)
    again = archive_in(tmp_path / "classes")
    assert (again.draft, again.path.read_bytes()) == (None, b"classes")
    assert f"-XX:SharedArchiveFile={again.path}" in again.java_options()
    again.keep(complete=True)


def test_another_jvm_or_spark_has_another_archive(tmp_path: Path, java: Path) -> None:
    """An archive fits one build of the JVM and one Spark only."""
    first = archive_in(tmp_path).path
    other_spark = ClassArchive.at(tmp_path, "4.3.0")
    assert other_spark is not None
    java.write_text("#!/bin/sh\n# another build\n")
    assert len({first, other_spark.path, archive_in(tmp_path).path}) == 3


def test_no_java_or_no_folder_means_no_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is only a cache: whatever is missing, the start goes on without it."""
    (tmp_path / "file").write_text("in the way")
    assert ClassArchive.at(tmp_path / "file" / "classes", "4.2.0") is None
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert ClassArchive.at(tmp_path, "4.2.0") is None


def test_an_archive_that_cannot_be_put_in_its_place_ends_nothing(tmp_path: Path) -> None:
    """The process ends as it would have; a line says why the next start is no faster."""
    archive = archive_in(tmp_path / "classes")
    assert archive.draft is not None
    archive.draft.write_bytes(b"classes")
    archive.path.mkdir()
    with structlog.testing.capture_logs() as lines:
        archive.keep(complete=True)
    assert [line["event"] for line in lines] == ["the archive of the JVM's classes cannot be kept"]


def test_a_folder_that_may_not_be_looked_into_gives_no_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The start goes on without one."""

    def denied(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("stream.class_archive.Path.is_file", denied)
    assert ClassArchive.at(tmp_path / "classes", "4.2.0") is None
