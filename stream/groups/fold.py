"""The fold: the records that one task reads become one delta per shard.

The distinct keys of each Arrow batch are decoded once. Commits are decoded and folded into runs at once
(`commits.folded`); membership records are kept as they are, in log order. `drain` returns one delta
per shard. Malformed records are counted with their reason and change nothing.
"""

import dataclasses
from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from decoders import scalar
from decoders.errors import DecodeError
from decoders.tables import BY_NUMBER
from stream.groups.commits import tombstones as abort_table
from stream.groups.commits import tombstones as tombstone_table
from stream.groups.commits.folded import FoldedCommits, decode_commits, fold_commits
from stream.groups.commits.run_table import DistinctKeys, RecordRole, Runs, groups_of_commit_keys, join_runs, no_runs
from stream.groups.commits.runs import NEVER
from stream.groups.commits.tombstones import AbortedCommits, OffsetTombstones
from stream.groups.decode_stats import DecodeStats
from stream.groups.membership.summary import groups_of, record_type_of
from stream.groups.placement import Placement
from stream.groups.record_columns import RecordColumns, distinct_partitions
from stream.groups.shard import MembershipRecords, ShardDelta

MAX_UNJOINED_RUNS: Final = 4_096
"""Rows of runs of a partition that are collected at least before they are joined: bounds the memory of a long task."""


@dataclasses.dataclass(slots=True)
class _PartitionFold:
    """The folded records of one offsets partition."""

    runs: list[Runs] = dataclasses.field(default_factory=list)
    records: list[MembershipRecords] = dataclasses.field(default_factory=list)
    tombstones: list[OffsetTombstones] = dataclasses.field(default_factory=list)
    aborted: list[AbortedCommits] = dataclasses.field(default_factory=list)
    """Not joined before the end: a commit that is read later may lie between two of them."""
    position: int = -1
    time: int = NEVER

    def add_commits(self, folded: FoldedCommits, keep_slots: int) -> None:
        if len(folded.tombstones):
            self.tombstones.append(folded.tombstones)
        self.runs.append(folded.runs)
        if sum(map(len, self.runs)) > max(MAX_UNJOINED_RUNS, 2 * len(self.runs[0])):
            self.join(keep_slots)

    def join(self, keep_slots: int) -> tuple[Runs, OffsetTombstones]:
        """Join runs and tombstones to one table each.

        Tombstones are resolved first, because a joined run has no trace of the commits before a tombstone.
        """
        tombstones = tombstone_table.resolve(OffsetTombstones.concat(self.tombstones), self.runs)
        runs = join_runs(self.runs, keep_slots)
        self.runs, self.tombstones = [runs], [tombstones]
        return runs, tombstones


