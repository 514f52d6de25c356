"""Finds the first record at an offset or a timestamp, using the indexes of a segment.

An index may be missing, stale, truncated or wrong: it is used only to choose where the walk begins. If no batch begins
there, or the batch begins too late, the walk starts at zero, so for offsets the result is that of a full scan. A time
index is trusted as far as it ascends, as in the broker: only a full scan could show that it is wrong.

Source: org.apache.kafka.storage.internals.log.LogSegment (translateOffset, findOffsetByTimestamp).
"""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, NamedTuple

from decoders.log.errors import Damaged
from decoders.log.index import OffsetIndex, TimeIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from decoders.log.batch import LogRecord
    from decoders.log.frames import LogBatch
    from decoders.log.partition import PartitionLog
    from decoders.log.segment import Segment


class RecordPlace(NamedTuple):
    """A record, its file, and the position of its batch in that file."""

    record: LogRecord
    path: Path
    position: int


@dataclasses.dataclass(frozen=True, slots=True)
class SegmentIndex:
    """A segment with its offset index and time index, if they exist."""

    segment: Segment
    offsets: OffsetIndex | None
    times: TimeIndex | None

    @classmethod
    def load(cls, segment: Segment) -> SegmentIndex:
        """Read the index files of a segment; those of a `.swap` segment have the same suffix. Raises OSError."""
        stem, _, suffix = segment.path.name.partition(".log")
        offsets = segment.path.with_name(f"{stem}.index{suffix}")
        times = segment.path.with_name(f"{stem}.timeindex{suffix}")
        return cls(
            segment,
            OffsetIndex.read(offsets, segment.base_offset) if offsets.exists() else None,
            TimeIndex.read(times, segment.base_offset) if times.exists() else None,
        )

    def _batches_from(self, offset: int) -> Iterator[LogBatch]:
        """Yield all batches that end at or above the offset."""
        for batch in self.segment.batches(self._start(offset)):
            if batch.last_offset >= offset:
                yield batch

    def record_at_offset(self, offset: int) -> RecordPlace | None:
        """Return the first record at or above the offset; None if there is none. Undecodable batches are skipped."""
        return next(self._records(self._batches_from(offset), lambda record: record.offset >= offset), None)

    def record_at_time(self, timestamp: int) -> RecordPlace | None:
        """Return the first record at or after `timestamp` (ms); None if there is none.

        The broker does the same for offsets-for-times (ListOffsets). Undecodable batches are skipped.
        """
        start = self.times.offset_before(timestamp) if self.times else self.segment.base_offset
        batches = (batch for batch in self._batches_from(start) if batch.max_timestamp >= timestamp)
        return next(self._records(batches, lambda record: record.timestamp >= timestamp), None)

    def _records(self, batches: Iterable[LogBatch], matches: Callable[[LogRecord], bool]) -> Iterator[RecordPlace]:
        for batch in batches:
            with contextlib.suppress(Damaged):
                for record in batch.records():
                    if matches(record):
                        yield RecordPlace(record, self.segment.path, batch.position)

    def _start(self, offset: int) -> int:
        """Return the indexed position for the offset if a batch at or below the offset begins there, else 0."""
        position = self.offsets.position_before(offset) if self.offsets else 0
        if position:
            batch = next(iter(self.segment.batches(position)), None)
            if batch is None or batch.base_offset > offset:
                return 0
        return position


def first_record_at_time(log: PartitionLog, timestamp: int) -> RecordPlace | None:
    """Return the first record of a partition at or after `timestamp` (ms); None if there is none. Raises OSError.

    As in the broker, markers and records of aborted transactions are included.
    """
    found = (SegmentIndex.load(segment).record_at_time(timestamp) for segment in log.segments)
    return next((place for place in found if place is not None), None)


def first_record_at_offset(log: PartitionLog, offset: int) -> RecordPlace | None:
    """Return the first record of a partition at or above an offset; None if there is none. Raises OSError.

    It has a higher offset if compaction or retention has removed the record. Markers are included.
    """
    ended = sum(segment.base_offset <= offset for segment in log.segments[1:])
    found = (SegmentIndex.load(segment).record_at_offset(offset) for segment in log.segments[ended:])
    return next((place for place in found if place is not None), None)
