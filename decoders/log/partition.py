"""Reads a whole partition in log order with its transactions applied, like a read_committed consumer but offline.

Unlike such a consumer it does not stop at the last stable offset: records of ongoing transactions are left out, and the
records after them are read. A damaged segment does not end the read: the fault is added to `errors`, and reading
continues with the next segment.
`decoders.log.columns` turns the records into Arrow columns.

Partition directories: their topic and partition, and the files that belong to the log.

`.deleted` and `.cleaned` files do not belong to the log. A `.swap` file is the finished result of a compaction and
replaces the segments it covers, unless a `.cleaned` file shows that the compaction did not finish.

Source: org.apache.kafka.storage.internals.log.LogFileUtils, LocalLog#parseTopicPartitionName, LogLoader,
PartitionMetadataFile.
"""

import base64
import contextlib
import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple, Self

from decoders.log.batch import LogRecord
from decoders.log.codecs import DEFAULT_LIMIT
from decoders.log.control import BatchOutcome, TransactionMarkers, is_transactional_data
from decoders.log.errors import Damaged, LogError, LogFault
from decoders.log.files import BatchBlock, LogBatch, read_small
from decoders.log.segment import Segment

_NAME: Final = re.compile(
    r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>\d{1,10})(\.[0-9a-f]{32}-(?P<marker>delete|future|stray))?"
)
_SEGMENT: Final = re.compile(r"(?P<base>\d{1,20})\.log(?P<suffix>\.swap|\.cleaned)?")
_TOPIC_ID: Final = re.compile(r"^version: 0\ntopic_id: ([A-Za-z0-9_-]{22})$", re.MULTILINE)


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionDirectory:
    """The content of a partition directory at the time of listing.

    `marker` is the suffix delete, future or stray of a directory that is not, or no longer, the partition's own.
    `topic_id` (16 bytes) is that of `partition.metadata`; None if the file has none, as before Kafka 2.8. `segments`
    are the files of the log by base offset, ascending.
    """

    path: Path
    topic: str
    partition: int
    marker: str | None
    topic_id: bytes | None
    segments: Mapping[int, Path]


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


def list_segments(path: Path) -> dict[int, Path]:
    """Return the segment files of the log by base offset, ascending. Raises OSError."""
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
    return dict(sorted(files.items()))


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


_ATTEMPTS: Final = 5


class PlacedRecord(NamedTuple):
    """A record with the producer and the outcome of its batch."""

    record: LogRecord
    producer_id: int
    outcome: BatchOutcome


