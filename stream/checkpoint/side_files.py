"""Files without which the process continues: a failed write is logged once and counted."""

import collections
import contextlib
import threading
from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import structlog

from exporters.readmodel import FILE_FAILURES, rows_table
from stream.checkpoint.files import CheckpointPath

_log = structlog.get_logger(__name__)

HEARTBEAT: Final = "heartbeat"
"""The file whose modification time is when the reader last reached the end of the topic."""
VERDICTS: Final = "verdicts"
"""The file with the verdicts of the last tick."""
CONFIGURATION: Final = "configuration"
"""The configuration file, whose changes apply while the process runs."""
HISTORY: Final = "history"
"""The files of `history.dir`."""
KINDS: Final = (HEARTBEAT, VERDICTS, CONFIGURATION, HISTORY)


class SideFiles:
    """The failures of the process. May be used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures = collections.Counter[str]()
        self._errors: dict[str, str] = {}

    @contextlib.contextmanager
    def writing(self, kind: str, path: CheckpointPath) -> Iterator[None]:
        """Swallow, count and log an OSError of the block, which writes a file of this kind.

        The same error is logged once until a write succeeds again.
        """
        try:
            yield
        except OSError as error:
            self._fail(kind, path, error)
        else:
            with self._lock:
                self._errors.pop(kind, None)

    def count_unusable_configuration(self) -> None:
        """Count a changed configuration file that cannot be used."""
        with self._lock:
            self._failures[CONFIGURATION] += 1

    def table(self) -> pa.Table:
        """Return the failures by kind of file, each kind with a row from the start."""
        with self._lock:
            return rows_table([(kind, self._failures[kind]) for kind in KINDS], FILE_FAILURES)

    def _fail(self, kind: str, path: CheckpointPath, error: OSError) -> None:
        cause = error.strerror or str(error)
        with self._lock:
            self._failures[kind] += 1
            is_new = self._errors.get(kind) != cause
            self._errors[kind] = cause
        if is_new:
            _log.warning("optional file not written", file=str(path), cause=cause)
