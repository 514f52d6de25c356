"""A class-data sharing archive for the driver's JVM: classes mapped from a file instead of loaded one by one.

A start with it takes about half the time. `make setup` and the build of the image write it (`deploy/bake_classes.py`);
`lagwarden run` only uses it. The JVM accepts an archive only with the same build of the JVM and the same jars at the
same paths with the same sizes and times; otherwise it starts without the archive and says nothing. So the name of the
file is made of all of these, and each virtual environment has its own archive. It is a cache: it may be deleted at any
time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import time
from typing import TYPE_CHECKING, Final

from stream.spark.java import class_path, find_java, spark_home

if TYPE_CHECKING:
    from pathlib import Path

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
        try:
            path = _path(folder, spark_version)
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
            self._remove_replaced()
        else:
            self.draft.unlink()
        return complete

    def _remove_replaced(self) -> None:
        """Remove the archives that were written for earlier jars or JVMs at the same paths, 170 MB each."""
        place = self.path.stem.rsplit("-", 2)[1]
        for archive in self.path.parent.glob(f"spark-*-{place}-*.jsa"):
            if archive != self.path:
                with contextlib.suppress(OSError):
                    archive.unlink()


def _remove_stale_drafts(folder: Path) -> None:
    """Remove the drafts of killed JVMs, 170 MB each."""
    for draft in folder.glob("spark-*.new"):
        with contextlib.suppress(OSError):
            if time.time() - draft.stat().st_mtime > _STALE_SECONDS:
                draft.unlink()


def _path(folder: Path, spark_version: str) -> Path | None:
    """Return the path of the archive for this machine's JVM and this Spark; None if there is no Java.

    Its name ends with a digest of the class path, and one of the builds of the JVM and the jars. Raises OSError if
    a jar cannot be read.
    """
    java = find_java()
    if java is None:
        return None
    stat = java.stat()
    build = _digest([f"{java} {stat.st_size} {stat.st_mtime_ns}", *_jar_builds()])
    return folder / f"spark-{spark_version}-{_digest(class_path())}-{build}.jsa"


def _jar_builds() -> list[str]:
    """Return name, size and time (s) of each jar, sorted: the layers of an image keep no fractions of a second."""
    with os.scandir(spark_home() / "jars") as jars:
        return sorted(f"{jar.name} {jar.stat().st_size} {int(jar.stat().st_mtime)}" for jar in jars)


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
