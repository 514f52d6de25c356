"""Partition directories: their topic and partition, and the files that belong to the log.

`.deleted` and `.cleaned` files do not belong to the log. A `.swap` file is the finished result of a compaction and
replaces the segments it covers, unless a `.cleaned` file shows that the compaction did not finish.

Source: org.apache.kafka.storage.internals.log.LogFileUtils, LocalLog#parseTopicPartitionName, LogLoader.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from decoders.log.errors import LogError, LogFault
from decoders.log.segment import Segment
from decoders.log.state_files import PartitionMetadata, read_partition_metadata, read_partition_offsets

if TYPE_CHECKING:
    from collections.abc import Callable

Content = TypeVar("Content")

_NAME: Final = re.compile(
    r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>\d{1,10})(\.[0-9a-f]{32}-(?P<marker>delete|future|stray))?"
)
_SEGMENT: Final = re.compile(r"(?P<base>\d{1,20})\.log(?P<suffix>\.swap|\.cleaned)?")
HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
LOG_STARTS: Final = "log-start-offset-checkpoint"


@dataclasses.dataclass(frozen=True, slots=True)
class SegmentFile:
    """A segment file that belongs to the log."""

    path: Path
    base_offset: int


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionDirectory:
    """The content of a partition directory at the time of listing.

    `marker` is the suffix delete, future or stray of a directory that is not, or no longer, the partition's own.
    `high_watermark` (a lower bound, because the broker writes it every few seconds) and `log_start` come from
    checkpoint files in the parent log directory; they and `topic_id` are None if those files do not have them.
    Consumers cannot read below `log_start`, and records at or above the high watermark may still be truncated.
    """

    path: Path
    topic: str
    partition: int
    marker: str | None
    topic_id: bytes | None
    high_watermark: int | None
    log_start: int | None
    segments: tuple[SegmentFile, ...]


def read_directory(path: Path | str) -> PartitionDirectory | LogError:
    """List a partition directory. Other directories give a LogError (WRONG_KIND). Raises OSError."""
    path = Path(path)
    name = _NAME.fullmatch(path.resolve().name)
    if not path.is_dir() or name is None:
        detail = (
            "not a directory" if not path.is_dir() else "not a partition directory: the name is not <topic>-<number>"
        )
        return LogError(LogFault.WRONG_KIND, str(path), 0, None, detail)
    topic, partition = name["topic"], int(name["partition"])
    metadata = _if_readable(read_partition_metadata, path / "partition.metadata")
    return PartitionDirectory(
        path,
        topic,
        partition,
        name["marker"],
        metadata.topic_id if isinstance(metadata, PartitionMetadata) else None,
        _checkpointed_offset(path.resolve().parent / HIGH_WATERMARKS, topic, partition),
        _checkpointed_offset(path.resolve().parent / LOG_STARTS, topic, partition),
        list_segments(path),
    )


def list_segments(path: Path) -> tuple[SegmentFile, ...]:
    """Return the segment files of the log, ordered by base offset. Raises OSError."""
    plain: dict[int, Path] = {}
    swapped: dict[int, Path] = {}
    cleaned: list[int] = []
    for file in path.iterdir():
        if (name := _SEGMENT.fullmatch(file.name)) is None:
            continue
        base = int(name["base"])
        if name["suffix"] == ".cleaned":
            cleaned.append(base)
        else:
            (swapped if name["suffix"] else plain)[base] = file
    # A .cleaned file means that the cleaner did not finish: the .swap files from its base offset on are not valid.
    finished = {base: file for base, file in swapped.items() if not cleaned or base < min(cleaned)}
    files = {base: file for base, file in plain.items() if not _is_covered(base, finished)} | finished
    return tuple(SegmentFile(files[base], base) for base in sorted(files))


def _is_covered(base: int, swapped: dict[int, Path]) -> bool:
    """Return whether swap files replace this segment; they cover [lowest base, next offset of the last swap file)."""
    if not swapped or base < min(swapped):
        return False
    return base < max(_next_offset(file, start) for start, file in swapped.items())


def _next_offset(file: Path, base: int) -> int:
    """Return the offset after the last record of a segment file, its base offset if it is empty."""
    with Segment(file, base) as segment:
        return max((batch.last_offset + 1 for batch in segment.batches()), default=base)


def _checkpointed_offset(file: Path, topic: str, partition: int) -> int | None:
    """Return the partition's offset in a checkpoint of the log directory, None if it has none."""
    rows = _if_readable(read_partition_offsets, file)
    if rows is None or isinstance(rows, LogError):
        return None
    return next((row.offset for row in rows if (row.topic, row.partition) == (topic, partition)), None)


def _if_readable(read: Callable[[Path], Content], file: Path) -> Content | None:
    """Read an optional file; None if it does not exist or cannot be read."""
    try:
        return read(file)
    except OSError:
        return None
