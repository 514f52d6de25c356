"""The Java runtime of this machine, and class-data sharing, with which a JVM of the sandbox starts in a second.

An archive of loaded classes belongs to one JVM build, one class path and one collector. It is a cache: a JVM that
rejects the archive starts without it, only slower.
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
    """Return the `java` of JAVA_HOME, else of PATH. Raises JavaMissingError when there is none."""
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
    def build(cls, name: str, jars: Sequence[Path], flags: Sequence[str]) -> ClassArchive:
        """Return the archive for these inputs; its file name contains a digest of them and of the JVM build."""
        java = find_java().resolve()
        modules = java.parent.parent / "lib" / "modules"
        build = f"{java} {modules.stat().st_mtime_ns} {modules.stat().st_size}" if modules.exists() else str(java)
        parts = "\n".join([build, *flags, *(str(jar) for jar in jars)])
        digest = hashlib.sha256(parts.encode()).hexdigest()[:16]
        return cls(cache_folder() / "class-archives" / f"{name}-{digest}.jsa")

    @property
    def exists(self) -> bool:
        """True when the archive has been written."""
        return self.path.is_file()

    def flags_to_use(self) -> list[str]:
        """Return the JVM flags that map the archive; none when it does not exist."""
        return [f"-XX:SharedArchiveFile={self.path}", "-Xshare:auto", "-Xlog:cds=off"] if self.exists else []

    def flags_to_write(self, draft: Path) -> list[str]:
        """Return the JVM flags that write the archive to `draft` when the JVM exits normally."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return [f"-XX:ArchiveClassesAtExit={draft}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]

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
