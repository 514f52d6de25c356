"""The space that the checkpoint uses, and the space that its volume has left."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from exporters.readmodel import CheckpointSpace
from stream.checkpoint.files import CheckpointPath
from stream.checkpoint.objects.path import ObjectPath

_STATE: Final = "state"
"""Folder of the state in Spark's checkpoint: full snapshots are zip files, the batches since then changelogs."""


def checkpoint_space(folder: CheckpointPath) -> CheckpointSpace:
    """Return the space of a checkpoint folder. Files that Spark deletes meanwhile are left out.

    An object store has no volume, so its size and what is free of it are not known.
    """
    if isinstance(folder, ObjectPath):
        return _object_space(folder)
    try:
        volume = shutil.disk_usage(folder)
    except OSError:
        return CheckpointSpace()
    used = files = 0
    newest: float | None = None
    for is_snapshot, found in _files(folder, in_state=False):
        used += found.st_size
        files += 1
        if is_snapshot:
            newest = found.st_mtime if newest is None else max(newest, found.st_mtime)
    return CheckpointSpace(used, files, volume.free, volume.total, newest)


def _object_space(folder: ObjectPath) -> CheckpointSpace:
    try:
        found = folder.sizes()
    except OSError:
        return CheckpointSpace()
    snapshots = [
        each.st_mtime for name, each in found.items() if name.endswith(".zip") and _STATE in name.split("/")[:-1]
    ]
    return CheckpointSpace(
        sum(each.st_size for each in found.values()), len(found), state_snapshot_at=max(snapshots, default=None)
    )


def _files(folder: str | Path, *, in_state: bool) -> Iterator[tuple[bool, os.stat_result]]:
    """Yield for each file below a folder whether it is a snapshot of the state, and its size and times."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        yield from _files(entry.path, in_state=in_state or entry.name == _STATE)
                    elif entry.is_file(follow_symlinks=False):
                        yield in_state and entry.name.endswith(".zip"), entry.stat(follow_symlinks=False)
    except OSError:
        return
