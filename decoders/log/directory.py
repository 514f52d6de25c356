"""Partition directories: their topic and partition, and the files that belong to the log.

`.deleted` and `.cleaned` files do not belong to the log. A `.swap` file is the finished result of a compaction and
replaces the segments it covers, unless a `.cleaned` file shows that the compaction did not finish.

Source: org.apache.kafka.storage.internals.log.LogFileUtils, LocalLog#parseTopicPartitionName, LogLoader,
PartitionMetadataFile.
"""

import base64
import dataclasses
import re
from pathlib import Path
from typing import Final

from decoders.log.errors import LogError, LogFault
from decoders.log.files import read_small
from decoders.log.segment import Segment

_NAME: Final = re.compile(
    r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>\d{1,10})(\.[0-9a-f]{32}-(?P<marker>delete|future|stray))?"
)
_SEGMENT: Final = re.compile(r"(?P<base>\d{1,20})\.log(?P<suffix>\.swap|\.cleaned)?")
_TOPIC_ID: Final = re.compile(r"^version: 0\ntopic_id: ([A-Za-z0-9_-]{22})$", re.MULTILINE)


@dataclasses.dataclass(frozen=True, slots=True)
class SegmentFile:
    """A segment file that belongs to the log."""

    path: Path
    base_offset: int


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionDirectory:
    """The content of a partition directory at the time of listing.

    `marker` is the suffix delete, future or stray of a directory that is not, or no longer, the partition's own.
    `topic_id` (16 bytes) is that of `partition.metadata`; None if the file has none, as before Kafka 2.8.
    """

    path: Path
    topic: str
    partition: int
    marker: str | None
    topic_id: bytes | None
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
    return PartitionDirectory(
        path, name["topic"], int(name["partition"]), name["marker"], _topic_id(path), list_segments(path)
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


def _topic_id(path: Path) -> bytes | None:
    """Return the topic id in `partition.metadata`; None if the file does not exist, cannot be read or has none."""
    try:
        found = _TOPIC_ID.search(read_small(path / "partition.metadata").decode("latin-1"))
    except OSError:
        return None
    return None if found is None else base64.urlsafe_b64decode(found[1] + "==")
