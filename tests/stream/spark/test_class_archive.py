"""The class archive: a cache that is used if it exists, and whose absence or damage has no effect."""

import os
from pathlib import Path

import pytest

from stream.spark.class_archive import ClassArchive, base_archive_path, write_base_archive
from tests.stream.spark.fake_java import write_java


@pytest.fixture(autouse=True)
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a JVM to name archives by, which is never started."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    return write_java(tmp_path / "jdk")


@pytest.fixture(autouse=True)
def spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return install(tmp_path / "spark", monkeypatch)


def install(spark: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the Spark of this process a folder with one jar; return the folder."""
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
    """Return the file to which the JVM writes the archive."""
    assert archive.draft is not None
    assert f"-XX:ArchiveClassesAtExit={archive.draft}" in archive.java_options()
    return archive.draft


def test_draft_of_a_killed_jvm_is_removed(archive: ClassArchive) -> None:
    """The draft of a JVM that did not end normally is deleted and not used; without a draft, no archive is kept."""
    assert archive.keep(complete=True) is False
    draft_of(archive).write_bytes(b"half")
    assert archive.keep(complete=False) is False
    assert list(archive.path.parent.iterdir()) == []
    assert ClassArchive.existing(archive.path.parent, "4.3.0") is None


def kept(folder: Path) -> ClassArchive:
    """Return an archive that a JVM has written completely."""
    written = ClassArchive.to_write(folder, "4.3.0")
    draft_of(written).write_bytes(b"classes")
    assert written.keep(complete=True) is True
    return written


def test_complete_archive_is_used_by_the_next_start(tmp_path: Path) -> None:
    """The draft of a JVM that ended normally becomes the archive, and the next start uses it."""
    archive = kept(tmp_path / "classes")
    existing = ClassArchive.existing(archive.path.parent, "4.3.0")
    assert existing == ClassArchive(archive.path)
    assert f"-XX:SharedArchiveFile={archive.path}" in existing.java_options()
    assert archive.path.read_bytes() == b"classes"


def test_archive_of_replaced_jars_is_not_used_and_is_removed(tmp_path: Path, spark: Path) -> None:
    """An archive is not used after its jars were installed again at another time. The next archive replaces it."""
    archive = kept(tmp_path / "classes")
    os.utime(spark / "jars" / "core.jar", (2_000, 2_000))
    assert ClassArchive.existing(archive.path.parent, "4.3.0") is None
    renewed = kept(tmp_path / "classes")
    assert list(archive.path.parent.iterdir()) == [renewed.path]


def test_missing_parts_lead_to_a_start_without_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing or unreadable folder, a file in its place, a missing Spark and a missing Java give no archive."""
    (tmp_path / "file").write_text("in the way")
    assert ClassArchive.existing(tmp_path / "none", "4.3.0") is None
    assert ClassArchive.existing(tmp_path / "file" / "classes", "4.3.0") is None
    with monkeypatch.context() as denied:
        denied.setattr("pathlib.Path.is_file", _denied)
        assert ClassArchive.existing(tmp_path, "4.3.0") is None
    monkeypatch.setattr("stream.spark.class_archive.spark_home", lambda: tmp_path / "nowhere")
    assert ClassArchive.existing(tmp_path, "4.3.0") is None
    monkeypatch.setattr("stream.spark.class_archive.find_java", lambda: None)
    assert ClassArchive.existing(tmp_path, "4.3.0") is None
    with pytest.raises(OSError, match="no usable Java"):
        ClassArchive.to_write(tmp_path, "4.3.0")


WRITING_BASE = 'for option; do case "$option" in -XX:SharedArchiveFile=*) echo base >"${option#*=}";; esac; done'
"""A JVM that writes a base archive when it is asked to."""


@pytest.fixture
def linked_java(java: Path) -> Path:
    """Return a Java as jlink makes it: without a base archive of its own."""
    write_java(java.parents[1], WRITING_BASE)
    (java.parents[1] / "lib" / "server" / "classes.jsa").unlink()
    return java


def test_runtime_without_a_base_archive_gets_one_in_the_cache(linked_java: Path, tmp_path: Path) -> None:
    """The base archive is written to the cache, and is an option of the JVM that writes or uses the archive."""
    archive = ClassArchive.to_write(tmp_path / "classes", "4.3.0")
    base = archive.base
    assert base is not None
    assert base == base_archive_path(linked_java, tmp_path / "classes")
    assert base.read_text() == "base\n"
    assert f"-XX:SharedArchiveFile={base}" in archive.java_options()
    draft_of(archive).write_bytes(b"classes")
    assert archive.keep(complete=True)
    existing = ClassArchive.existing(tmp_path / "classes", "4.3.0")
    assert existing is not None
    assert f"-XX:SharedArchiveFile={base}:{archive.path}" in existing.java_options()
    assert set(base.parent.iterdir()) == {base, archive.path}


def _denied(_: Path) -> bool:
    raise PermissionError(13, "Permission denied")


def test_base_archive_that_is_not_written_is_an_error(
    linked_java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is one line, and no file is left."""
    monkeypatch.setattr("stream.spark.class_archive._BASE_SECONDS", 0.5)
    messages = {
        "echo no space left; exit 1": "wrote no base archive: no space left",
        "exit 0": "wrote no base archive: exit code 0",
        "exec sleep 60": "wrote no base archive in 0.5 s",
    }
    for program, message in messages.items():
        write_java(linked_java.parents[1], program)
        (linked_java.parents[1] / "lib" / "server" / "classes.jsa").unlink()
        with pytest.raises(OSError, match=message):
            write_base_archive(linked_java, tmp_path / "classes")
        assert list((tmp_path / "classes").iterdir()) == []
