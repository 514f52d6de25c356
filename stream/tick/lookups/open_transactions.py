"""Looks up the open transactions that block a partition's last stable offset: a few partitions per tick.

The result for a partition is cached until its last stable offset moves, and refreshed after a while.
"""

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stream.cluster.open_transactions import read_open_transactions
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError
from stream.health.features.window import Window
from stream.tick.ends_index import EndsIndex
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.transaction_log import TransactionLogLookup, completed, incomplete_producers

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
                incomplete = frozenset(incomplete_producers(rows))
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
