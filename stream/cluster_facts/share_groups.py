"""Reads the progress of share groups from `__share_group_state`, and compares it with the ends of their partitions.

Each poll reads what was written since the previous one. A cluster without the topic is not asked. Needs the right to
read the topic; without it the reason is returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from decoders.interpret import events
from decoders.records import Record
from decoders.scalar import decode_share_state
from exporters.cluster.model import SHARE_GROUPS, SHARE_GROUPS_FACT, SHARE_PARTITIONS
from stream.cluster.partition_offsets import read_ends
from stream.cluster.records.ranges import ReadTally, unread_ranges
from stream.cluster.records.read import read_records
from stream.cluster.transport.error_codes import ErrorReason, of_failure
from stream.cluster.transport.errors import ClusterError
from stream.cluster_facts.share_state import FinishedRecords, SharePartition, SharePartitionKey, ShareState
from stream.cluster_facts.tables import Unknown, rows_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from decoders.log.batch import LogRecord
    from stream.cluster.topology import Topology
    from stream.cluster.transport.client import Cluster

NAME: Final = "__share_group_state"
MOST_PARTITIONS: Final = 10_000
"""The maximum number of partitions of share groups that are shown, the first by group, topic and partition."""
_LIMIT_SECONDS: Final = 10.0
"""The time without progress after which a read fails."""


class ShareGroups:
    """Reads the topic from poll to poll; used by one thread."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._clear()

    def _clear(self) -> None:
        self._state = ShareState()
        # The last offset that was read, by partition.
        self._read: dict[int, int] = {}
        self._undecoded = 0
        self._counts = False

    def poll(self, topology: Topology, unknown: Unknown) -> tuple[pa.Table, pa.Table]:
        """Return the partitions (SHARE_PARTITIONS) and the groups (SHARE_GROUPS), and count what is unknown."""
        ids = topology.ids()
        if NAME not in ids:
            self._clear()
            return SHARE_PARTITIONS.empty_table(), SHARE_GROUPS.empty_table()
        try:
            self._read_new()
            partitions = self._named({topic_id: name for name, topic_id in ids.items()})
            ends = self._ends({topic for _, topic, _ in partitions})
        except ClusterError as error:
            unknown[SHARE_GROUPS_FACT, of_failure(error)] += 1
            return SHARE_PARTITIONS.empty_table(), SHARE_GROUPS.empty_table()
        unknown["share group record", ErrorReason.INVALID] += self._undecoded
        unknown["share group record", "not_kept"] += self._state.omitted
        unknown["share partition", "not_shown"] += len(partitions) - min(len(partitions), MOST_PARTITIONS)
        return self._tables(dict(sorted(partitions.items())), ends)

    def _named(self, names: Mapping[bytes, str]) -> dict[tuple[str, str, int], SharePartitionKey]:
        """Return the keys by group, topic and partition, without those of topics that no longer exist."""
        keys = self._state.partitions
        return {(key[0], names[key[1]], key[2]): key for key in keys if key[1] in names}

    def _read_new(self) -> None:
        ranges = unread_ranges(self._cluster, NAME, self._read)
        if any(each.end <= self._read.get(each.partition, -1) for each in ranges):
            # The topic was created again, or its log was truncated.
            self._clear()
            ranges = unread_ranges(self._cluster, NAME, {})
        tally = ReadTally()
        for fetched in read_records(self._cluster, NAME, ranges, limit=_LIMIT_SECONDS, tally=tally):
            for _, record in fetched.rows():
                self._add(record)
            self._read |= {partition: position - 1 for partition, position in fetched.positions.items()}
        self._undecoded += tally.faults.total()
        if not self._counts:
            self._state.restart_counts()
            self._counts = True

    def _add(self, record: LogRecord) -> None:
        decoded = decode_share_state(record.key, record.value)
        if not isinstance(decoded, Record):
            self._undecoded += 1
            return
        for event in events(decoded):
            self._state.add(event)

    def _ends(self, topics: set[str]) -> dict[tuple[str, int], int]:
        ends = read_ends(self._cluster, topics) if topics else None
        if ends is None:
            return {}
        known = ends.filter(pc.is_valid(ends["high_watermark"]))
        rows = (known[name].to_pylist() for name in ("topic", "partition", "high_watermark"))
        return {(topic, partition): end for topic, partition, end in zip(*rows, strict=True)}

    def _tables(
        self, partitions: Mapping[tuple[str, str, int], SharePartitionKey], ends: Mapping[tuple[str, int], int]
    ) -> tuple[pa.Table, pa.Table]:
        lags: dict[str, list[int | None]] = {}
        rows = []
        for (group, topic, partition), key in partitions.items():
            progress, end = self._state.partitions[key], ends.get((topic, partition))
            lags.setdefault(group, []).append(progress.lag(end))
            rows.append((group, topic, partition, end, *_values(progress, end, self._state.finished[key])))
        groups = [
            (group, None, None)
            if group in self._state.incomplete
            else (group, len(of_group), None if None in of_group else sum(each or 0 for each in of_group))
            for group, of_group in lags.items()
        ]
        return rows_table(rows[:MOST_PARTITIONS], SHARE_PARTITIONS), rows_table(groups, SHARE_GROUPS)


def _values(progress: SharePartition, end: int | None, finished: FinishedRecords) -> tuple[int | None, ...]:
    return (
        *(progress.start_offset, progress.lag(end), progress.finished, progress.returned, progress.most_deliveries),
        *(finished.acknowledged, finished.archived, finished.returns),
    )
