"""Looks up the open transactions that block a partition's last stable offset: a few partitions per tick.

Where leaders and coordinators do not answer, `__transaction_state` is read, for a bounded time per tick.
"""

import dataclasses
import datetime as dt
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import structlog

from decoders.events import TransactionStateRecorded
from stream.cluster.open_transactions import (
    ENDS_BY_ITSELF,
    LOG_NAME,
    OPEN_TRANSACTIONS,
    OngoingTransactionsByProducer,
    TransactionLogScan,
    read_open_transactions,
)
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError
from stream.health.features.window import Window
from stream.tick.ends_index import EndsIndex
from stream.tick.lookups.budget import LookupLimits

_log = structlog.get_logger(__name__)
_SKEW_MS: Final = 10_000
"""Accepted difference between the clocks of brokers and of this host."""
_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001 -- as pyarrow returns timestamps without a zone


class TransactionLogLookup:
    """Scans `__transaction_state` for the transactions of given producers. Used by the tick thread only."""

    def __init__(self, cluster: Cluster, limits: LookupLimits, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._limits = limits
        self._clock = clock
        self._scan: TransactionLogScan | None = None
        self._started = -1
        self._wait = 0
        self._found: OngoingTransactionsByProducer | None = None
        # Requested by all callers; those that the running scan does not look for are left for the next scan.
        self._requested: set[int] = set()

    def update(self, producers: Collection[int], now: int) -> OngoingTransactionsByProducer | None:
        """Return the open transactions in the log and those of the requested producers, at `now` (ms).

        Several callers share one scan; producers that are requested while it runs wait for the next one. None while
        the log is being read, and for a while after a scan failed.
        """
        self._requested |= set(producers)
        if self._scan is None and (self._started < 0 or now - self._started >= self._wait):
            self._start(now)
        if self._scan is not None:
            self._continue(self._scan)
        return self._found

    def _start(self, now: int) -> None:
        self._started, self._wait = now, int(self._limits.refresh * 1000)
        producers, self._requested, self._found = self._requested, set(), None
        try:
            self._scan = TransactionLogScan(self._cluster, producers)
        except ClusterError as error:
            self._give_up(error)

    def _continue(self, scan: TransactionLogScan) -> None:
        try:
            self._found = scan.resume(self._clock, self._clock() + self._limits.request_seconds)
        except ClusterError as error:
            self._give_up(error)
            return
        if self._found is not None:
            self._scan = None
            if self._found.undecoded:
                _log.warning("transaction records not decoded", topic=LOG_NAME, records=self._found.undecoded)

    def _give_up(self, error: ClusterError) -> None:
        """End the scan. The next one starts after the usual time for a transient error, else much later."""
        self._scan = None
        if not error.passes:
            self._wait = int(self._limits.slow_refresh * 1000)
        _log.info("transaction log lookup failed", topic=LOG_NAME, reason=error.what, advice=error.advice)


def completed(
    table: pa.Table, topic: str, last_stable: int, requested_at: int, found: OngoingTransactionsByProducer
) -> pa.Table:
    """Return the rows of one partition (schema OPEN_TRANSACTIONS), completed from the transaction log.

    `last_stable` is the last stable offset of the partition, `requested_at` (ms) the time of the request to its leader.
    """
    rows = []
    for row in table.to_pylist():
        if row["producer_id"] is None:
            rows.append(_with_oldest(row, topic, last_stable, requested_at, found))
        else:
            rows.append(_with_producer(row, topic, requested_at, found) if _is_incomplete(row) else row)
    return pa.Table.from_pylist(rows, schema=OPEN_TRANSACTIONS)


def _is_incomplete(row: dict[str, Any]) -> bool:
    return row["producer_id"] is None or row["transactional_id"] is None or row["error"] is not None


def _with_producer(
    row: dict[str, Any], topic: str, requested_at: int, found: OngoingTransactionsByProducer
) -> dict[str, Any]:
    """Return a row with a known producer, completed with the transaction of that producer."""
    record = found.producers.get(row["producer_id"])
    if record is None:
        # The log names every producer that writes to a partition in a transaction before it writes. This one was never
        # in the log, or compaction removed it after its transactional id expired: the transaction hangs.
        return row if found.undecoded else row | {"hanging": True}
    transaction, counted = (record.transactional_id, row["producer_id"]), found.on(topic, row["partition"])
    is_counted = any((each.transactional_id, each.producer_id) == transaction for each in counted)
    # A transaction that ended after the request to the leader did not hang.
    hanging = False if is_counted else None if record.last_update_timestamp >= requested_at - _SKEW_MS else True
    return row | _coordinator_columns(record) | {"hanging": hanging}


def _with_oldest(
    row: dict[str, Any], topic: str, last_stable: int, requested_at: int, found: OngoingTransactionsByProducer
) -> dict[str, Any]:
    """Return a row without a producer, completed with the oldest open transaction of its partition.

    The last stable offset is the start of that transaction. One that started after the partition was seen to be
    blocked cannot block it.
    """
    latest = requested_at + _SKEW_MS
    oldest = next((each for each in found.on(topic, row["partition"]) if (each.start_timestamp or 0) <= latest), None)
    if oldest is None:
        return row
    producer = {"producer_id": oldest.producer_id, "producer_epoch": oldest.producer_epoch}
    return row | producer | _coordinator_columns(oldest) | {"start_offset": last_stable, "hanging": False}


def _coordinator_columns(record: TransactionStateRecorded) -> dict[str, Any]:
    """Return the columns that a coordinator answers, from its log."""
    is_open, started = record.transaction_state in ENDS_BY_ITSELF, record.start_timestamp
    return {
        "transactional_id": record.transactional_id,
        "state": record.transaction_state,
        "start_time": None if not is_open or started is None else _EPOCH + dt.timedelta(milliseconds=started),
        "timeout_ms": record.timeout,
        "error": None,
    }


TopicPartition = tuple[str, int]
"""Topic and partition."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Result:
    """The open transactions of one partition."""

    requested_at: int
    last_stable: int
    table: pa.Table
    incomplete: frozenset[int]
    """Producers to complete from the transaction log, -1 for one without a producer id."""


class OpenTransactionLookup:
    """Requests and caches the open transactions of blocked partitions. Used by the tick thread only."""

    def __init__(
        self,
        cluster: Cluster,
        limits: LookupLimits,
        clock: Callable[[], float],
        log: TransactionLogLookup | None = None,
    ) -> None:
        self._cluster = cluster
        self._log = log
        self._limits = limits
        self._clock = clock
        self._results: dict[TopicPartition, _Result] = {}

    def update(self, blocked: Mapping[TopicPartition, int], now: int) -> dict[str, pa.Table]:
        """Return the known open transactions by topic (schema OPEN_TRANSACTIONS) at `now` (ms).

        `blocked` has the last stable offset of each partition, most urgent first. Other partitions are dropped from
        the cache.
        """
        self._results = {
            partition: result
            for partition, result in self._results.items()
            if blocked.get(partition) == result.last_stable
        }
        deadline = self._clock() + self._limits.request_seconds
        for number, (topic, partitions) in enumerate(self._due(blocked, now).items()):
            if number and self._clock() >= deadline:
                break
            try:
                table = read_open_transactions(self._cluster, topic, partitions)
            except ClusterError:
                break  # no broker answers; the next tick tries again
            for partition in partitions:
                rows = table.filter(pc.equal(table.column("partition"), partition))
                producers = [row["producer_id"] for row in rows.to_pylist() if _is_incomplete(row)]
                incomplete = frozenset(-1 if producer is None else producer for producer in producers)
                self._results[topic, partition] = _Result(now, blocked[topic, partition], rows, incomplete)
        self._complete(now)
        return self._by_topic()

    def _complete(self, now: int) -> None:
        """Add from the transaction log what leaders and coordinators did not answer."""
        incomplete = {partition: result for partition, result in self._results.items() if result.incomplete}
        if self._log is None or not incomplete:
            return
        found = self._log.update(
            {producer for result in incomplete.values() for producer in result.incomplete} - {-1}, now
        )
        if found is None:
            return
        for (topic, partition), result in incomplete.items():
            if result.incomplete <= found.asked | {-1}:
                table = completed(result.table, topic, result.last_stable, result.requested_at, found)
                self._results[topic, partition] = dataclasses.replace(result, table=table, incomplete=frozenset())

    def _due(self, blocked: Mapping[TopicPartition, int], now: int) -> dict[str, list[int]]:
        """Return the partitions to request now by topic: those without a result first, then the oldest results."""
        refresh = int(self._limits.refresh * 1000)
        due = [partition for partition in blocked if partition not in self._results]
        due += sorted(
            (partition for partition, result in self._results.items() if now - result.requested_at >= refresh),
            key=lambda partition: self._results[partition].requested_at,
        )
        chosen: dict[str, list[int]] = {}
        for topic, partition in due[: self._limits.transaction_partitions]:
            if topic in chosen or len(chosen) < self._limits.transaction_topics:
                chosen.setdefault(topic, []).append(partition)
        return chosen

    def _by_topic(self) -> dict[str, pa.Table]:
        tables: dict[str, list[pa.Table]] = {}
        for (topic, _), result in sorted(self._results.items()):
            tables.setdefault(topic, []).append(result.table)
        return {topic: pa.concat_tables(some) for topic, some in tables.items()}


def blocked_partitions(window: Window, grace_ms: int) -> dict[TopicPartition, int]:
    """Return the last stable offsets of partitions that have been blocked for at least `grace_ms`.

    Partitions where a group has read up to the last stable offset come first, then the longest blocked ones.
    """
    stable = window.ends.last_stable
    rows = np.flatnonzero((window.stable_since >= 0) & (window.now - window.stable_since >= grace_ms) & (stable >= 0))
    has_waiting_group = window.unread[rows] & (window.ends.stable_lag[rows] == 0)
    order = np.lexsort((window.stable_since[rows], ~has_waiting_group))
    rows, inputs = rows[order], window.inputs
    _, first = np.unique((inputs.topic[rows] << 32) | inputs.partition[rows], return_index=True)
    rows = rows[np.sort(first)]
    topics, partitions, offsets = (column[rows].tolist() for column in (inputs.topic, inputs.partition, stable))
    return {
        (inputs.topics[topic], partition): offset
        for topic, partition, offset in zip(topics, partitions, offsets, strict=True)
    }


def still_blocked(blocked: Mapping[TopicPartition, int], ends: EndsIndex) -> dict[TopicPartition, int]:
    """Return the partitions whose last stable offset is unchanged and below the high watermark."""
    topics, partitions = [topic for topic, _ in blocked], np.array([partition for _, partition in blocked], np.int64)
    rows = ends.rows(topics, np.arange(len(blocked)), partitions).tolist()
    return {
        partition: stable
        for (partition, stable), row in zip(blocked.items(), rows, strict=True)
        if row >= 0 and ends.last_stable_offset[row] == stable < ends.high_watermark[row]
    }
