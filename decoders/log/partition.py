"""A whole partition, read in log order with its transactions applied: the offline twin of a read_committed consumer.

Unlike such a consumer it does not stall at an open transaction: undecided records are left out and named in
`open_transactions`, what lies behind them is read. Damage never ends the reading before the last segment: it is noted
in `errors`, and the next segment goes on. How records become Arrow columns is `decoders.log.columns`'s business.
"""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from decoders.log.codecs import DEFAULT_LIMIT
from decoders.log.directory import PartitionDirectory, read_directory
from decoders.log.errors import Damaged, Fault, LogError
from decoders.log.segment import Segment
from decoders.log.transactions import Markers, OpenTransaction, OpenTransactions, Outcome, is_transactional_data

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from decoders.log.batch import LogRecord
    from decoders.log.segment import Batch

_ATTEMPTS = 5


@dataclasses.dataclass(frozen=True, slots=True)
class PlacedBatch:
    """A batch with the file it lies in and what becomes of it."""

    batch: Batch
    path: Path
    outcome: Outcome


@dataclasses.dataclass(frozen=True, slots=True)
class PlacedRecord:
    """A record with what its batch says about its origin."""

    record: LogRecord
    producer_id: int
    is_transactional: bool
    outcome: Outcome


class PartitionLog:
    """The log of one partition, with all its segment files held open at the size they had when it was opened.

    One walk at a time: `errors`, `open_transactions` and `next_offset` tell about the walk that was begun last, and are
    complete when it has ended.
    """

    def __init__(self, directory: PartitionDirectory, segments: tuple[Segment, ...], *, limit: int) -> None:
        self.directory = directory
        self.segments = segments
        self.limit = limit
        self.errors: list[LogError] = []
        self.next_offset = 0
        self._open_transactions = OpenTransactions()

    @classmethod
    def open(cls, path: Path | str, *, limit: int = DEFAULT_LIMIT) -> Self | LogError:
        """Open a partition's directory; `limit` bounds what one batch may expand to.

        Raises OSError. A compaction may rename files between listing and opening them: then they are listed again.
        """
        for attempt in range(_ATTEMPTS):
            directory = read_directory(path)
            if isinstance(directory, LogError):
                return directory
            with ExitStack() as opened:
                try:
                    segments = [
                        opened.enter_context(Segment(file.path, file.base_offset)) for file in directory.segments
                    ]
                except FileNotFoundError:
                    if attempt + 1 == _ATTEMPTS:
                        raise
                    continue
                opened.pop_all()
                return cls(directory, tuple(segments), limit=limit)
        raise AssertionError("the last attempt returns or raises")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the segment files."""
        for segment in self.segments:
            segment.close()

    @property
    def open_transactions(self) -> tuple[OpenTransaction, ...]:
        """The transactions that the walk found without a marker, oldest first."""
        return self._open_transactions.all()

    def batches(self, start_offset: int = 0) -> Iterator[PlacedBatch]:
        """Give all batches that end at or above an offset, with their outcomes.

        The markers are looked for once, ahead, when the first transactional batch turns up: a log without transactions
        is read once, one with them twice.
        """
        self.errors = []
        self.next_offset = start_offset
        self._open_transactions = OpenTransactions()
        markers, collected = Markers(), False
        for segment, batch in self._walk(start_offset):
            if not collected and is_transactional_data(batch):
                markers, collected = self._markers(batch.base_offset), True
            outcome = markers.outcome(batch)
            if outcome is Outcome.PENDING:
                self._open_transactions.add(batch)
            yield PlacedBatch(batch, segment.path, outcome)

    def records(self, start_offset: int = 0, *, only_committed: bool = True) -> Iterator[PlacedRecord]:
        """Give the records from an offset on: those that count, or all of them, control records too."""
        for placed in self.batches(start_offset):
            if only_committed and not placed.outcome.counts:
                continue
            batch = placed.batch
            try:
                for record in batch.records(self.limit):
                    if record.offset >= start_offset:
                        yield PlacedRecord(record, batch.producer_id, batch.is_transactional, placed.outcome)
            except Damaged as fault:
                self.note(placed, fault)

    def note(self, placed: PlacedBatch, fault: Damaged) -> None:
        """Note that a batch could not be decoded."""
        self.errors.append(fault.located(str(placed.path), placed.batch.position, placed.batch.base_offset))

    def _walk(self, start_offset: int) -> Iterator[tuple[Segment, Batch]]:
        """Give the good batches of all segments in order, and note the faults that end a segment too early."""
        for number, segment in enumerate(self.segments):
            following = self.segments[number + 1 :]
            if following and following[0].base_offset <= start_offset:
                continue
            cursor = segment.batches()
            for batch in cursor:
                if batch.last_offset < self.next_offset:
                    if batch.last_offset >= start_offset:
                        self._note_overlap(segment, batch)
                    continue
                self.next_offset = batch.last_offset + 1
                yield segment, batch
            if error := cursor.error(last_segment=not following):
                self.errors.append(error)

    def _note_overlap(self, segment: Segment, batch: Batch) -> None:
        detail = f"offset {batch.last_offset} was read before, in another segment"
        self.errors.append(LogError(Fault.OFFSET_ORDER, str(segment.path), batch.position, batch.base_offset, detail))

    def _markers(self, start_offset: int) -> Markers:
        """Collect the markers from an offset to the end, and note broken ones: nobody else decodes them."""
        markers = Markers()
        for number, segment in enumerate(self.segments):
            following = self.segments[number + 1 :]
            if following and following[0].base_offset <= start_offset:
                continue
            for batch in segment.batches():
                try:
                    markers.add(batch)
                except Damaged as fault:
                    self.note(PlacedBatch(batch, segment.path, Outcome.CONTROL), fault)
        return markers
