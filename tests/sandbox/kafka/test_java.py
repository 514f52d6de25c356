"""Where Java is found, and what names a class archive."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.kafka import java


@pytest.fixture
def fake_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an executable called java in an otherwise empty JAVA_HOME."""
    program = tmp_path / "jdk" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("LAGWARDEN_CACHE", str(tmp_path / "cache"))
    return program


def test_java_home_wins_over_the_path(fake_java: Path) -> None:
    """JAVA_HOME says which Java is meant."""
    assert java.find_java() == fake_java


def test_java_of_the_path_is_found(fake_java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without JAVA_HOME the PATH decides."""
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(fake_java.parent))
    assert java.find_java() == fake_java


def test_missing_java_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Java the error is one line that names the remedy."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(java.JavaMissingError, match=r"install a Java 17 runtime"):
        java.find_java()


def test_archive_has_one_name_per_jvm_flags_and_jars(fake_java: Path) -> None:
    """An archive is never mapped into a JVM, with flags or with jars that it was not made for."""
    jars = [Path("/j/a.jar"), Path("/j/b.jar")]
    names = {
        java.ClassArchive.of("broker", jars, ["-XX:+UseSerialGC"]).path,
        java.ClassArchive.of("broker", jars, ["-XX:+UseParallelGC"]).path,
        java.ClassArchive.of("broker", jars[:1], ["-XX:+UseSerialGC"]).path,
    }
    modules = fake_java.parent.parent / "lib" / "modules"
    modules.parent.mkdir()
    modules.write_text("another build")
    names.add(java.ClassArchive.of("broker", jars, ["-XX:+UseSerialGC"]).path)
    assert len(names) == 4


@pytest.mark.usefixtures("fake_java")
def test_archive_is_used_only_once_it_is_whole() -> None:
    """A draft counts for nothing before it is adopted, and a missing draft changes nothing."""
    archive = java.ClassArchive.of("broker", [], [])
    draft = archive.draft("1")
    archive.flags_to_write(draft)
    assert not archive.adopt(draft)
    draft.write_bytes(b"classes")
    assert archive.flags_to_use() == []
    assert archive.adopt(draft)
    assert f"-XX:SharedArchiveFile={archive.path}" in archive.flags_to_use()
