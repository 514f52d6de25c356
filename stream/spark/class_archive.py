"""A class-data sharing archive for the driver's JVM: classes mapped from a file instead of loaded one by one.

A start with it takes about half the time. `make setup` and the build of the image write it (`deploy/bake_classes.py`);
`lagwarden run` only uses it. The file fits one JVM, one Spark and one list of jars, so its name says which JVM and
Spark; a JVM that finds it unfit goes on without it. It is a cache: it may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import time
from pathlib import Path
from typing import Final

from stream.spark.java import class_path, find_java

_STALE_SECONDS: Final = 3600.0
_QUIET: Final = ("-Xshare:auto", "-Xlog:disable", "-Xlog:all=off")
"""With this option a JVM that cannot use the archive starts without it and prints nothing."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClassArchive:
    """The archive at `path`; `draft` is the file to which a JVM writes it at its end, None where it is only used."""

    path: Path
    draft: Path | None = None

    @classmethod
    def existing(cls, folder: Path, spark_version: str) -> ClassArchive | None:
        """Return the archive for this machine's JVM; None if there is none."""
        path = _path(folder, spark_version)
        try:
            return cls(path) if path is not None and path.is_file() else None
        except OSError:
            return None

    @classmethod
    def to_write(cls, folder: Path, spark_version: str) -> ClassArchive:
        """Return the archive that a JVM started with `java_options` writes. Raises OSError if that is not possible."""
        path = _path(folder, spark_version)
        if path is None:
            raise FileNotFoundError("there is no Java on PATH or in JAVA_HOME")
        folder.mkdir(parents=True, exist_ok=True)
        _remove_stale_drafts(folder)
        return cls(path, path.with_suffix(f".{os.getpid()}.new"))

    def java_options(self) -> list[str]:
        """Return the options of a JVM that uses the archive, or writes it when it ends."""
        if self.draft is None:
            return [f"-XX:SharedArchiveFile={self.path}", *_QUIET]
        return [f"-XX:ArchiveClassesAtExit={self.draft}", *_QUIET]

    def keep(self, *, complete: bool) -> bool:
        """Move the draft into place if its JVM exited normally, else remove it; return whether it was kept.

        Raises OSError if the draft cannot be moved. A JVM may end in good order without having written a draft.
        """
        if self.draft is None or not self.draft.exists():
            return False
        if complete:
            self.draft.replace(self.path)
        else:
            self.draft.unlink()
        return complete


def _remove_stale_drafts(folder: Path) -> None:
    """Remove the drafts of killed JVMs, 170 MB each."""
    for draft in folder.glob("spark-*.new"):
        with contextlib.suppress(OSError):
            if time.time() - draft.stat().st_mtime > _STALE_SECONDS:
                draft.unlink()


def _path(folder: Path, spark_version: str) -> Path | None:
    """Return the path of the archive for this machine's JVM; None if there is no Java."""
    java = find_java()
    if java is None:
        return None
    stat = java.stat()
    jars = [Path(entry).name for entry in class_path()]
    build = hashlib.sha256(f"{java} {stat.st_size} {stat.st_mtime_ns} {jars}".encode()).hexdigest()[:12]
    return folder / f"spark-{spark_version}-{build}.jsa"
