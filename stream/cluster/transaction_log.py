"""What `__transaction_state` itself tells of transactions: whom the admin API does not name.

The log of the transaction coordinators holds for every transactional id its producer, the partitions of its transaction
and since when it is open. To read it takes the right to read that topic alone, and no coordinator has to answer. So it
names a transaction where the leaders or the coordinators do not: without the right to read the topic or to describe
the transactional id, while a coordinator is away, and, as far as compaction has left its records, for a producer that
its coordinator has forgotten.

One reading goes from the start of the topic to its end, at several ticks if need be, and keeps only what is asked for.
Source: org.apache.kafka.coordinator.transaction.TransactionLog; KIP-98, KIP-890.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from decoders.cluster_events import TransactionalIdExpired, TransactionStateRecorded
from decoders.interpret import events
from decoders.records import Record
from decoders.scalar import decode_transaction
from stream.cluster.fetch_records import read_records, stretches
from stream.cluster.leaders import find_leaders
from stream.cluster.open_transactions import ENDS_BY_ITSELF
from stream.cluster.transport.error_codes import ErrorReason

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from decoders.events import Event
    from decoders.log.batch import LogRecord
    from stream.cluster.transport.client import Cluster

NAME: Final = "__transaction_state"


@dataclasses.dataclass(frozen=True, slots=True)
class OngoingTransactionsByProducer:
    """What a reading has found: the newest record of each transactional id that is open or was asked for."""

    asked: frozenset[int]
    """The producer ids that were asked for."""
    open: dict[str, TransactionStateRecorded]
    """By transactional id, those that were open at the end of the reading."""
    producers: dict[int, TransactionStateRecorded]
    """By producer id, of those that were asked for, the newest record that names it, if there is one."""
    undecoded: int
    """Records that cannot be read: whom nothing names may stand in one of them."""

    def on(self, topic: str, partition: int) -> list[TransactionStateRecorded]:
        """Give the open ones that write to this partition, the oldest first."""
        mine = [
            each
            for each in self.open.values()
            if any(name == topic and partition in numbers for name, numbers in each.partitions)
        ]
        return sorted(mine, key=lambda each: each.start_timestamp or each.last_update_timestamp)


def has_transactions(cluster: Cluster) -> bool:
    """Return False if no transaction has ever been made in the cluster: the topic of their coordinators is not there.

    True also where the brokers do not tell. Raises ClusterError when no broker answers at all.
    """
    return find_leaders(cluster, [NAME]).of(NAME, 0) is not ErrorReason.NOT_FOUND


class TransactionLogScan:
    """One reading of the whole topic as it is now, for these producers. Raises ClusterError, also in `go_on`."""

    def __init__(self, cluster: Cluster, producers: Collection[int]) -> None:
        self._asked = frozenset(producers)
        self._cluster = cluster
        self._left = [each for each in stretches(cluster, NAME, {}) if each.position < each.end]
        self._open: dict[str, TransactionStateRecorded] = {}
        self._named: dict[int, TransactionStateRecorded] = {}
        self._undecoded = 0

    def go_on(self, clock: Callable[[], float], deadline: float) -> OngoingTransactionsByProducer | None:
        """Read on, at least one answer, until the deadline; None while something is left for the next time."""
        for fetched in read_records(self._cluster, NAME, self._left):
            self._take(fetched.records)
            if clock() >= deadline:
                break
        self._left = [each for each in self._left if each.position < each.end]
        return (
            None if self._left else OngoingTransactionsByProducer(self._asked, self._open, self._named, self._undecoded)
        )

    def _take(self, records: Iterable[LogRecord]) -> None:
        for each in records:
            record = decode_transaction(each.key, each.value)
            if not isinstance(record, Record):
                self._undecoded += 1
                continue
            for said in events(record):
                self._note(said)

    def _note(self, said: Event) -> None:
        if isinstance(said, TransactionStateRecorded):
            if said.producer_id in self._asked:
                self._named[said.producer_id] = said
            if said.transaction_state in ENDS_BY_ITSELF:
                self._open[said.transactional_id] = said
            else:
                self._open.pop(said.transactional_id, None)
        elif isinstance(said, TransactionalIdExpired):
            self._open.pop(said.transactional_id, None)
