"""A class-data sharing archive for the driver's JVM: classes mapped from a file instead of loaded one by one.

A start with it takes about half the time. The file fits one JVM, one Spark and one list of jars, so its name says which
JVM and Spark; a JVM that finds it unfit goes on without it. It is a cache: made by the first run that ends in good
order, never waited for, and it may be deleted at any time.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
from pathlib import Path

import structlog

_log = structlog.get_logger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class ClassArchive:
    """The archive at `path`; `draft` is where this process lets the JVM write one, None if there is no need or way."""

    path: Path
    draft: Path | None

    @classmethod
    def at(cls, folder: Path, spark_version: str) -> ClassArchive | None:
        """Give the archive for this machine's JVM; None if the folder cannot be used or there is no Java."""
        java = _java()
        if java is None:
            return None
        stat = java.stat()
        build = hashlib.sha256(f"{java} {stat.st_size} {stat.st_mtime_ns}".encode()).hexdigest()[:12]
        path = folder / f"spark-{spark_version}-{build}.jsa"
        try:
            if path.is_file():
                return cls(path, None)
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            return None
        return cls(path, path.with_suffix(f".{os.getpid()}.new")) if os.access(folder, os.W_OK) else None

    def java_options(self) -> list[str]:
        """Give the JVM's options: use the archive, or write one at its end. In silence: it is no fault to have none."""
        quiet = ["-Xshare:auto", "-Xlog:disable", "-Xlog:all=off"]
        if self.draft is None:
            return [f"-XX:SharedArchiveFile={self.path}", *quiet]
        return [f"-XX:ArchiveClassesAtExit={self.draft}", *quiet]

    def keep(self, *, complete: bool) -> None:
        """Put the draft in its place if the JVM ended in good order, else away with it."""
        if self.draft is None:
            return
        try:
            if complete:
                self.draft.replace(self.path)
            else:
                self.draft.unlink()
        except FileNotFoundError:
            return  # the JVM wrote none
        except OSError as error:
            _log.warning("the archive of the JVM's classes cannot be kept", file=str(self.path), cause=error.strerror)


def _java() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else shutil.which("java")
    return Path(found).resolve() if found and Path(found).exists() else None
