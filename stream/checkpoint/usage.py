"""The space that the checkpoint uses, and the space that its volume has left."""

import collections
import contextlib
import os
import shutil
import stat
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa
import structlog

from exporters.readmodel import FILE_FAILURES, CheckpointSpace, rows_table
from stream.checkpoint.files import CheckpointPath
from stream.checkpoint.objects.path import ObjectPath
from stream.checkpoint.objects.store import ObjectInfo

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
            cause = error.strerror or str(error)
            with self._lock:
                self._failures[kind] += 1
                is_new = self._errors.get(kind) != cause
                self._errors[kind] = cause
            if is_new:
                _log.warning("optional file not written", file=str(path), cause=cause)
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


_STATE: Final = "state"
"""Folder of the state in Spark's checkpoint: full snapshots are zip files, the batches since then changelogs."""


def checkpoint_space(folder: CheckpointPath) -> CheckpointSpace:
    """Return the space of a checkpoint folder. Files that Spark deletes meanwhile are left out.

    An object store has no volume, so its size and what is free of it are not known.
    """
    free: int | None = None
    total: int | None = None
    found: Mapping[str, os.stat_result | ObjectInfo]
    try:
        if isinstance(folder, ObjectPath):
            found = folder.sizes()
        else:
            total, _, free = shutil.disk_usage(folder)
            found = dict(_files(folder))
    except OSError:
        return CheckpointSpace()
    snapshots = (
        each.st_mtime for name, each in found.items() if name.endswith(".zip") and _STATE in name.split("/")[:-1]
    )
    used = sum(each.st_size for each in found.values())
    return CheckpointSpace(used, len(found), free, total, max(snapshots, default=None))


def _files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the name relative to a folder, and size and times, of each file below it."""
    for parent, _, names in os.walk(folder):
        for path in (Path(parent, name) for name in names):
            with contextlib.suppress(OSError):
                found = path.lstat()
                if stat.S_ISREG(found.st_mode):
                    yield path.relative_to(folder).as_posix(), found
