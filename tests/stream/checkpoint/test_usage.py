"""The space of a checkpoint and of its volume."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from stream.checkpoint.usage import CheckpointSpace, checkpoint_space

if TYPE_CHECKING:
    from pathlib import Path

SNAPSHOT = "spark/state/0/3/default/12.zip"


def write(folder: Path, name: str, size: int, time: float | None = None) -> None:
    """Write a file of this size, last changed at this time."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    if time is not None:
        os.utime(path, (time, time))


def test_files_of_all_folders_count(tmp_path: Path) -> None:
    """The number of files and the sum of their sizes are reported. Links are not followed."""
    write(tmp_path, "lagwarden.json", 10)
    write(tmp_path, "spark/offsets/0", 200)
    (tmp_path / "link").symlink_to(tmp_path / "spark/offsets/0")
    space = checkpoint_space(tmp_path)
    assert (space.used, space.files) == (210, 2)


def test_newest_snapshot_of_the_state_has_its_time(tmp_path: Path) -> None:
    """Snapshots are the zip files below `state`; the verdict file is another one."""
    write(tmp_path, SNAPSHOT, 1, 1_000.0)
    write(tmp_path, "spark/state/0/4/default/12.zip", 1, 2_000.0)
    write(tmp_path, "spark/state/0/4/default/13.changelog", 1, 3_000.0)
    write(tmp_path, "verdicts.zip", 1, 4_000.0)
    assert checkpoint_space(tmp_path).state_snapshot_at == 2_000.0


def test_no_snapshot_yet(tmp_path: Path) -> None:
    """The time of the snapshot is unknown."""
    write(tmp_path, "spark/state/0/4/default/1.changelog", 1)
    assert checkpoint_space(tmp_path).state_snapshot_at is None


def test_space_of_the_volume_is_what_this_process_may_use(tmp_path: Path) -> None:
    """Free space for a user without privileges, and the size of the volume, as `df` shows them."""
    before, space, after = shutil.disk_usage(tmp_path), checkpoint_space(tmp_path), shutil.disk_usage(tmp_path)
    assert space.volume_free is not None
    assert min(before.free, after.free) - (64 << 20) <= space.volume_free <= max(before.free, after.free) + (64 << 20)
    assert space.volume_size == before.total


def test_folder_that_is_gone_gives_nothing(tmp_path: Path) -> None:
    """No number is reported for a deleted folder."""
    assert checkpoint_space(tmp_path / "none") == CheckpointSpace()
