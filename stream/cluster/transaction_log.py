"""Open transactions from the log of the transaction coordinators, `__transaction_state`.

For each transactional id the log has its producer, the partitions of its transaction and the start time. Reading it
needs the right to read that topic alone, and no coordinator has to answer. It identifies a transaction if the leaders
or the coordinators do not: without the right to read the topic or to describe the transactional id, while a coordinator
is unreachable, and, if compaction has not removed its records, for a producer that its coordinator has removed.

One scan reads the topic from start to end, over several ticks if needed, and keeps only the requested producers.
Source: org.apache.kafka.coordinator.transaction.TransactionLog; KIP-98, KIP-890.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterable
from typing import Final

from decoders.cluster_events import TransactionalIdExpired, TransactionStateRecorded
from decoders.events import Event
from decoders.interpret import event_of
from decoders.interpret_groups import Record
from decoders.log.batch import LogRecord
from decoders.scalar import decode_transaction
from stream.cluster.open_transactions import ENDS_BY_ITSELF
from stream.cluster.partition_offsets import find_leaders
from stream.cluster.records.ranges import ReadTally, unread_ranges
from stream.cluster.records.read import read_records
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ErrorReason

NAME: Final = "__transaction_state"
_LIMIT_SECONDS: Final = 5.0
"""The time without progress after which a scan fails; it runs within a tick."""


@dataclasses.dataclass(frozen=True, slots=True)
class OngoingTransactionsByProducer:
    """The result of a scan: the newest record of each transactional id that is open or was requested."""

    asked: frozenset[int]
    """The requested producer ids."""
    open: dict[str, TransactionStateRecorded]
    """The transactions that were open at the end of the scan, by transactional id."""
    producers: dict[int, TransactionStateRecorded]
    """The newest record of each requested producer id that has one, by producer id."""
    undecoded: int
    """The number of records and batches that cannot be decoded; a producer without a record may be in one of them."""

    def on(self, topic: str, partition: int) -> list[TransactionStateRecorded]:
        """Return the open transactions that write to this partition, the oldest first."""
        found = [
            each
            for each in self.open.values()
            if any(name == topic and partition in numbers for name, numbers in each.partitions)
        ]
        return sorted(found, key=lambda each: each.start_timestamp or each.last_update_timestamp)


def has_transactions(cluster: Cluster) -> bool:
    """Return False if the cluster never had a transaction: the topic `__transaction_state` does not exist.

    True also if the brokers do not report it. Raises ClusterError when no broker answers at all.
    """
    return find_leaders(cluster, [NAME]).of(NAME, 0) is not ErrorReason.NOT_FOUND


class TransactionLogScan:
    """A scan of the whole topic up to its current end, for these producers. Raises ClusterError, also in `resume`."""

    def __init__(self, cluster: Cluster, producers: Collection[int]) -> None:
        self._asked = frozenset(producers)
        self._tally = ReadTally()
        self._ranges = unread_ranges(cluster, NAME, {})
        self._responses = read_records(cluster, NAME, self._ranges, limit=_LIMIT_SECONDS, tally=self._tally)
        self._open: dict[str, TransactionStateRecorded] = {}
        self._newest: dict[int, TransactionStateRecorded] = {}
        self._undecoded = 0

    def resume(self, clock: Callable[[], float], deadline: float) -> OngoingTransactionsByProducer | None:
        """Continue until the deadline, at least for one fetch; None while the scan is not complete."""
        for fetched in self._responses:
            self._add_records(record for _, record in fetched.rows())
            if clock() >= deadline and any(each.position < each.end for each in self._ranges):
                return None
        undecoded = self._undecoded + self._tally.faults.total()
        return OngoingTransactionsByProducer(self._asked, self._open, self._newest, undecoded)

    def _add_records(self, records: Iterable[LogRecord]) -> None:
        for each in records:
            record = decode_transaction(each.key, each.value)
            if isinstance(record, Record):
                self._add_event(event_of(record))
            else:
                self._undecoded += 1

    def _add_event(self, event: Event) -> None:
        if isinstance(event, TransactionStateRecorded):
            if event.producer_id in self._asked:
                self._newest[event.producer_id] = event
            if event.transaction_state in ENDS_BY_ITSELF:
                self._open[event.transactional_id] = event
            else:
                self._open.pop(event.transactional_id, None)
        elif isinstance(event, TransactionalIdExpired):
            self._open.pop(event.transactional_id, None)
