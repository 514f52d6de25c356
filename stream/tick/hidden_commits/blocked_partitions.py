"""Which offsets partitions are held back, since when and by whom. Owns the memory of the gaps, and the log lines.

A partition is held back when its last stable offset stands still below its high watermark for longer than a grace: a
transaction that ends in time moves it. The line is logged once when that begins and once when it ends.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import TYPE_CHECKING

import structlog

from exporters.timestamps import rfc3339
from stream.cluster.offsets_topic import NAME
from stream.tick.hidden_commits.model import BlockedOffsetsPartition

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from stream.tick.ends_index import EndsIndex
    from stream.tick.lookups.budget import LookupLimits
    from stream.tick.lookups.open_transactions import OpenTransactionLookup

_log = structlog.get_logger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class _Gap:
    stable: int
    since: int


class BlockedPartitions:
    """Used by the thread of the ticks alone."""

    def __init__(self, allowances: LookupLimits, culprits: OpenTransactionLookup) -> None:
        self._grace_ms = int(allowances.blocked_grace * 1000)
        self._culprits = culprits
        self._gaps: dict[int, _Gap] = {}
        self._told: dict[int, BlockedOffsetsPartition] = {}

    @property
    def held_back(self) -> tuple[BlockedOffsetsPartition, ...]:
        """What is held back as of the last look, by partition."""
        return tuple(held for _, held in sorted(self._told.items()))

    def look(self, ends: EndsIndex, now: int) -> Mapping[int, BlockedOffsetsPartition]:
        """Look at the ends as they were at `now` (ms); give the partitions that are held back."""
        self._measure(ends, now)
        held = {partition: gap.stable for partition, gap in self._gaps.items() if now - gap.since >= self._grace_ms}
        tables = self._culprits.update({(NAME, partition): stable for partition, stable in held.items()}, now)
        told = {partition: self._told_of(partition, tables.get(NAME)) for partition in held}
        self._say(told, now)
        self._told = told
        return told

    def _measure(self, ends: EndsIndex, now: int) -> None:
        """Note the gaps; of a partition whose ends are not known now nothing changes."""
        gaps = {}
        rows = ends.rows_of_topic(NAME)
        columns = (ends.partitions(rows), ends.last_stable_offset[rows], ends.high_watermark[rows])
        for partition, stable, high in zip(*(column.tolist() for column in columns), strict=True):
            before = self._gaps.get(partition)
            if stable < 0 or high < 0:
                if before is not None:
                    gaps[partition] = before
            elif stable < high:
                same = before is not None and before.stable == stable
                gaps[partition] = before if before is not None and same else _Gap(stable, now)
        self._gaps = gaps

    def _told_of(self, partition: int, table: pa.Table | None) -> BlockedOffsetsPartition:
        """Name the oldest transaction of a partition, if it is known."""
        since = self._gaps[partition].since
        rows = [] if table is None else [row for row in table.to_pylist() if row["partition"] == partition]
        row = next((row for row in rows if row["start_offset"] is not None), None)
        if row is None:
            return BlockedOffsetsPartition(partition, since)
        # Of one that hangs, what its coordinator tells may be about a later transaction of the same id.
        began = row["last_write_time"] if row["hanging"] else row["start_time"]
        if began is not None:
            since = min(since, int(began.replace(tzinfo=dt.UTC).timestamp() * 1000))
        return BlockedOffsetsPartition(partition, since, row["producer_id"], row["transactional_id"], row["hanging"])

    def _say(self, told: Mapping[int, BlockedOffsetsPartition], now: int) -> None:
        for partition in sorted(told.keys() - self._told.keys()):
            held = told[partition]
            _log.warning(
                "an open transaction holds back an offsets partition; its groups are asked for",
                offsets_partition=partition,
                since=rfc3339(held.since / 1000),
                producer_id=held.producer_id,
                transactional_id=held.transactional_id,
                hanging=held.hanging,
            )
        for partition in sorted(self._told.keys() - told.keys()):
            seconds = (now - self._told[partition].since) / 1000
            _log.info("an offsets partition is not held back any more", offsets_partition=partition, seconds=seconds)
