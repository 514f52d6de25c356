"""Who holds places back where leaders and coordinators do not tell: looked up in the log of the transactions.

Owns when that log is read, and what is put into the answers from it. Reading it is the last resort: it may be large, so
it goes on for a bounded time at each tick, and starts anew at most once in a while.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import structlog

from stream.cluster.open_transactions import ENDS_BY_ITSELF, OPEN_TRANSACTIONS
from stream.cluster.transaction_log import NAME, TransactionLogScan
from stream.cluster.transport.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from decoders.cluster_events import TransactionStateRecorded
    from stream.cluster.transaction_log import OngoingTransactionsByProducer
    from stream.cluster.transport.client import Cluster
    from stream.tick.lookups.budget import LookupLimits

_log = structlog.get_logger(__name__)
_SKEW_MS: Final = 10_000
"""By how much the clocks of brokers and ours may differ."""
_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001 -- as pyarrow gives timestamps without a zone


class TransactionLogLookup:
    """Reads `__transaction_state` when somebody is to be named. Used by the thread of the ticks alone."""

    def __init__(self, cluster: Cluster, allowances: LookupLimits, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._allowances = allowances
        self._clock = clock
        self._reading: TransactionLogScan | None = None
        self._begun = -1
        self._wait = 0
        self._found: OngoingTransactionsByProducer | None = None
        # Of all who ask: the next reading looks for what the running one was not asked for.
        self._wanted: set[int] = set()

    def look(self, producers: Collection[int], now: int) -> OngoingTransactionsByProducer | None:
        """Give what the log tells, at `now` (ms): of all open transactions, and of the producers it was `asked` for.

        Several may ask. Not more than one reading is begun in a while: producers that are new since wait for the next.
        None while the log is being read, and for a while after it could not be.
        """
        self._wanted |= set(producers)
        if self._reading is None and (self._begun < 0 or now - self._begun >= self._wait):
            self._begin(now)
        if self._reading is not None:
            self._go_on(self._reading)
        return self._found

    def _begin(self, now: int) -> None:
        self._begun, self._wait = now, int(self._allowances.again * 1000)
        producers, self._wanted, self._found = self._wanted, set(), None
        try:
            self._reading = TransactionLogScan(self._cluster, producers)
        except ClusterError as fault:
            self._give_up(fault)

    def _go_on(self, reading: TransactionLogScan) -> None:
        try:
            self._found = reading.go_on(self._clock, self._clock() + self._allowances.seconds)
        except ClusterError as fault:
            self._give_up(fault)
            return
        if self._found is not None:
            self._reading = None
            if self._found.undecoded:
                _log.warning("records of transactions cannot be read", topic=NAME, records=self._found.undecoded)

    def _give_up(self, fault: ClusterError) -> None:
        """Try again as usual what passes, and seldom where a right is missing. One line each time."""
        self._reading = None
        if not fault.passes:
            self._wait = int(self._allowances.seldom * 1000)
        _log.info("transactions cannot be looked up in their log", topic=NAME, reason=fault.what, advice=fault.advice)


def nameless(table: pa.Table) -> set[int]:
    """Give the producers of whom leaders or coordinators left something open, -1 for one that is not told at all."""
    return {-1 if row["producer_id"] is None else row["producer_id"] for row in table.to_pylist() if _lacks(row)}


def completed(
    table: pa.Table, topic: str, stable: int, asked_at: int, found: OngoingTransactionsByProducer
) -> pa.Table:
    """Give the rows of one place (schema OPEN_TRANSACTIONS) with what the log tells in addition.

    `stable` is where the place's last stable offset stands, `asked_at` (ms) when the leader was asked.
    """
    rows = []
    for row in table.to_pylist():
        if row["producer_id"] is None:
            rows.append(_oldest(row, topic, stable, asked_at, found))
        else:
            rows.append(_named(row, topic, asked_at, found) if _lacks(row) else row)
    return pa.Table.from_pylist(rows, schema=OPEN_TRANSACTIONS)


def _lacks(row: dict[str, Any]) -> bool:
    return row["producer_id"] is None or row["transactional_id"] is None or row["error"] is not None


def _named(row: dict[str, Any], topic: str, asked_at: int, found: OngoingTransactionsByProducer) -> dict[str, Any]:
    """Put a name to a producer that the leader told."""
    record = found.producers.get(row["producer_id"])
    if record is None:
        # Whoever writes to a partition in a transaction is in the log before: this one was never there, or compaction
        # has removed it after its transactional id had expired. Nobody is going to end it.
        return row if found.undecoded else row | {"hanging": True}
    mine = found.open.get(record.transactional_id)
    counted = mine is not None and mine.producer_id == row["producer_id"] and _covers(mine, topic, row["partition"])
    # What has ended since the leader was asked did not hang.
    hanging = False if counted else None if record.last_update_timestamp >= asked_at - _SKEW_MS else True
    return row | _told(record) | {"hanging": hanging}


def _oldest(
    row: dict[str, Any], topic: str, stable: int, asked_at: int, found: OngoingTransactionsByProducer
) -> dict[str, Any]:
    """Name the oldest transaction of a place whose leader does not tell: it is what the place stands at.

    One that began after the place was found to stand still does not hold it.
    """
    first = next(
        (each for each in found.on(topic, row["partition"]) if (each.start_timestamp or 0) <= asked_at + _SKEW_MS), None
    )
    if first is None:
        return row
    known = {"start_offset": stable, "producer_id": first.producer_id, "producer_epoch": first.producer_epoch}
    return row | known | _told(first) | {"hanging": False}


def _covers(record: TransactionStateRecorded, topic: str, partition: int) -> bool:
    return any(name == topic and partition in numbers for name, numbers in record.partitions)


def _told(record: TransactionStateRecorded) -> dict[str, Any]:
    open_, began = record.transaction_state in ENDS_BY_ITSELF, record.start_timestamp
    return {
        "transactional_id": record.transactional_id,
        "state": record.transaction_state,
        "start_time": None if not open_ or began is None else _EPOCH + dt.timedelta(milliseconds=began),
        "timeout_ms": record.timeout,
        "error": None,
    }
