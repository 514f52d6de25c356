"""The first read of a topic, as the checkpoint keeps it until Spark's first batch has ended.

A process that ends before leaves the folded ranges in files, and the next start takes them over: what was read is not
read twice. The index is written last and has the checksum of each file.
"""

import dataclasses
import json
import shutil
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

from stream.checkpoint.files import CheckpointPath, replace_bytes
from stream.checkpoint.spark_offsets import SourceOffsets

FOLDER: Final = "first-read"
_INDEX: Final = "index.json"


@dataclasses.dataclass(frozen=True, slots=True)
class KeptRead:
    """What was read: from `starts` to before `ends`; the ranges (partition, first, end) of the file of each task."""

    starts: Mapping[int, int]
    ends: SourceOffsets
    tasks: tuple[tuple[tuple[int, int, int], ...], ...]

    def write(self, folder: Path) -> None:
        """Complete the folder with the index of its files. Raises OSError."""
        content = {
            "starts": SourceOffsets(self.starts).to_json(),
            "ends": self.ends.to_json(),
            "tasks": self.tasks,
            "crc32": [_crc32(result_file(folder, task)) for task in range(len(self.tasks))],
        }
        replace_bytes(folder / _INDEX, json.dumps(content).encode())

    @classmethod
    def read(cls, checkpoint: CheckpointPath) -> Self | None:
        """Return what the folder of a checkpoint keeps; None if there is nothing, or if it is not complete."""
        if not isinstance(checkpoint, Path):
            return None
        folder = checkpoint / FOLDER
        try:
            found = json.loads((folder / _INDEX).read_bytes())
            tasks = tuple(tuple((int(a), int(b), int(c)) for a, b, c in ranges) for ranges in found["tasks"])
            if [_crc32(result_file(folder, task)) for task in range(len(tasks))] != found["crc32"]:
                return None
            starts, ends = (SourceOffsets.of_json(found[name]) for name in ("starts", "ends"))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        return cls(starts.positions, ends, tasks)


def result_file(folder: Path, task: int) -> Path:
    """Return the file with the result of a task."""
    return folder / f"{task}.arrow"


def discard(checkpoint: CheckpointPath) -> None:
    """Remove what the checkpoint keeps."""
    if isinstance(checkpoint, Path):
        shutil.rmtree(checkpoint / FOLDER, ignore_errors=True)


def _crc32(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            checksum = zlib.crc32(piece, checksum)
    return checksum
