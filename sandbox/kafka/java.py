"""The Java on this machine: where it is, and class-data sharing, with which a JVM of the sandbox starts in a second.

An archive of loaded classes belongs to one JVM build, one class path and one collector. It is a cache: where the JVM
refuses it, the JVM starts without, only slower.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sandbox.cache import cache_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

SMALL_JVM: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Djava.awt.headless=true")
"""Flags for short or small programs: a collector without threads, no second compiler, no statistics file in /tmp."""


class JavaMissingError(RuntimeError):
    """No Java runtime on this machine; the message says what to install."""


def find_java() -> Path:
    """Give the `java` of JAVA_HOME, else of PATH; raise JavaMissingError when there is none."""
    home = os.environ.get("JAVA_HOME")
    if home and (java := Path(home) / "bin" / "java").is_file():
        return java
    if found := shutil.which("java"):
        return Path(found)
    raise JavaMissingError("no java found: install a Java 17 runtime (openjdk-17-jre-headless) or set JAVA_HOME")


@dataclasses.dataclass(frozen=True, slots=True)
class ClassArchive:
    """An archive of loaded classes (AppCDS) for one program name, class path and set of JVM flags."""

    path: Path

    @classmethod
    def of(cls, name: str, jars: Sequence[Path], flags: Sequence[str]) -> ClassArchive:
        """Name the archive by all that it depends on, so that a new JVM or jar gets a new one."""
        java = find_java().resolve()
        modules = java.parent.parent / "lib" / "modules"
        build = f"{java} {modules.stat().st_mtime_ns} {modules.stat().st_size}" if modules.exists() else str(java)
        parts = "\n".join([build, *flags, *(str(jar) for jar in jars)])
        digest = hashlib.sha256(parts.encode()).hexdigest()[:16]
        return cls(cache_folder() / "class-archives" / f"{name}-{digest}.jsa")

    @property
    def exists(self) -> bool:
        """Tell whether a run has left the archive."""
        return self.path.is_file()

    def flags_to_use(self) -> list[str]:
        """Give the JVM flags that map the archive; none when it does not exist."""
        return [f"-XX:SharedArchiveFile={self.path}", "-Xshare:auto", "-Xlog:cds=off"] if self.exists else []

    def flags_to_write(self, draft: Path) -> list[str]:
        """Give the JVM flags that write the archive to `draft` when the JVM ends in good order."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return [f"-XX:ArchiveClassesAtExit={draft}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]

    def draft(self, writer: str) -> Path:
        """Give a file name beside the archive for one writer among many."""
        return self.path.with_name(f"{self.path.name}.{os.getpid()}-{writer}")

    def adopt(self, draft: Path) -> bool:
        """Put a finished draft in its place, whole or not at all; tell whether there was one."""
        if not draft.is_file():
            return False
        draft.replace(self.path)
        return True


def class_path(jars: Sequence[Path]) -> str:
    """Join jars to a class path: explicit and sorted, for an archive accepts no other order than its own."""
    return os.pathsep.join(str(jar) for jar in sorted(jars))
