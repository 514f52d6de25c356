"""A folder for the temporary files of one process: Spark's blocks, sockets of workers, unpacked native libraries.

The JVM removes its files when it ends. One that is killed leaves about 15 MB, which would fill the volume of a monitor
that is killed often. So each process has a folder of its own, locked while it runs, and removes those that ended
processes have left.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import structlog

from stream.errors import ExitCode, Refusal

_PREFIX: Final = "lagwarden-"
_LOCK: Final = "in-use"
_log = structlog.get_logger(__name__)


@contextlib.contextmanager
def temporary_folder(root: Path | None = None) -> Iterator[Path]:
    """Create the folder and yield its path; remove it at the end, and what ended processes left at the start.

    `root` is the system's folder for temporary files by default (TMPDIR). Raises Refusal if it cannot be written to.
    """
    try:
        root = root or Path(tempfile.gettempdir())
        _remove_abandoned(root)
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
        lock = _create_lock(folder)
    except OSError as error:
        raise Refusal(
            f"no folder for temporary files could be created: {error}",
            "set TMPDIR to a folder that may be written to, with free space",
            ExitCode.SPARK_UNAVAILABLE,
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _create_lock(folder: Path) -> int:
    """Create the lock file in its locked state: another process that finds it must not find it free."""
    unnamed = folder / f"{_LOCK}.new"
    lock = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    unnamed.rename(folder / _LOCK)
    return lock


def _remove_abandoned(root: Path) -> None:
    """Remove the folders whose process has ended. A folder without a lock file is not known to be one of these."""
    for path in root.glob(f"{_PREFIX}*/{_LOCK}"):
        # Folders of other users cannot be opened; other processes may remove the same folder at the same time.
        with contextlib.suppress(OSError):
            lock = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path.parent, ignore_errors=True)
                _log.info("temporary files of an ended process removed", folder=str(path.parent))
            finally:
                os.close(lock)
