"""Detects that a checkpoint is deleted or replaced while the process uses it.

Spark creates missing folders again and continues, so the query itself does not fail, but the resulting checkpoint
cannot be continued. Each required file and folder is kept open, so that no other one gets its inode number.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Final

from stream.checkpoint.manifest import MANIFEST
from stream.checkpoint.storage_watch import is_away

if TYPE_CHECKING:
    from pathlib import Path

_REQUIRED: Final = (
    "",
    "lock",
    MANIFEST,
    "spark",
    "spark/metadata",
    "spark/offsets",
    "spark/commits",
    "spark/state",
    "spark/state/0",
)


class Presence:
    """Keeps the required files of the checkpoint in one folder open, each from when it first exists."""

    def __init__(self, folder: Path) -> None:
        self._paths = [folder / name if name else folder for name in _REQUIRED]
        self._open: dict[Path, int] = {}

    def lost(self) -> str | None:
        """Return which file was deleted or replaced since it was opened, as a sentence; None if none was."""
        for path in self._paths:
            descriptor = self._open.get(path)
            try:
                found = path.stat()
            except OSError as error:
                # An error of shared storage says nothing about the file; `StorageWatch` reports it.
                if descriptor is not None and not is_away(error):
                    return f"{path} was deleted ({error.strerror})"
                continue
            if descriptor is None:
                self._open_file(path)
            elif not os.path.samestat(found, os.fstat(descriptor)):
                return f"{path} was replaced"
        return None

    def close(self) -> None:
        """Close the files."""
        while self._open:
            os.close(self._open.popitem()[1])

    def _open_file(self, path: Path) -> None:
        with contextlib.suppress(OSError):  # out of descriptors, or just deleted: the next check retries
            self._open[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
