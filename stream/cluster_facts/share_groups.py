"""Reads the progress of share groups from `__share_group_state`, and compares it with the ends of their partitions.

Each poll reads what was written since the previous one. A cluster without the topic is not asked. Needs the right to
read the topic; without it the reason is returned. If a read fails, the numbers of the last successful one are returned
with their time, until they are too old. Of several instances, each keeps the groups that it owns; the topic has no
partitions by group, so each reads all of it.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa

from decoders.events import Removed, SharePartitionStateRecorded
from decoders.interpret import event_of
from decoders.log.batch import LogRecord
from decoders.scalar import decode_share_state
from decoders.schema import Record
from exporters.catalogue import topics
from exporters.cluster.model import SHARE_GROUPS_FACT, SHARE_READ_FACT, ClusterFacts
from exporters.readmodel import rows_table
from stream.cluster.offsets_topic import NAME as OFFSETS_TOPIC
from stream.cluster.partition_offsets import is_cut, read_epoch_ends, read_high_watermarks
from stream.cluster.records.ranges import OffsetRange, ReadTally, unread_ranges
from stream.cluster.records.read import read_records
from stream.cluster.topology import Topology
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError, ErrorReason, Unreachable, of_failure
from stream.cluster_facts.share_state import SharePartitionKey, ShareState
from stream.cluster_facts.tables import Unknown
from stream.groups.placement import EVERY_GROUP, InstancePart, partition_for

NAME: Final = "__share_group_state"
MOST_PARTITIONS: Final = 10_000
"""The maximum number of partitions of share groups that are shown, the first by group, topic and partition."""
_LIMIT_SECONDS: Final = 10.0
"""The time without progress after which a read fails."""


_OF_A_GROUP: Final = (SharePartitionStateRecorded, Removed)


class ShareGroups:
    """Reads the topic from poll to poll; used by one thread."""

    def __init__(self, cluster: Cluster, part: InstancePart = EVERY_GROUP, *, kept_seconds: float = 0.0) -> None:
        """Keep the groups of this instance. After a failed read, the last numbers are shown for `kept_seconds`."""
        self._cluster = cluster
        self._part = part
        self._kept_seconds = kept_seconds
        self._offsets_partitions = 0
        self._last = ClusterFacts(taken_at=0.0)
        self._clear()

    def _clear(self) -> None:
        self._state = ShareState()
        # The last offset that was read, by partition.
        self._read: dict[int, int] = {}
        self._epochs: dict[int, int] = {}
        self._undecoded = 0
        self._counts = False
        self._owned: dict[str, bool] = {}

    def poll(self, topology: Topology, unknown: Unknown, now: float) -> ClusterFacts:
        """Return facts with the progress alone, as of `now` (Unix s) or, after a failure, as it was.

        Counts what is unknown.
        """
        try:
            self._last = self._progress(topology, unknown, now)
        except ClusterError as error:
            read_time = self._last.share_read_time
            is_kept = read_time is not None and now - read_time / 1000 <= self._kept_seconds
            unknown[SHARE_READ_FACT if is_kept else SHARE_GROUPS_FACT, of_failure(error)] += 1
            return self._last if is_kept else ClusterFacts(taken_at=now)
        return self._last

    def _progress(self, topology: Topology, unknown: Unknown, now: float) -> ClusterFacts:
        ids = topology.ids()
        if NAME not in ids:
            self._clear()
            return ClusterFacts(taken_at=now)
        offsets_partitions = 0 if self._part.is_whole else topology.partitions_of(OFFSETS_TOPIC)
        if offsets_partitions != self._offsets_partitions:  # groups belong to other instances than before
            self._clear()
            self._offsets_partitions = offsets_partitions
        self._read_new()
        names = {topic_id: name for name, topic_id in ids.items()}
        kept = {(key[0], names[key[1]], key[2]): key for key in self._state.partitions if key[1] in names}
        partitions = dict(sorted(kept.items()))
        ends = read_high_watermarks(self._cluster, {topic for _, topic, _ in partitions})
        unknown["share group record", ErrorReason.INVALID] += self._undecoded
        unknown["share group record", "not_kept"] += self._state.omitted
        unknown["share partition", "not_shown"] += max(len(partitions) - MOST_PARTITIONS, 0)
        reads = rows_table([(int(now * 1000),)], topics.SHARE_READS.schema)
        of_partitions, of_groups = self._tables(partitions, ends)
        return ClusterFacts(taken_at=now, share_partitions=of_partitions, share_groups=of_groups, share_reads=reads)

    def _owns(self, group: str) -> bool:
        if self._part.is_whole:
            return True
        owned = self._owned.get(group)
        if owned is None:
            partitions = self._offsets_partitions
            owned = partitions > 0 and self._part.owns(partition_for(group, partitions))
            self._owned[group] = owned
        return owned

    def _read_new(self) -> None:
        ranges = unread_ranges(self._cluster, NAME, self._read)
        if any(each.end <= self._read.get(each.partition, -1) for each in ranges) or self._lost_records(ranges):
            # The topic was created again, or its log was truncated.
            self._clear()
            ranges = unread_ranges(self._cluster, NAME, {})
        self._epochs |= {each.partition: each.leader_epoch for each in ranges if each.leader_epoch is not None}
        tally = ReadTally()
        for fetched in read_records(self._cluster, NAME, ranges, limit=_LIMIT_SECONDS, tally=tally):
            for _, record in fetched.rows():
                self._add(record)
            self._read |= {partition: position - 1 for partition, position in fetched.positions.items()}
        self._undecoded += tally.faults.total()
        if not self._counts:
            self._state.restart_counts()
            self._counts = True

    def _lost_records(self, ranges: Sequence[OffsetRange]) -> bool:
        """Return whether a new leader's log no longer has what was read. Raises ClusterError while that is unknown."""
        current = {each.partition: each.leader_epoch for each in ranges if each.leader_epoch is not None}
        moved = {each: epoch for each, epoch in self._epochs.items() if current.get(each, epoch) != epoch}
        ends = read_epoch_ends(self._cluster, NAME, moved)
        if len(ends) < len(moved):
            raise Unreachable(f"the new leaders of {NAME} do not answer", "the read is tried again")
        return any(is_cut(self._read.get(partition, -1) + 1, end) for partition, end in ends.items())

    def _add(self, record: LogRecord) -> None:
        decoded = decode_share_state(record.key, record.value)
        if not isinstance(decoded, Record):
            self._undecoded += 1
            return
        event = event_of(decoded)
        if isinstance(event, _OF_A_GROUP) and self._owns(event.group):
            self._state.add(event)

    def _tables(
        self, partitions: Mapping[tuple[str, str, int], SharePartitionKey], ends: Mapping[tuple[str, int], int]
    ) -> tuple[pa.Table, pa.Table]:
        lags: dict[str, list[int | None]] = {}
        rows = []
        for (group, topic, partition), key in partitions.items():
            progress, end = self._state.partitions[key], ends.get((topic, partition))
            lags.setdefault(group, []).append(progress.lag(end))
            values = (progress.start_offset, progress.lag(end), progress.finished, progress.returned)
            finished = self._state.finished[key]
            counts = (progress.most_deliveries, finished.acknowledged, finished.archived, finished.returns)
            rows.append((group, topic, partition, end, *values, *counts))
        groups = [
            (group, None, None)
            if group in self._state.incomplete
            else (group, len(of_group), None if None in of_group else sum(each or 0 for each in of_group))
            for group, of_group in lags.items()
        ]
        of_partitions = rows_table(rows[:MOST_PARTITIONS], topics.SHARE_PARTITIONS.schema)
        return of_partitions, rows_table(groups, topics.SHARE_GROUPS.schema)
