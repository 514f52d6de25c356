"""The space of a checkpoint and of its volume."""

import os
import shutil
from pathlib import Path

from stream.checkpoint.usage import checkpoint_space

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


def test_snapshot_time_is_that_of_the_newest_snapshot(tmp_path: Path) -> None:
    """Only zip files below `state` are snapshots: neither changelogs nor the verdict file count."""
    write(tmp_path, "spark/state/0/4/default/13.changelog", 1, 3_000.0)
    write(tmp_path, "verdicts.zip", 1, 4_000.0)
    assert checkpoint_space(tmp_path).state_snapshot_at is None
    write(tmp_path, SNAPSHOT, 1, 1_000.0)
    write(tmp_path, "spark/state/0/4/default/12.zip", 1, 2_000.0)
    assert checkpoint_space(tmp_path).state_snapshot_at == 2_000.0


def test_free_space_is_that_of_an_unprivileged_user(tmp_path: Path) -> None:
    """The free space and the size of the volume are those that `df` shows."""
    before, space, after = shutil.disk_usage(tmp_path), checkpoint_space(tmp_path), shutil.disk_usage(tmp_path)
    assert space.volume_free is not None
    assert min(before.free, after.free) - (64 << 20) <= space.volume_free <= max(before.free, after.free) + (64 << 20)
    assert space.volume_size == before.total
