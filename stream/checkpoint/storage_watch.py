"""Detects that a checkpoint is deleted, replaced, or on a storage that does not answer, while the process uses it.

A call into a file system that has lost its server may block for minutes, so the threads that use the checkpoint cannot
report it.

Spark creates missing folders again and continues, so the query itself does not fail, but the resulting checkpoint
cannot be continued. Each required file and folder is kept open, so that no other one gets its inode number.
"""

import contextlib
import dataclasses
import errno
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import structlog

from stream.checkpoint.files import CheckpointPath
from stream.checkpoint.manifest import MANIFEST
from stream.checkpoint.objects.path import ObjectPath

_log = structlog.get_logger(__name__)
_POLL_SECONDS: Final = 5.0
_SILENT_SECONDS: Final = 20.0
"""A server that answers later than this counts as away."""
_IS_GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR})


def is_away(error: OSError) -> bool:
    """Return whether an error of a file operation comes from storage that is away: the file may still exist."""
    return error.errno not in _IS_GONE


@dataclasses.dataclass(slots=True, eq=False)
class StorageWatch:
    """Reads the folder of the checkpoint every 5 s. `trouble` may be called from any thread."""

    _folder: CheckpointPath
    _clock: Callable[[], float] = time.monotonic
    _asked_at: float | None = None
    _error: str | None = None
    _logged_problem: str | None = None
    _log_lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    _closing: threading.Event = dataclasses.field(default_factory=threading.Event)

    def start(self) -> None:
        """Poll in a daemon thread until `close`, and log changes in another one, which never blocks."""
        for loop in (self.poll, self.trouble):
            threading.Thread(target=self._repeat, args=(loop,), name=f"storage-{loop.__name__}", daemon=True).start()

    def close(self) -> None:
        """Stop polling."""
        self._closing.set()

    def poll(self) -> None:
        """Read the folder once; blocks as long as the storage does."""
        self._asked_at = self._clock()
        try:
            next(self._folder.iterdir(), None)
        except OSError as error:
            self._error = (error.strerror or str(error)) if is_away(error) else None
        else:
            self._error = None
        self._asked_at = None

    def trouble(self) -> str | None:
        """Return as a sentence that the storage does not answer; None while it does. Logs changes."""
        asked_at, problem = self._asked_at, self._error
        if asked_at is not None and self._clock() - asked_at >= _SILENT_SECONDS:
            problem = "no answer"
        with self._log_lock:
            has_changed = problem != self._logged_problem
            self._logged_problem = problem
        if has_changed and problem is None:
            _log.info("checkpoint storage answers again", folder=str(self._folder))
        elif has_changed:
            _log.warning("checkpoint storage away", folder=str(self._folder), cause=problem)
        return None if problem is None else f"the storage of the checkpoint {self._folder} is away: {problem}"

    def _repeat(self, step: Callable[[], object]) -> None:
        while not self._closing.wait(_POLL_SECONDS):
            step()


_REQUIRED: Final = (
    "", "lock", MANIFEST, "spark", "spark/metadata", "spark/offsets", "spark/commits", "spark/state", "spark/state/0",
)  # fmt: skip
_REQUIRED_OBJECTS: Final = (MANIFEST, "spark/metadata")
"""Objects that are written once and not again while the checkpoint is used."""
_PRESENCE_SECONDS: Final = 10.0


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
                with contextlib.suppress(OSError):  # out of descriptors, or just deleted: the next check retries
                    self._open[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            elif not os.path.samestat(found, os.fstat(descriptor)):
                return f"{path} was replaced"
        return None

    def close(self) -> None:
        """Close the files."""
        while self._open:
            os.close(self._open.popitem()[1])


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
        if self._polled_at is None or now - self._polled_at >= _PRESENCE_SECONDS:
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
