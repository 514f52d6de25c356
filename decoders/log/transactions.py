"""Which transactional batches count: pending until the marker, matched by producer id, in the order of their offsets.

The markers of a log are collected first, then every batch is asked about: its outcome is that of the first marker of
its producer behind it. Epochs play no part: since KIP-890 a marker's epoch is one above its data's, and after fencing
too. A producer has at most one open transaction, and a marker with nothing before it ends nothing.

Source: OffsetMetadataManager#replayEndTransactionMarker, ProducerStateManager; KIP-98, KIP-890.
"""

from __future__ import annotations

import bisect
import dataclasses
import enum
from typing import TYPE_CHECKING

from decoders.log.batch import RecordBatch
from decoders.log.control import EndMarker, end_marker

if TYPE_CHECKING:
    from decoders.log.frames import LogBatch


class BatchOutcome(enum.Enum):
    """What becomes of a batch's records."""

    PLAIN = "plain"
    """Not in a transaction: they count at once."""
    COMMITTED = "committed"
    ABORTED = "aborted"
    PENDING = "pending"
    """No marker so far."""
    CONTROL = "control"
    """Kafka's own records, nobody's data."""

    @property
    def is_visible(self) -> bool:
        """Whether a reader of committed data sees the records."""
        return self in {BatchOutcome.PLAIN, BatchOutcome.COMMITTED}


@dataclasses.dataclass(frozen=True, slots=True)
class OngoingTransaction:
    """A transaction without a marker: its producer, and what that has written here so far (offsets; time in ms)."""

    producer_id: int
    producer_epoch: int
    first_offset: int
    last_offset: int
    first_timestamp: int


def is_transactional_data(batch: LogBatch) -> bool:
    """Whether the batch's fate hangs on a marker."""
    return isinstance(batch, RecordBatch) and batch.is_transactional and not batch.is_control


def transaction_marker(batch: LogBatch) -> EndMarker | None:
    """Give the marker in a batch; None for other batches and for one that compaction has emptied. Raises Damaged."""
    if not (isinstance(batch, RecordBatch) and batch.is_control and batch.is_transactional):
        return None
    return next((marker for record in batch.records() if (marker := end_marker(record))), None)


class TransactionMarkers:
    """The ends of all transactions of one partition, by producer. They are added in the order of the log."""

    def __init__(self) -> None:
        self._offsets: dict[int, list[int]] = {}
        self._committed: dict[int, list[bool]] = {}

    def add(self, batch: LogBatch) -> None:
        """Note the marker in a batch, if it holds one. Raises Damaged."""
        marker = transaction_marker(batch)
        if marker is not None and isinstance(batch, RecordBatch):
            self._offsets.setdefault(batch.producer_id, []).append(batch.base_offset)
            self._committed.setdefault(batch.producer_id, []).append(marker.committed)

    def outcome(self, batch: LogBatch) -> BatchOutcome:
        """Say what becomes of a transactional batch of data, given the markers added so far."""
        offsets = self._offsets.get(batch.producer_id, [])
        at = bisect.bisect_right(offsets, batch.last_offset)
        if at == len(offsets):
            return BatchOutcome.PENDING
        return BatchOutcome.COMMITTED if self._committed[batch.producer_id][at] else BatchOutcome.ABORTED


class OngoingTransactions:
    """Folds pending batches into one `OngoingTransaction` per producer."""

    def __init__(self) -> None:
        self._open: dict[int, OngoingTransaction] = {}

    def add(self, batch: LogBatch) -> None:
        """Note a pending batch; they come in the order of the log."""
        if not isinstance(batch, RecordBatch):
            return
        known = self._open.get(batch.producer_id)
        first_offset = known.first_offset if known else batch.base_offset
        first_timestamp = known.first_timestamp if known else batch.base_timestamp
        self._open[batch.producer_id] = OngoingTransaction(
            batch.producer_id, batch.producer_epoch, first_offset, batch.last_offset, first_timestamp
        )

    def all(self) -> tuple[OngoingTransaction, ...]:
        """Give the open transactions, oldest first."""
        return tuple(sorted(self._open.values(), key=lambda open_one: open_one.first_offset))
