"""The open transactions of partitions, with their producers and start times.

The last stable offset of a partition stays at the first record of its oldest open transaction. The lookup has three
steps (KIP-664): the partition's leader lists the producers with an open transaction, the transaction coordinators list
the transactional ids of those producers, and then they describe each transaction. Errors are values; the results of the
steps before an error are kept.

A transaction *hangs* if its coordinator does not have the partition among those it will end: it stays open until an
operator ends it (`kafka-transactions abort`).

The log of the transaction coordinators, `__transaction_state`, has for each transactional id its producer, the
partitions of its transaction and the start time. Reading it needs the right to read that topic alone, and no
coordinator has to answer. It identifies a transaction if the leaders or the coordinators do not: without the right to
read the topic or to describe the transactional id, while a coordinator is unreachable, and, if compaction has not
removed its records, for a producer that its coordinator has removed.

One scan reads the topic from start to end, over several ticks if needed, and keeps only the requested producers.
Source: org.apache.kafka.coordinator.transaction.TransactionLog; KIP-98, KIP-890.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from decoders.events import RecordEvent, Removed, TransactionStateRecorded
from decoders.interpret import event_of
from decoders.scalar import decode_transaction
from decoders.schema import Record
from stream.cluster.partition_offsets import NAME, find_leaders
from stream.cluster.records.ranges import ReadTally, unread_ranges
from stream.cluster.records.read import read_records
from stream.cluster.transport import errors as reasons
from stream.cluster.transport import requests
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError, ErrorReason

MOMENT: Final = pa.timestamp("ms")

OPEN_TRANSACTIONS: Final = pa.schema(
    [
        ("partition", pa.int32()),
        # The offset of its first record in this partition. Null in the one row of a partition with an error.
        ("start_offset", pa.int64()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int32()),
        # The time of the producer's last write to this partition.
        ("last_write_time", MOMENT),
        # This and the following columns are from its coordinator; null if no coordinator lists the producer.
        ("coordinator", pa.int32()),
        ("transactional_id", pa.string()),
        # Kafka's names: Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort, Empty.
        ("state", NAME),
        ("start_time", MOMENT),
        ("timeout_ms", pa.int64()),
        # True if no coordinator will end it; null if unknown.
        ("hanging", pa.bool_()),
        # An ErrorReason if something is unknown, else null. NOT_FOUND: no coordinator lists the producer: either the
        # transaction hangs, or the user may not describe its transactional id; the answers are the same. The
        # transaction log distinguishes them (`stream.tick.lookups.open_transactions`).
        ("error", NAME),
    ]
)
"""One row per open transaction of a partition, sorted by partition and start; the first limits the stable offset."""

ENDS_BY_ITSELF: Final = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"})
"""The states in which a transaction is open and its coordinator will end it."""


@dataclasses.dataclass(slots=True)
class _Open:
    """A row in progress; the fields are the columns."""

    partition: int
    start_offset: int | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    last_write_time: int | None = None
    coordinator: int | None = None
    transactional_id: str | None = None
    state: str | None = None
    start_time: int | None = None
    timeout_ms: int | None = None
    hanging: bool | None = None
    error: ErrorReason | None = None


def read_open_transactions(cluster: Cluster, topic: str, partitions: Collection[int]) -> pa.Table:
    """Return the open transactions on these partitions of a topic (OPEN_TRANSACTIONS); no row for a partition without.

    Needs the right to read the topic, and to describe the transactional ids. Raises ClusterError only when no broker
    answers at all.
    """
    rows = _open(cluster, topic, sorted(set(partitions)))
    _identify(cluster, rows)
    _describe(cluster, rows, topic)
    if any(row.hanging for row in rows):
        rows = _confirm(rows, _open(cluster, topic, sorted({row.partition for row in rows if row.hanging})))
    rows.sort(key=lambda row: (row.partition, -1 if row.start_offset is None else row.start_offset))
    return pa.Table.from_pylist([dataclasses.asdict(row) for row in rows], schema=OPEN_TRANSACTIONS)


def _open(cluster: Cluster, topic: str, partitions: Sequence[int]) -> list[_Open]:
    """Return a row for each producer with an open transaction, from the partitions' leaders."""
    leaders = find_leaders(cluster, [topic])
    led: dict[int, list[int]] = {}
    rows = []
    for partition in partitions:
        leader = leaders.of(topic, partition)
        if isinstance(leader, ErrorReason):
            rows.append(_Open(partition, error=leader))
        else:
            led.setdefault(leader[0], []).append(partition)
    answers = cluster.call_all([(node, requests.describe_producers(topic, some)) for node, some in led.items()])
    for some, answer in zip(led.values(), answers, strict=True):
        rows += _producers(some, answer)
    return rows


def _producers(partitions: Sequence[int], answer: Any) -> Iterator[_Open]:
    if isinstance(answer, ClusterError):
        yield from (_Open(partition, error=reasons.of_failure(answer)) for partition in partitions)
        return
    described = {p.partition_index: p for topic in answer.topics for p in topic.partitions}
    for partition in partitions:
        p = described.get(partition)
        error = ErrorReason.OTHER if p is None else reasons.of_code(p.error_code)
        if p is None or error is not None:
            yield _Open(partition, error=error)
            continue
        for each in p.active_producers:
            if each.current_txn_start_offset >= 0:
                written = each.last_timestamp if each.last_timestamp >= 0 else None
                yield _Open(partition, each.current_txn_start_offset, each.producer_id, each.producer_epoch, written)


