"""A whole partition, read in log order with its transactions applied: the offline twin of a read_committed consumer.

Unlike such a consumer it does not stall at an open transaction: undecided records are left out and named in
`open_transactions`, what lies behind them is read. Damage never ends the reading before the last segment: it is noted
in `errors`, and the next segment goes on. How records become Arrow columns is `decoders.log.columns`'s business.
"""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from decoders.log.codecs import DEFAULT_LIMIT
from decoders.log.directory import PartitionDirectory, read_directory
from decoders.log.errors import Damaged, Fault, LogError
from decoders.log.segment import Segment
from decoders.log.transactions import Markers, OpenTransaction, OpenTransactions, Outcome, is_transactional_data

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from decoders.log.batch import LogRecord
    from decoders.log.frames import Batch, Block

_ATTEMPTS: Final = 5


class PlacedBatch(NamedTuple):
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
        self._markers: Markers | None = None
        self._open_transactions = OpenTransactions()

    @classmethod
    def open(cls, path: Path | str, *, limit: int = DEFAULT_LIMIT) -> Self | LogError:
        """Open a partition's directory; `limit` bounds what one batch may expand to.

        Raises OSError. A compaction may rename files between listing and opening them: then they are listed again.
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
        with contextlib.ExitStack() as opened:
            segments = [opened.enter_context(Segment(file.path, file.base_offset)) for file in directory.segments]
            opened.pop_all()
        return cls(directory, tuple(segments), limit=limit)

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
        """Give all batches that end at or above an offset, with their outcomes."""
        for path, block in self.blocks(start_offset):
            for batch in block.batches():
                yield PlacedBatch(batch, path, self.outcome(batch))

    def records(self, start_offset: int = 0, *, only_committed: bool = True) -> Iterator[PlacedRecord]:
        """Give the records from an offset on: those that count, or all of them, control records too."""
        for batch, path, outcome in self.batches(start_offset):
            if only_committed and not outcome.counts:
                continue
            try:
                for record in batch.records(self.limit):
                    if record.offset >= start_offset:
                        yield PlacedRecord(record, batch.producer_id, batch.is_transactional, outcome)
            except Damaged as fault:
                self.note(path, batch, fault)

    def blocks(self, start_offset: int = 0) -> Iterator[tuple[Path, Block]]:
        """Give the good batches of all segments in order, in blocks with the file they lie in.

        Faults that end a segment too early are noted. A block's first batch is the first that ends at or above the
        offset.
        """
        self.errors = []
        self.next_offset = start_offset
        self._markers = None
        self._open_transactions = OpenTransactions()
        for number, segment in enumerate(self.segments):
            following = self.segments[number + 1 :]
            if following and following[0].base_offset <= start_offset:
                continue
            cursor = segment.batches()
            for read in cursor.blocks():
                if (block := self._unread(segment, read, start_offset)).ends:
                    self.next_offset = block.batch(-1).last_offset + 1
                    yield segment.path, block
            if error := cursor.error(last_segment=not following):
                self.errors.append(error)

    def outcome(self, batch: Batch) -> Outcome:
        """Say what becomes of a batch of the walk; asked in the order of the log.

        The markers are looked for once, ahead, when the first transactional batch turns up: a log without transactions
        is read once, one with them twice.
        """
        if not is_transactional_data(batch):
            return Outcome.CONTROL if batch.is_control else Outcome.PLAIN
        if self._markers is None:
            self._markers = self._markers_from(batch.base_offset)
        outcome = self._markers.outcome(batch)
        if outcome is Outcome.PENDING:
            self._open_transactions.add(batch)
        return outcome

    def note(self, path: Path, batch: Batch, fault: Damaged) -> None:
        """Note that a batch could not be decoded."""
        self.errors.append(fault.located(str(path), batch.position, batch.base_offset))

    def _unread(self, segment: Segment, block: Block, start_offset: int) -> Block:
        """Cut off what lies below the walk; note it if it was read before, from another segment."""
        for number in range(len(block.ends)):
            batch = block.batch(number)
            if batch.last_offset >= self.next_offset:
                return block._replace(starts=block.starts[number:], ends=block.ends[number:]) if number else block
            if batch.last_offset >= start_offset:
                detail = f"offset {batch.last_offset} was read before, in another segment"
                error = LogError(Fault.OFFSET_ORDER, str(segment.path), batch.position, batch.base_offset, detail)
                self.errors.append(error)
        return block._replace(starts=[], ends=[])

    def _markers_from(self, start_offset: int) -> Markers:
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
                    self.note(segment.path, batch, fault)
        return markers
