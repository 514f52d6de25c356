"""A partition's directory: which topic and partition it is, and which of its files are the log.

Owns the rules about unfinished work: `.deleted` and `.cleaned` files are none of the log; a `.swap` file is the
finished result of a compaction and stands for the segments it covers, unless a `.cleaned` file says that the compaction
was never finished.

Source: org.apache.kafka.storage.internals.log.LogFileUtils, LocalLog#parseTopicPartitionName, LogLoader.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Final

from decoders.log.errors import LogError, LogFault
from decoders.log.segment import Segment
from decoders.log.state_files import PartitionMetadata, PartitionOffset, read_partition_metadata, read_partition_offsets

_NAME: Final = re.compile(
    r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>\d{1,10})(\.[0-9a-f]{32}-(?P<fate>delete|future|stray))?"
)
_SEGMENT: Final = re.compile(r"(?P<base>\d{1,20})\.log(?P<suffix>\.swap|\.cleaned)?")
HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
LOG_STARTS: Final = "log-start-offset-checkpoint"


@dataclasses.dataclass(frozen=True, slots=True)
class SegmentFile:
    """A file that belongs to the log, by its base offset."""

    path: Path
    base_offset: int


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionDirectory:
    """What a partition's directory holds, as it was listed.

    `fate` is delete, future or stray where the name says that the directory is not (or no more) the partition's own.
    `high_watermark` (a lower bound: the broker writes it every few seconds) and `log_start` come from the files of the
    log directory around it; they and `topic_id` are None where those files do not tell.
    A consumer sees nothing below `log_start`, and nothing at or above the high watermark is safe from being cut off.
    """

    path: Path
    topic: str
    partition: int
    fate: str | None
    topic_id: bytes | None
    high_watermark: int | None
    log_start: int | None
    segments: tuple[SegmentFile, ...]


def read_directory(path: Path | str) -> PartitionDirectory | LogError:
    """List a partition's directory. Raises OSError; what is no partition's directory is a LogError (WRONG_KIND)."""
    path = Path(path)
    name = _NAME.fullmatch(path.resolve().name)
    if not path.is_dir() or name is None:
        kind = "no directory" if not path.is_dir() else "no partition's directory: its name is no topic-number"
        return LogError(LogFault.WRONG_KIND, str(path), 0, None, kind)
    topic, partition = name["topic"], int(name["partition"])
    metadata = read_partition_metadata(path / "partition.metadata") if (path / "partition.metadata").exists() else None
    return PartitionDirectory(
        path,
        topic,
        partition,
        name["fate"],
        metadata.topic_id if isinstance(metadata, PartitionMetadata) else None,
        _checkpointed(path.resolve().parent / HIGH_WATERMARKS, topic, partition),
        _checkpointed(path.resolve().parent / LOG_STARTS, topic, partition),
        list_segments(path),
    )


def list_segments(path: Path) -> tuple[SegmentFile, ...]:
    """Give the files that make up the log, in the order of their base offsets. Raises OSError."""
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
    # A .cleaned file means that the cleaner was not done: the .swap files from its base on are to be made again.
    finished = {base: file for base, file in swapped.items() if not cleaned or base < min(cleaned)}
    files = {base: file for base, file in plain.items() if not _is_covered(base, finished)} | finished
    return tuple(SegmentFile(files[base], base) for base in sorted(files))


def _is_covered(base: int, swapped: dict[int, Path]) -> bool:
    """Whether swap files stand for this segment: they cover [lowest base, next offset of the last of them)."""
    if not swapped or base < min(swapped):
        return False
    return base < max(_next_offset(file, start) for start, file in swapped.items())


def _next_offset(file: Path, base: int) -> int:
    """Give the offset after the last record of a segment file, its base offset if it holds none."""
    with Segment(file, base) as segment:
        return max((batch.last_offset + 1 for batch in segment.batches()), default=base)


def _checkpointed(file: Path, topic: str, partition: int) -> int | None:
    rows: tuple[PartitionOffset, ...] | LogError = read_partition_offsets(file) if file.exists() else ()
    if isinstance(rows, LogError):
        return None
    return next((row.offset for row in rows if (row.topic, row.partition) == (topic, partition)), None)
