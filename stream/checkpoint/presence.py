"""Detects that a checkpoint is deleted or replaced while the process uses it.

Spark creates missing folders again and continues, so the query itself does not fail, but the resulting checkpoint
cannot be continued. Each required file and folder is kept open, so that no other one gets its inode number.
"""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from stream.checkpoint.manifest import MANIFEST
from stream.checkpoint.objects.path import ObjectPath
from stream.checkpoint.storage_watch import is_away

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
_REQUIRED_OBJECTS: Final = (MANIFEST, "spark/metadata")
"""Objects that are written once and not again while the checkpoint is used."""
_POLL_SECONDS: Final = 10.0


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


class ObjectPresence:
    """Remembers the versions of the required objects, each from when it first exists."""

    def __init__(self, folder: ObjectPath, clock: Callable[[], float] = time.monotonic) -> None:
        self._paths = [folder / name for name in _REQUIRED_OBJECTS]
        self._clock = clock
        self._polled_at: float | None = None
        self._versions: dict[str, str] = {}
        self._problem: str | None = None

    def lost(self) -> str | None:
        """Return which object was deleted or replaced, as a sentence; None if none was. Asks every 10 s."""
        now = self._clock()
        if self._polled_at is None or now - self._polled_at >= _POLL_SECONDS:
            self._polled_at = now
            self._problem = self._poll()
        return self._problem

    def close(self) -> None:
        """Forget the versions."""
        self._versions.clear()
        self._polled_at = self._problem = None

    def _poll(self) -> str | None:
        for path in self._paths:
            known = self._versions.get(path.key)
            try:
                found = path.info()
            except OSError:
                continue  # a store that does not answer says nothing about the object; `StorageWatch` reports it
            if found is not None and known is None:
                self._versions[path.key] = found.etag
            elif known is not None and (found is None or found.etag != known):
                return f"{path} was {'deleted' if found is None else 'replaced'}"
        return None
