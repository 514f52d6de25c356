"""Notices that a checkpoint is deleted or replaced while the process uses it.

Spark makes missing folders again and writes on, so the query itself does not fail; but what it writes then cannot be
continued. Each file and folder that must stay is held open: as long as it is, no other one gets its inode number.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Final

from stream.checkpoint.manifest import MANIFEST

if TYPE_CHECKING:
    from pathlib import Path

_MUST_STAY: Final = (
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
    """Holds what must stay of the checkpoint in one folder; what is not there yet is held once it is."""

    def __init__(self, folder: Path) -> None:
        self._paths = [folder / name if name else folder for name in _MUST_STAY]
        self._held: dict[Path, int] = {}

    def lost(self) -> str | None:
        """Return what was deleted or replaced since it was first seen, as a sentence; None while nothing was."""
        for path in self._paths:
            held = self._held.get(path)
            try:
                found = path.stat()
            except OSError as error:
                if held is not None:
                    return f"{path} was deleted ({error.strerror})"
                continue
            if held is None:
                self._hold(path)
            elif not os.path.samestat(found, os.fstat(held)):
                return f"{path} was replaced"
        return None

    def close(self) -> None:
        """Release what is held."""
        while self._held:
            os.close(self._held.popitem()[1])

    def _hold(self, path: Path) -> None:
        with contextlib.suppress(OSError):  # out of descriptors, or just deleted: tried again at the next look
            self._held[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
