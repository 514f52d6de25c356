"""Detects that a checkpoint in an object store is deleted or replaced while the process uses it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from stream.checkpoint.manifest import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.checkpoint.objects.path import ObjectPath

_REQUIRED: Final = (MANIFEST, "spark/metadata")
"""Objects that are written once and not again while the checkpoint is used."""
_POLL_SECONDS: Final = 10.0


class ObjectPresence:
    """Remembers the versions of the required objects, each from when it first exists."""

    def __init__(self, folder: ObjectPath, clock: Callable[[], float] = time.monotonic) -> None:
        self._paths = [folder / name for name in _REQUIRED]
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