class PartitionLog:
    """The log of one partition. Keeps all segment files open, at the size that they had when they were opened.

    Only one walk at a time: `errors` and `next_offset` describe the walk that was started last, and are complete when
    it has ended.
    """

    def __init__(
        self,
        directory: PartitionDirectory,
        segments: tuple[Segment, ...],
        *,
        limit: int,
        unreadable: tuple[LogError, ...] = (),
    ) -> None:
        """`unreadable` describes the segments that could not be opened; `errors` of each walk begins with them."""
        self.directory = directory
        self.segments = segments
        self.limit = limit
        self._unreadable = unreadable
        self.errors: list[LogError] = list(unreadable)
        self.next_offset = 0
        self._markers: TransactionMarkers | None = None

    @classmethod
    def open(cls, path: Path | str, *, limit: int = DEFAULT_LIMIT) -> Self | LogError:
        """Open a partition directory; `limit` bounds the decompressed size of a batch. Raises OSError.

        A segment that cannot be opened is reported in `errors` of each walk, and the others are read. If a compaction
        renames files between listing and opening, the directory is listed again.
        """
        for _ in range(_ATTEMPTS - 1):
            with contextlib.suppress(FileNotFoundError):
                return cls._open(path, limit)
        return cls._open(path, limit)

    @classmethod
    def _open(cls, path: Path | str, limit: int) -> Self | LogError:
        directory = read_directory(path)
        if isinstance(directory, LogError):
            return directory
        segments: list[Segment] = []
        unreadable: list[LogError] = []
        with contextlib.ExitStack() as opened:
            for base, file in directory.segments.items():
                try:
                    segments.append(opened.enter_context(Segment(file, base)))
                except FileNotFoundError:
                    raise
                except OSError as error:
                    detail = error.strerror or str(error)
                    unreadable.append(LogError(LogFault.UNREADABLE, str(file), 0, base, detail))
            opened.pop_all()
        return cls(directory, tuple(segments), limit=limit, unreadable=tuple(unreadable))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the segment files."""
        for segment in self.segments:
            segment.close()

    def records(self, start_offset: int = 0, *, only_committed: bool = True) -> Iterator[PlacedRecord]:
        """Yield the records from an offset on: only visible ones, or all including control records."""
        for path, block in self.blocks(start_offset):
            for batch in block.batches():
                outcome = self.outcome(batch)
                if only_committed and not outcome.is_visible:
                    continue
                try:
                    for record in batch.records(self.limit):
                        if record.offset >= start_offset:
                            yield PlacedRecord(record, batch.producer_id, outcome)
                except Damaged as fault:
                    self.add_error(path, batch, fault)

    def blocks(self, start_offset: int = 0) -> Iterator[tuple[Path, BatchBlock]]:
        """Yield the valid batches of all segments in order, in blocks with their file.

        Faults that end a segment early are added to `errors`. Batches that end below the offset are left out.
        """
        self.errors = list(self._unreadable)
        self.next_offset = start_offset
        self._markers = None
        for number, segment in enumerate(self.segments):
            following = self.segments[number + 1 :]
            if following and following[0].base_offset <= start_offset:
                continue
            cursor = segment.batches()
            for whole_block in cursor.blocks():
                if (block := self._new_batches(segment, whole_block, start_offset)).ends:
                    self.next_offset = block.batch(-1).last_offset + 1
                    yield segment.path, block
            if error := cursor.error(last_segment=not following):
                self.errors.append(error)

    def outcome(self, batch: LogBatch) -> BatchOutcome:
        """Return the outcome of a batch of the walk. Call it in the order of the log.

        The markers are collected once, at the first transactional batch, by reading ahead: a log without transactions
        is read once, a log with transactions twice.
        """
        if not is_transactional_data(batch):
            return BatchOutcome.CONTROL if batch.is_control else BatchOutcome.PLAIN
        if self._markers is None:
            self._markers = self._markers_from(batch.base_offset)
        return self._markers.outcome(batch)

    def add_error(self, path: Path, batch: LogBatch, fault: Damaged) -> None:
        """Add the fault of a batch that could not be decoded to `errors`."""
        self.errors.append(fault.located(str(path), batch.position, batch.base_offset))

    def _new_batches(self, segment: Segment, block: BatchBlock, start_offset: int) -> BatchBlock:
        """Return the block without batches below the walk; those already read from another segment are errors."""
        for number in range(len(block.ends)):
            batch = block.batch(number)
            if batch.last_offset >= self.next_offset:
                return block._replace(starts=block.starts[number:], ends=block.ends[number:]) if number else block
            if batch.last_offset >= start_offset:
                detail = f"offset {batch.last_offset} was already read from another segment"
                error = LogError(LogFault.OFFSET_ORDER, str(segment.path), batch.position, batch.base_offset, detail)
                self.errors.append(error)
        return block._replace(starts=[], ends=[])

    def _markers_from(self, start_offset: int) -> TransactionMarkers:
        """Return the markers from an offset to the end; damaged ones are errors, as only this code decodes them."""
        markers = TransactionMarkers()
        for number, segment in enumerate(self.segments):
            following = self.segments[number + 1 :]
            if following and following[0].base_offset <= start_offset:
                continue
            for batch in segment.batches():
                try:
                    markers.add(batch)
                except Damaged as fault:
                    self.add_error(segment.path, batch, fault)
        return markers