class Fold:
    """Folds batches of records of `__consumer_offsets`; one per task."""

    def __init__(self, placement: Placement, *, slot_ms: int, keep_slots: int) -> None:
        self._placement = placement
        self._slot_ms = slot_ms
        self._keep_slots = keep_slots
        self._partitions: dict[int, _PartitionFold] = {}
        self.stats = DecodeStats()

    def add(self, batch: RecordColumns) -> None:
        """Fold a batch; batches come in log order."""
        if not len(batch.position):
            return
        distinct, codes = DistinctKeys.of_column(batch.keys)
        self._count(distinct, codes)
        self._update_positions(batch)
        roles = distinct.role[codes]
        for row in np.flatnonzero(roles == RecordRole.UNREADABLE).tolist():
            self._check(batch, row)
        memberships = np.flatnonzero(roles == RecordRole.MEMBERSHIP)
        if len(memberships):
            self._add_memberships(batch.take(memberships))
        commits = np.flatnonzero(roles == RecordRole.COMMIT)
        if len(commits):
            self._add_commits(batch.take(commits), distinct, codes[commits])

    def add_aborted(self, producer_id: int, records: RecordColumns) -> None:
        """Count the commits among records of a producer's aborted transactions in one partition; nothing else changes.

        Other records of `add` may come before or after them.
        """
        if not len(records.position):
            return
        distinct, codes = DistinctKeys.of_column(records.keys)
        has_value = records.values.is_valid().to_numpy(zero_copy_only=False)
        rows = np.flatnonzero((distinct.role[codes] == RecordRole.COMMIT) & has_value)
        folded = self._partition(int(records.offsets_partition[0]))
        folded.position = max(folded.position, int(records.position[-1]))
        if len(rows):
            names = distinct.canonical_keys.take(pa.array(distinct.canonical[codes[rows]]))
            position, time = records.position[rows], records.time[rows]
            folded.aborted.append(abort_table.single_commits(names, position, time, producer_id))

    def drain(self) -> Iterator[tuple[int, ShardDelta]]:
        """Yield a delta for every shard with records, and reset the fold."""
        partitions, self._partitions = self._partitions, {}
        for partition in sorted(partitions):
            yield from self._deltas(partition, partitions.pop(partition))

    def _count(self, distinct: DistinctKeys, codes: NDArray[np.int32]) -> None:
        per_key = np.bincount(codes, minlength=len(distinct.role))
        for number in np.unique(distinct.record_type):
            count = int(per_key[distinct.record_type == number].sum())
            if count:
                self.stats.records[int(number) if number >= 0 else None] += count

    def _update_positions(self, batch: RecordColumns) -> None:
        for partition in distinct_partitions(batch.offsets_partition):
            rows = np.flatnonzero(batch.offsets_partition == partition)
            folded = self._partition(partition)
            folded.position = max(folded.position, int(batch.position[rows[-1]]))
            folded.time = max(folded.time, int(batch.time[rows].max()))

    def _partition(self, partition: int) -> _PartitionFold:
        return self._partitions.setdefault(partition, _PartitionFold())

    def _add_memberships(self, batch: RecordColumns) -> None:
        """Add the readable membership records as they stand in the log; they are decoded only to check them."""
        read = MembershipRecords(*batch.keys_and_values(), batch.position, batch.time)
        pairs = zip(read.keys.to_pylist(), read.values.to_pylist(), strict=True)
        readable = np.ones(len(read), np.bool_)
        for row, (key, value) in enumerate(pairs):
            if value is not None and scalar.read_value(BY_NUMBER[record_type_of(key)], value, scalar.NO_FIELDS) is None:
                readable[row] = self._check(batch, row)
        for partition in distinct_partitions(batch.offsets_partition[readable]):
            rows = readable & (batch.offsets_partition == partition)
            self._partition(partition).records.append(read if rows.all() else read.take(rows))

    def _check(self, batch: RecordColumns, row: int) -> bool:
        """Return whether a record can be decoded, and count it if not."""
        read = scalar.decode(*batch.record(row), scalar.NO_FIELDS)
        if isinstance(read, DecodeError):
            self.stats.count_fault(batch.fault(row, read))
            return False
        return True

    def _add_commits(self, batch: RecordColumns, distinct: DistinctKeys, codes: NDArray[np.int32]) -> None:
        commits = decode_commits(batch, distinct, codes)
        for fault in commits.faults:
            self.stats.count_fault(fault)
        for folded in fold_commits(commits, slot_ms=self._slot_ms, keep_slots=self._keep_slots):
            self._partition(folded.partition).add_commits(folded, self._keep_slots)

    def _deltas(self, partition: int, folded: _PartitionFold) -> Iterator[tuple[int, ShardDelta]]:
        runs, tombstones = folded.join(self._keep_slots)
        records = MembershipRecords.concat(folded.records)
        # The aborted commits after these runs, which are all of the partition, one row per key.
        aborts = abort_table.join(abort_table.since(AbortedCommits.concat(folded.aborted), runs))
        if self._placement.sub_shards == 1:
            delta = ShardDelta(runs, records, folded.position, tombstones, time=folded.time, aborts=aborts)
            yield self._placement.shard(partition, ""), delta
            return
        run_shards = self._shards(partition, _groups_of_commits(runs.keys))
        record_shards = self._shards(partition, groups_of(records.keys.to_pylist()))
        tombstone_shards = self._shards(partition, _groups_of_commits(tombstones.keys))
        abort_shards = self._shards(partition, _groups_of_commits(aborts.keys))
        # Every offset tombstone also has a run.
        for shard in np.unique(np.concatenate([run_shards, record_shards, abort_shards])).tolist():
            run_rows = run_shards == shard
            delta = ShardDelta(
                runs.take(run_rows) if run_rows.any() else no_runs(),
                records.take(record_shards == shard),
                folded.position,
                tombstones.take(tombstone_shards == shard),
                time=folded.time,
                aborts=aborts.take(abort_shards == shard),
            )
            yield shard, delta

    def _shards(self, partition: int, groups: list[str]) -> NDArray[np.int64]:
        shard_of_group = {group: self._placement.shard(partition, group) for group in set(groups)}
        return np.array([shard_of_group[group] for group in groups], np.int64)


def _groups_of_commits(keys: pa.BinaryArray) -> list[str]:
    names: list[str] = groups_of_commit_keys(keys).cast(pa.string()).to_pylist()
    return names
