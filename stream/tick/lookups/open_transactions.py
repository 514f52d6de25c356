"""Who holds places back: their open transactions, asked for seldom and a few at a time.

Owns the cache. What was told of a place holds as long as its last stable offset stands where it did.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stream.cluster.open_transactions import read_open_transactions
from stream.cluster.transport.errors import ClusterError
from stream.tick.lookups.transaction_log import completed, nameless

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stream.cluster.transport.client import Cluster
    from stream.health.features.window import Window
    from stream.tick.ends_index import EndsIndex
    from stream.tick.lookups.budget import LookupLimits
    from stream.tick.lookups.transaction_log import TransactionLogLookup

Place = tuple[str, int]
"""Topic and partition."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Told:
    at: int
    stable: int
    table: pa.Table
    nameless: frozenset[int]
    """The producers that the log is to name, -1 for one that is not told at all; empty where all is told."""


class OpenTransactionLookup:
    """Asks for the open transactions of places. Used by the thread of the ticks alone."""

    def __init__(
        self,
        cluster: Cluster,
        allowances: LookupLimits,
        clock: Callable[[], float],
        log: TransactionLogLookup | None = None,
    ) -> None:
        self._cluster = cluster
        self._log = log
        self._allowances = allowances
        self._clock = clock
        self._told: dict[Place, _Told] = {}

    def look(self, held: Mapping[Place, int], now: int) -> dict[str, pa.Table]:
        """Give what is known of these places by topic (schema OPEN_TRANSACTIONS), at `now` (ms).

        `held` gives where the last stable offset of each stands, the most urgent place first. What is not among them is
        forgotten.
        """
        self._told = {place: told for place, told in self._told.items() if held.get(place) == told.stable}
        deadline = self._clock() + self._allowances.seconds
        for number, (topic, partitions) in enumerate(self._due(held, now).items()):
            if number and self._clock() >= deadline:
                break
            try:
                table = read_open_transactions(self._cluster, topic, partitions)
            except ClusterError:
                break  # nobody answers; the next tick tries again
            for partition in partitions:
                mine = table.filter(pc.equal(table.column("partition"), partition))
                self._told[topic, partition] = _Told(now, held[topic, partition], mine, frozenset(nameless(mine)))
        self._look_up(now)
        return self._by_topic()

    def _look_up(self, now: int) -> None:
        """Name from the log of the transactions whom leaders and coordinators do not."""
        wanted = {place: told for place, told in self._told.items() if told.nameless}
        if self._log is None or not wanted:
            return
        found = self._log.look({producer for told in wanted.values() for producer in told.nameless} - {-1}, now)
        if found is None:
            return
        for (topic, partition), told in wanted.items():
            if told.nameless <= found.asked | {-1}:
                table = completed(told.table, topic, told.stable, told.at, found)
                self._told[topic, partition] = dataclasses.replace(told, table=table, nameless=frozenset())

    def _due(self, held: Mapping[Place, int], now: int) -> dict[str, list[int]]:
        """Choose what to ask now: what nobody has asked yet, then what waits longest."""
        again = int(self._allowances.again * 1000)
        waiting = [place for place in held if place not in self._told]
        waiting += sorted(
            (place for place, told in self._told.items() if now - told.at >= again), key=lambda at: self._told[at].at
        )
        chosen: dict[str, list[int]] = {}
        for topic, partition in waiting[: self._allowances.culprit_partitions]:
            if topic in chosen or len(chosen) < self._allowances.culprit_topics:
                chosen.setdefault(topic, []).append(partition)
        return chosen

    def _by_topic(self) -> dict[str, pa.Table]:
        tables: dict[str, list[pa.Table]] = {}
        for (topic, _), told in sorted(self._told.items()):
            tables.setdefault(topic, []).append(told.table)
        return {topic: pa.concat_tables(some) for topic, some in tables.items()}


def held_places(window: Window, grace_ms: int) -> dict[Place, int]:
    """Find the places that are held back for longer than a grace, and where their last stable offsets stand.

    First those where a group has read all that it may, then those that are held back longest.
    """
    stable = window.ends.last_stable
    rows = np.flatnonzero((window.stable_since >= 0) & (window.now - window.stable_since >= grace_ms) & (stable >= 0))
    waits = window.unread[rows] & (window.ends.stable_lag[rows] == 0)
    order = np.lexsort((window.stable_since[rows], ~waits))
    rows, seen = rows[order], window.inputs
    _, first = np.unique((seen.topic[rows] << 32) | seen.partition[rows], return_index=True)
    rows = rows[np.sort(first)]
    topic, partition, offset = (column[rows].tolist() for column in (seen.topic, seen.partition, stable))
    return {(seen.topics[number], p): held for number, p, held in zip(topic, partition, offset, strict=True)}


def still_held(held: Mapping[Place, int], ends: EndsIndex) -> dict[Place, int]:
    """Give those places whose last stable offset stands where it did, below the high watermark."""
    names, partitions = [topic for topic, _ in held], np.array([partition for _, partition in held], np.int64)
    rows = ends.rows(names, np.arange(len(held)), partitions).tolist()
    return {
        place: stable
        for (place, stable), row in zip(held.items(), rows, strict=True)
        if row >= 0 and ends.last_stable_offset[row] == stable < ends.high_watermark[row]
    }
