"""Detects offsets partitions that are blocked by an open transaction, since when and by which producer, and logs it.

A partition is blocked when its last stable offset has not moved for longer than a grace period while it is below the
high watermark; a transaction that ends in time moves it. One line is logged when that starts and one when it ends.
"""

import datetime as dt
from collections.abc import Mapping

import pyarrow as pa
import structlog

from exporters.timestamps import rfc3339
from stream.cluster.offsets_topic import NAME
from stream.groups.instances import EVERY_GROUP, InstancePart
from stream.tick.ends_index import EndsIndex
from stream.tick.hidden_commits.model import BlockedOffsetsPartition
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.open_transactions import OpenTransactionLookup
from stream.tick.offsets_topic_lag import StableGaps

_log = structlog.get_logger(__name__)


class BlockedPartitions:
    """Tracks the offsets partitions from tick to tick. Used by the tick thread only."""

    def __init__(
        self, limits: LookupLimits, transactions: OpenTransactionLookup, part: InstancePart = EVERY_GROUP
    ) -> None:
        """Track the partitions of this instance."""
        self._grace_ms = int(limits.blocked_grace * 1000)
        self._transactions = transactions
        self._stable_gaps = StableGaps(part)
        self._blocked: dict[int, BlockedOffsetsPartition] = {}

    @property
    def blocked(self) -> tuple[BlockedOffsetsPartition, ...]:
        """The partitions that were blocked at the last update, sorted."""
        return tuple(blocked for _, blocked in sorted(self._blocked.items()))

    def update(self, ends: EndsIndex, now: int) -> Mapping[int, BlockedOffsetsPartition]:
        """Return the blocked partitions by number; `ends` were read at `now` (ms)."""
        gaps = self._stable_gaps.update(ends, now)
        lasting = {partition: gap for partition, gap in gaps.items() if now - gap.since >= self._grace_ms}
        tables = self._transactions.update({(NAME, number): gap.last_stable for number, gap in lasting.items()}, now)
        blocked = {
            partition: _blocked_partition(partition, gap.since, tables.get(NAME)) for partition, gap in lasting.items()
        }
        self._log_changes(blocked, now)
        self._blocked = blocked
        return blocked

    def _log_changes(self, blocked: Mapping[int, BlockedOffsetsPartition], now: int) -> None:
        for partition in sorted(blocked.keys() - self._blocked.keys()):
            new = blocked[partition]
            _log.warning(
                "offsets partition blocked by an open transaction; reading the records that it hides",
                offsets_partition=partition,
                since=rfc3339(new.since / 1000),
                producer_id=new.producer_id,
                transactional_id=new.transactional_id,
                hanging=new.hanging,
            )
        for partition in sorted(self._blocked.keys() - blocked.keys()):
            seconds = (now - self._blocked[partition].since) / 1000
            _log.info("offsets partition unblocked", offsets_partition=partition, seconds=seconds)


def _blocked_partition(partition: int, since: int, table: pa.Table | None) -> BlockedOffsetsPartition:
    """Return a partition blocked since a time (ms), with its oldest open transaction, if that is known."""
    rows = [] if table is None else [row for row in table.to_pylist() if row["partition"] == partition]
    row = next((row for row in rows if row["start_offset"] is not None), None)
    if row is None:
        return BlockedOffsetsPartition(partition, since)
    # For a hanging transaction, the coordinator may describe a later transaction of the same transactional id.
    started = row["last_write_time"] if row["hanging"] else row["start_time"]
    if started is not None:
        since = min(since, int(started.replace(tzinfo=dt.UTC).timestamp() * 1000))
    return BlockedOffsetsPartition(partition, since, row["producer_id"], row["transactional_id"], row["hanging"])
