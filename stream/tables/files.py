"""Reads `__consumer_offsets` from a path: a broker's log directory, a partition's directory, a segment or a capture.

What is read is fixed when the read is planned, by the sizes of the files, so that a task that runs again returns the
same although a broker appends to them.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from decoders.log.codecs import DEFAULT_LIMIT
from decoders.log.columns import partition_records
from decoders.log.errors import LogError
from decoders.log.partition import PartitionDirectory, PartitionLog, read_directory
from decoders.log.segment import Segment
from stream.errors import imports_of_extra
from stream.groups.record_columns import RecordColumns
from stream.offline.folder import LogFolder
from stream.offline.paths import display_path, is_directory, os_error_text
from stream.offline.replay import ROWS_PER_BATCH, record_columns
from stream.offline.rows import OFFSETS_TOPIC, LogRow, UnreadableRefusal, batch_rows
from stream.tables.rows import NO_PARTITION, LoggedRecords

if TYPE_CHECKING:
    from stream.offline.capture import CaptureFile

_SEGMENT: Final = ".log"
_ADVICE: Final = (
    "name a broker's log directory, a directory such as __consumer_offsets-0, a segment (<offset>.log) or a capture"
)


@dataclasses.dataclass(frozen=True, slots=True)
class FileRead:
    """What one task reads: a partition's directory, a segment or a capture, each file up to its size in bytes."""

    path: Path
    sizes: tuple[tuple[str, int], ...]

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(size for _, size in self.sizes)


def plan_files(path: Path) -> list[FileRead]:
    """Return the reads of a path, the largest first. Raises Refusal."""
    if not is_directory(path):
        if path.suffix != _SEGMENT:
            _capture(path)  # raises the refusal if it is none
        return [FileRead(path, ((path.name, path.stat().st_size),))]
    reads = []
    for folder in LogFolder(path).folders:
        directory = read_directory(folder)
        if isinstance(directory, PartitionDirectory) and directory.topic != OFFSETS_TOPIC:
            raise UnreadableRefusal(f"{display_path(path)} is a partition of {directory.topic}", _ADVICE)
        reads.append(FileRead(folder, tuple(_sizes(folder))))
    return sorted(reads, key=lambda each: -each.size)


def _sizes(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the sizes of the segments; a folder or a file that cannot be read is a problem of the task."""
    with contextlib.suppress(OSError):
        for each in folder.iterdir():
            if _SEGMENT in each.name:
                with contextlib.suppress(FileNotFoundError):
                    yield each.name, each.stat().st_size


def read_files(read: FileRead) -> Iterator[LoggedRecords | str]:
    """Yield the records, without those of open transactions, then a line for each problem. Raises Refusal."""
    if read.path.suffix == _SEGMENT:
        yield from _read_log(_log_of_segment(read.path), read)
    elif is_directory(read.path):
        try:
            folder = LogFolder(read.path)
        except UnreadableRefusal as refusal:
            yield refusal.what
            return
        for log in folder.logs():
            yield from _read_log(log, read)
        yield from folder.problems
    else:
        capture = _capture(read.path)
        for rows in batch_rows(_rows_up_to(capture, read.size), ROWS_PER_BATCH):
            yield LoggedRecords(record_columns(rows, no_time=-1), None)
        yield from capture.problems


def _capture(path: Path) -> CaptureFile:
    with imports_of_extra("captures", "reading a capture"):
        from stream.offline.capture import CaptureFile  # noqa: PLC0415 -- an extra
    return CaptureFile(path)


def _read_log(log: PartitionLog, read: FileRead) -> Iterator[LoggedRecords | str]:
    sizes = dict(read.sizes)
    with log:
        for segment in log.segments:
            segment.size = min(segment.size, sizes.get(segment.path.name, 0))
        for columns, producer, aborted in partition_records(log):
            if len(columns.offset):
                records = RecordColumns.of_partition(log.directory.partition, *columns)
                yield LoggedRecords(records, producer, aborted)
        yield from map(str, log.errors)


def _log_of_segment(path: Path) -> PartitionLog:
    try:
        segment = Segment.open(path)
    except ValueError as error:
        raise UnreadableRefusal(str(error), _ADVICE) from error
    except OSError as error:
        raise UnreadableRefusal(f"{display_path(path)} cannot be read: {os_error_text(error)}", _ADVICE) from error
    folder = read_directory(path.parent)
    partition = NO_PARTITION if isinstance(folder, LogError) else folder.partition
    directory = PartitionDirectory(path.parent, OFFSETS_TOPIC, partition, None, None, {})
    return PartitionLog(directory, (segment,), limit=DEFAULT_LIMIT)


def _rows_up_to(capture: CaptureFile, size: int) -> Iterator[LogRow]:
    """Yield the rows of the offsets topic in the blocks that end within the first `size` bytes."""
    for block in capture.blocks():
        if block.end > size:
            return
        yield from (row for row in block.rows if row.topic == OFFSETS_TOPIC)
