"""The Java that is used, and the file names of class archives."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.kafka import java


@pytest.fixture
def fake_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an executable called java in an otherwise empty JAVA_HOME."""
    program = tmp_path / "jdk" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("LAGWARDEN_CACHE", str(tmp_path / "cache"))
    return program


def test_java_home_wins_over_the_path(fake_java: Path) -> None:
    """JAVA_HOME has precedence."""
    assert java.find_java() == fake_java


def test_java_of_the_path_is_found(fake_java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without JAVA_HOME, the java of PATH is used."""
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(fake_java.parent))
    assert java.find_java() == fake_java


def test_missing_java_is_an_error_with_the_package_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Java the error is one line that says what to install."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(java.JavaMissingError, match=r"install a Java 17 runtime"):
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
    modules.parent.mkdir()
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
