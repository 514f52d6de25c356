"""A class-data sharing archive for the driver's JVM: classes mapped from a file instead of loaded one by one.

A start with it takes about half the time. `make setup` and the build of the image write it (`deploy/bake_classes.py`);
`lagwarden run` only uses it. The JVM accepts an archive only with the same build of the JVM and the same jars at the
same paths with the same sizes and times; otherwise it starts without the archive and says nothing. So the name of the
file is made of all of these, and each virtual environment has its own archive. It is a cache: it may be deleted at any
time.

Such an archive extends a base archive, of the JVM's own classes. A JDK has one in its folder; a runtime that was made
with jlink has none, and gets one in the cache.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import subprocess
import time
from pathlib import Path
from typing import Final

from stream.spark.java import class_path, find_java, run_java, spark_home

_STALE_SECONDS: Final = 3600.0
_BASE_SECONDS: Final = 120.0
"""For the JVM to write its base archive; a quiet machine needs less than one."""
_QUIET: Final = ("-Xshare:auto", "-Xlog:disable", "-Xlog:all=off")
"""With this option a JVM that cannot use the archive starts without it and prints nothing."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClassArchive:
    """The archive at `path`; `draft` is the file to which a JVM writes it at its end, None where it is only used."""

    path: Path
    draft: Path | None = None
    base: Path | None = None
    """The base archive, None where the runtime has one in its folder."""

    @classmethod
    def existing(cls, folder: Path, spark_version: str) -> ClassArchive | None:
        """Return the archive for this machine's JVM; None if there is none."""
        try:
            java = find_java()
            if java is None:
                return None
            path, base = _path(java, folder, spark_version), base_archive_path(java, folder)
            usable = path.is_file() and (base is None or base.is_file())
            return cls(path, base=base) if usable else None
        except OSError:
            return None

    @classmethod
    def to_write(cls, folder: Path, spark_version: str) -> ClassArchive:
        """Return the archive that a JVM started with `java_options` writes. Raises OSError if that is not possible."""
        java = find_java()
        if java is None:
            raise FileNotFoundError("there is no usable Java")
        path = _path(java, folder, spark_version)
        folder.mkdir(parents=True, exist_ok=True)
        _remove_stale_drafts(folder)
        return cls(path, path.with_suffix(f".{os.getpid()}.new"), write_base_archive(java, folder))

    def java_options(self) -> list[str]:
        """Return the options of a JVM that uses the archive, or writes it when it ends."""
        if self.draft is None:
            return [f"-XX:SharedArchiveFile={archive_list(self.base, self.path)}", *_QUIET]
        base = [f"-XX:SharedArchiveFile={self.base}"] if self.base else []
        return [*base, f"-XX:ArchiveClassesAtExit={self.draft}", *_QUIET]

    def keep(self, *, complete: bool) -> bool:
        """Move the draft into place if its JVM exited normally, else remove it; return whether it was kept.

        Raises OSError if the draft cannot be moved. A JVM may end in good order without having written a draft.
        """
        if self.draft is None or not self.draft.exists():
            return False
        if complete:
            self.draft.replace(self.path)
            _remove_replaced(self.path, f"spark-*-{self.path.stem.rsplit('-', 2)[1]}-*.jsa")
        else:
            self.draft.unlink()
        return complete


def archive_list(base: Path | None, archive: Path) -> str:
    """Return the value of `-XX:SharedArchiveFile` for an archive over this base archive."""
    return os.pathsep.join(map(str, filter(None, (base, archive))))


def base_archive_path(java: Path, folder: Path) -> Path | None:
    """Return the place of the base archive in this folder; None for a runtime that has one itself.

    Raises OSError if a file of the runtime cannot be read.
    """
    home = java.parent.parent
    if any((home / "lib" / kind / "classes.jsa").is_file() for kind in ("server", "client")):
        return None
    return folder / f"java-{_digest([str(java)])}-{_digest(runtime_build(java))}.jsa"


def write_base_archive(java: Path, folder: Path) -> Path | None:
    """Return the base archive, written if it is missing; None for a runtime that has one itself. Raises OSError.

    The first of several processes wins: an archive fits only the base archive with which it was written.
    """
    path = base_archive_path(java, folder)
    if path is None or path.is_file():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.new")
    try:
        dump = ("-XX:+UseSerialGC", "-Xshare:dump", f"-XX:SharedArchiveFile={draft}")
        done = run_java(java, *dump, timeout=_BASE_SECONDS)
        if done.returncode or not draft.is_file():
            lines = (done.stdout + done.stderr).strip().splitlines()
            raise OSError(f"{java} wrote no base archive: {lines[-1] if lines else f'exit code {done.returncode}'}")
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"{java} wrote no base archive in {_BASE_SECONDS:g} s") from None
    finally:
        draft.unlink(missing_ok=True)
    _remove_replaced(path, f"{path.stem.rpartition('-')[0]}-*.jsa")
    return path


def _remove_replaced(path: Path, pattern: str) -> None:
    """Remove the archives that were written for earlier jars or JVMs at the same paths, 170 MB each."""
    for archive in path.parent.glob(pattern):
        if archive != path:
            with contextlib.suppress(OSError):
                archive.unlink()


def runtime_build(java: Path) -> list[str]:
    """Return path, size and time (s) of the files that tell one build of a JVM from another. Raises OSError."""
    files = (java, java.parent.parent / "lib" / "modules")
    stats = [(file, file.stat()) for file in files if file == java or file.exists()]
    return [f"{file} {stat.st_size} {int(stat.st_mtime)}" for file, stat in stats]


def _remove_stale_drafts(folder: Path) -> None:
    """Remove the drafts of killed JVMs, 170 MB each."""
    for draft in folder.glob("*.new"):
        with contextlib.suppress(OSError):
            if time.time() - draft.stat().st_mtime > _STALE_SECONDS:
                draft.unlink()


def _path(java: Path, folder: Path, spark_version: str) -> Path:
    """Return the path of the archive for this JVM and this Spark. Raises OSError if a jar cannot be read.

    Its name ends with a digest of the class path, and one of the builds of the JVM and the jars.
    """
    build = _digest([*runtime_build(java), *_jar_builds()])
    return folder / f"spark-{spark_version}-{_digest(class_path())}-{build}.jsa"


def _jar_builds() -> list[str]:
    """Return name, size and time (s) of each jar, sorted: the layers of an image keep no fractions of a second."""
    with os.scandir(spark_home() / "jars") as jars:
        return sorted(f"{jar.name} {jar.stat().st_size} {int(jar.stat().st_mtime)}" for jar in jars)


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
