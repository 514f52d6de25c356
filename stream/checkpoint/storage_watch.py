"""Watches whether the shared storage of the checkpoint answers, in a thread of its own.

A call into a file system that has lost its server may block for minutes, so the threads that use the checkpoint cannot
report it.
"""

import errno
import threading
import time
from collections.abc import Callable
from typing import Final

import structlog

from stream.checkpoint.files import CheckpointPath

_log = structlog.get_logger(__name__)
_POLL_SECONDS: Final = 5.0
_SILENT_SECONDS: Final = 20.0
"""A server that answers later than this counts as away."""
_IS_GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR})


def is_away(error: OSError) -> bool:
    """Return whether an error of a file operation comes from storage that is away: the file may still exist."""
    return error.errno not in _IS_GONE


class StorageWatch:
    """Reads the folder of the checkpoint every 5 s. `trouble` may be called from any thread."""

    def __init__(self, folder: CheckpointPath, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self._asked_at: float | None = None
        self._error: str | None = None
        self._logged_problem: str | None = None
        self._log_lock = threading.Lock()
        self._closing = threading.Event()

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
        self._log(problem)
        return None if problem is None else f"the storage of the checkpoint {self._folder} is away: {problem}"

    def _log(self, problem: str | None) -> None:
        with self._log_lock:
            if problem == self._logged_problem:
                return
            self._logged_problem = problem
        if problem is None:
            _log.info("checkpoint storage answers again", folder=str(self._folder))
        else:
            _log.warning("checkpoint storage away", folder=str(self._folder), cause=problem)

    def _repeat(self, step: Callable[[], object]) -> None:
        while not self._closing.wait(_POLL_SECONDS):
            step()
