"""From an offset or a time to the first batch that holds it, through a segment's indexes.

An index may be missing, stale, cut or wrong: it only says where the walk begins, and where no batch begins there or it
begins too late, the walk begins at zero. So for offsets the answer is that of a full scan, only sooner. A time index is
trusted where it ascends, as brokers trust it: nothing in the log contradicts a wrong one short of that full scan.

Source: org.apache.kafka.storage.internals.log.LogSegment (translateOffset, findOffsetByTimestamp).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from decoders.log.errors import Damaged
from decoders.log.index import OffsetIndex, TimeIndex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from decoders.log.batch import LogRecord
    from decoders.log.frames import LogBatch
    from decoders.log.partition import PartitionLog
    from decoders.log.segment import Segment


@dataclasses.dataclass(frozen=True, slots=True)
class SegmentIndex:
    """A segment with those of its two indexes that exist."""

    segment: Segment
    offsets: OffsetIndex | None
    times: TimeIndex | None

    @classmethod
    def beside(cls, segment: Segment) -> SegmentIndex:
        """Read the indexes that lie beside the segment's file (with its `.swap`, if it has one). Raises OSError."""
        stem, _, suffix = segment.path.name.partition(".log")
        offsets = segment.path.with_name(f"{stem}.index{suffix}")
        times = segment.path.with_name(f"{stem}.timeindex{suffix}")
        return cls(
            segment,
            OffsetIndex.read(offsets, segment.base_offset) if offsets.exists() else None,
            TimeIndex.read(times, segment.base_offset) if times.exists() else None,
        )

    def batch_at(self, offset: int) -> LogBatch | None:
        """Give the first batch that ends at or above the offset, None if the segment ends below it."""
        return next(self.batches_from(offset), None)

    def batches_from(self, offset: int) -> Iterator[LogBatch]:
        """Give all batches from the first that ends at or above the offset."""
        for batch in self.segment.batches(self._start(offset)):
            if batch.last_offset >= offset:
                yield batch

    def record_at_time(self, timestamp: int, from_offset: int = 0) -> LogRecord | None:
        """Give the first record at least as late as `timestamp` (ms) and not below the offset; None if there is none.

        This is how a broker answers offsets-for-times. A batch that cannot be decoded is passed over.
        """
        start = max(from_offset, self.times.offset_before(timestamp) if self.times else from_offset)
        for batch in self.batches_from(start):
            if batch.max_timestamp < timestamp:
                continue
            try:
                for record in batch.records():
                    if record.timestamp >= timestamp and record.offset >= from_offset:
                        return record
            except Damaged:
                continue
        return None

    def _start(self, offset: int) -> int:
        """Give the indexed position for the offset if a batch begins there that lies early enough, else 0."""
        position = self.offsets.position_before(offset) if self.offsets else 0
        if position:
            batch = next(iter(self.segment.batches(position)), None)
            if batch is None or batch.base_offset > offset:
                return 0
        return position


def first_record_at_time(log: PartitionLog, timestamp: int) -> LogRecord | None:
    """Give the first record of a partition at least as late as `timestamp` (ms); None if there is none. Raises OSError.

    Markers and records of aborted transactions count too, as they do in the broker's own answer.
    """
    found = (SegmentIndex.beside(segment).record_at_time(timestamp) for segment in log.segments)
    return next((record for record in found if record is not None), None)
