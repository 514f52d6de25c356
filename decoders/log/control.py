"""Control records: the markers that end transactions. Those of KRaft are not decoded.

Key: int16 version, int16 type. As in Kafka, newer versions are read as the last known one, and newer types are UNKNOWN
and not an error.

Source: org.apache.kafka.common.record.internal.ControlRecordType and EndTransactionMarker; the schema EndTxnMarker.

Outcomes of transactional batches, matched with markers by producer id in offset order.

The markers of a log are collected first. The outcome of a batch is that of the first later marker of its producer; a
batch is pending if there is none. Epochs are not compared: since KIP-890, and after fencing, the epoch of a marker is
one above that of its data. A producer has at most one open transaction, and a marker without data before it has no
effect.

Source: OffsetMetadataManager#replayEndTransactionMarker, ProducerStateManager; KIP-98, KIP-890.
"""

import bisect
import dataclasses
import enum
import struct
from typing import Final

from decoders.log.batch import LogRecord, RecordBatch
from decoders.log.errors import Damaged, LogFault
from decoders.log.files import LogBatch

_KEY: Final = struct.Struct(">hh")
_MARKER: Final = struct.Struct(">hi")


class ControlType(enum.IntEnum):
    """The types of control records, named as in Kafka's ControlRecordType."""

    ABORT = 0
    COMMIT = 1
    UNKNOWN = -1
    """Of KRaft, or newer."""


@dataclasses.dataclass(frozen=True, slots=True)
class EndMarker:
    """The end of a producer's transaction in this partition; the batch has the producer id."""

    committed: bool
    coordinator_epoch: int


def control_type(key: bytes | None) -> tuple[ControlType, int]:
    """Decode the key of a control record to the type and its number, which also identifies UNKNOWN types.

    Raises Damaged for keys of other records.
    """
    if key is None or len(key) < _KEY.size:
        raise Damaged(LogFault.BAD_CONTROL, "the key of a control record is missing or truncated")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise Damaged(LogFault.BAD_CONTROL, f"the version of a control key is {version}")
    return (ControlType(number) if 0 <= number <= ControlType.COMMIT else ControlType.UNKNOWN), number


def end_marker(record: LogRecord) -> EndMarker | None:
    """Decode a transaction marker; None for other control records. Raises Damaged."""
    kind, _ = control_type(record.key)
    if kind not in {ControlType.ABORT, ControlType.COMMIT}:
        return None
    if record.value is None or len(record.value) < _MARKER.size:
        raise Damaged(LogFault.BAD_CONTROL, "the value of a transaction marker is missing or truncated")
    version, epoch = _MARKER.unpack_from(record.value)
    if version < 0:
        raise Damaged(LogFault.BAD_CONTROL, f"the version of a transaction marker is {version}")
    return EndMarker(kind is ControlType.COMMIT, epoch)


class BatchOutcome(enum.Enum):
    """The visibility of the records of a batch for read_committed consumers, with its reason."""

    PLAIN = "plain"
    """Not in a transaction: visible immediately."""
    COMMITTED = "committed"
    ABORTED = "aborted"
    PENDING = "pending"
    """In a transaction without a marker yet."""
    CONTROL = "control"
    """Control records, which are not data."""

    @property
    def is_visible(self) -> bool:
        """True if read_committed consumers see the records."""
        return self in {BatchOutcome.PLAIN, BatchOutcome.COMMITTED}


def is_transactional_data(batch: LogBatch) -> bool:
    """Return whether the outcome of the batch depends on a marker."""
    return isinstance(batch, RecordBatch) and batch.is_transactional and not batch.is_control


def transaction_marker(batch: LogBatch) -> EndMarker | None:
    """Return the marker in a batch; None for other batches and for batches emptied by compaction. Raises Damaged."""
    if not (isinstance(batch, RecordBatch) and batch.is_control and batch.is_transactional):
        return None
    return next((marker for record in batch.records() if (marker := end_marker(record))), None)


class TransactionMarkers:
    """The end markers of all transactions of a partition, by producer. They must be added in the order of the log."""

    def __init__(self) -> None:
        self._markers: dict[int, list[tuple[int, bool]]] = {}

    def add(self, batch: LogBatch) -> None:
        """Add the marker in a batch, if it has one. Raises Damaged."""
        marker = transaction_marker(batch)
        if marker is not None and isinstance(batch, RecordBatch):
            self._markers.setdefault(batch.producer_id, []).append((batch.base_offset, marker.committed))

    def outcome(self, batch: LogBatch) -> BatchOutcome:
        """Return the outcome of a transactional data batch, based on the markers added so far."""
        return self.outcome_after(batch.producer_id, batch.last_offset)

    def outcome_after(self, producer_id: int, offset: int) -> BatchOutcome:
        """Return the outcome of a producer's data that ends at this offset, based on the markers added so far."""
        markers = self._markers.get(producer_id, [])
        at = bisect.bisect_right(markers, (offset, True))
        if at == len(markers):
            return BatchOutcome.PENDING
        return BatchOutcome.COMMITTED if markers[at][1] else BatchOutcome.ABORTED