def _identify(cluster: Cluster, rows: Sequence[_Open]) -> None:
    """Set the coordinator and the transactional id of each producer."""
    producers = sorted({row.producer_id for row in rows if row.producer_id is not None})
    if not producers:
        return
    nodes = [broker.node for broker in cluster.brokers]
    answers = cluster.call_all([(node, requests.list_transactions(producers)) for node in nodes])
    owner: dict[int, tuple[int, str]] = {}
    failed = ErrorReason.NOT_FOUND
    for node, answer in zip(nodes, answers, strict=True):
        error = reasons.of_failure(answer) if isinstance(answer, ClusterError) else reasons.of_code(answer.error_code)
        if error is not None:
            failed = error
        else:
            owner |= {each.producer_id: (node, each.transactional_id) for each in answer.transaction_states}
    for row in rows:
        if row.producer_id in owner:
            row.coordinator, row.transactional_id = owner[row.producer_id]
        elif row.producer_id is not None:
            row.error = failed


def _describe(cluster: Cluster, rows: Sequence[_Open], topic: str) -> None:
    """Set the state, the start time and the time-out of each transaction, as its coordinator describes it."""
    of_node: dict[int, list[str]] = {}
    for row in rows:
        if row.coordinator is not None and row.transactional_id is not None:
            of_node.setdefault(row.coordinator, []).append(row.transactional_id)
    calls = [(node, requests.describe_transactions(sorted(set(names)))) for node, names in of_node.items()]
    described: dict[str, Any] = {}
    for names, answer in zip(of_node.values(), cluster.call_all(calls), strict=True):
        if isinstance(answer, ClusterError):
            described |= dict.fromkeys(names, reasons.of_failure(answer))
        else:
            described |= {each.transactional_id: each for each in answer.transaction_states}
    for row in rows:
        if row.transactional_id is not None:
            _set_description(row, described.get(row.transactional_id, ErrorReason.OTHER), topic)


def _set_description(row: _Open, described: Any, topic: str) -> None:
    row.error = described if isinstance(described, ErrorReason) else reasons.of_code(described.error_code)
    if row.error is not None:
        return
    row.state = described.transaction_state
    row.start_time = described.transaction_start_time_ms if described.transaction_start_time_ms >= 0 else None
    row.timeout_ms = described.transaction_timeout_ms
    covered = any(row.partition in each.partitions for each in described.topics if each.topic == topic)
    # The transactional id may have another producer id by now, with a transaction of its own.
    same = described.producer_id == row.producer_id
    row.hanging = not (same and covered and row.state in ENDS_BY_ITSELF)


def _confirm(rows: Sequence[_Open], again: Sequence[_Open]) -> list[_Open]:
    """Remove transactions that ended between the requests to the leader and to the coordinator: they do not hang."""
    still = {(row.partition, row.producer_id, row.start_offset) for row in again}
    unknown = {row.partition for row in again if row.error is not None}
    for row in rows:
        if row.hanging and row.partition in unknown:
            row.hanging = None
    return [row for row in rows if not row.hanging or (row.partition, row.producer_id, row.start_offset) in still]


LOG_NAME: Final = "__transaction_state"
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
    return find_leaders(cluster, [LOG_NAME]).of(LOG_NAME, 0) is not ErrorReason.NOT_FOUND


class TransactionLogScan:
    """A scan of the whole topic up to its current end, for these producers. Raises ClusterError, also in `resume`."""

    def __init__(self, cluster: Cluster, producers: Collection[int]) -> None:
        self._asked = frozenset(producers)
        self._tally = ReadTally()
        self._ranges = unread_ranges(cluster, LOG_NAME, {})
        self._responses = read_records(cluster, LOG_NAME, self._ranges, limit=_LIMIT_SECONDS, tally=self._tally)
        self._open: dict[str, TransactionStateRecorded] = {}
        self._newest: dict[int, TransactionStateRecorded] = {}
        self._undecoded = 0

    def resume(self, clock: Callable[[], float], deadline: float) -> OngoingTransactionsByProducer | None:
        """Continue until the deadline, at least for one fetch; None while the scan is not complete."""
        for fetched in self._responses:
            for _, each in fetched.rows():
                record = decode_transaction(each.key, each.value)
                if isinstance(record, Record):
                    self._add_event(event_of(record))
                else:
                    self._undecoded += 1
            if clock() >= deadline and any(each.position < each.end for each in self._ranges):
                return None
        undecoded = self._undecoded + self._tally.faults.total()
        return OngoingTransactionsByProducer(self._asked, self._open, self._newest, undecoded)

    def _add_event(self, event: RecordEvent) -> None:
        if isinstance(event, TransactionStateRecorded):
            if event.producer_id in self._asked:
                self._newest[event.producer_id] = event
            if event.transaction_state in ENDS_BY_ITSELF:
                self._open[event.transactional_id] = event
            else:
                self._open.pop(event.transactional_id, None)
        elif isinstance(event, Removed):
            self._open.pop(event.key["transactional_id"], None)
