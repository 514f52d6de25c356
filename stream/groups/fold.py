"""The fold: the records that one task reads become one delta per shard.

For each Arrow batch the distinct keys are decoded once, and commit values by the columnar interpreter; the scalar
interpreter decodes what the columnar one declines. Commits are folded into runs at once, membership records are kept as
they are, in log order. `drain` returns one delta per shard. Malformed records are counted with their reason and change
nothing.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from decoders import scalar
from decoders.columnar import CommitColumns, CommitDetails, decode_commit_values, decode_keys
from decoders.errors import DecodeError
from decoders.tables import BY_NUMBER
from stream.groups.commits import aborts as abort_table
from stream.groups.commits import runs as run_columns
from stream.groups.commits import slots as slot_columns
from stream.groups.commits import tombstones as tombstone_table
from stream.groups.commits.keys import DistinctKeys, RecordRole, groups_of_commit_keys
from stream.groups.commits.run_table import Runs, join_runs, no_runs
from stream.groups.commits.runs import NEVER, TOPIC_ID
from stream.groups.commits.slots import Slots
from stream.groups.commits.tombstones import OffsetTombstones, no_tombstones
from stream.groups.decode_stats import DecodeFault, DecodeStats, FaultSample, hexadecimal
from stream.groups.membership.record_types import record_type_of
from stream.groups.membership.summary import groups_of
from stream.groups.shard import MembershipRecords, ShardDelta, concat_records, no_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from stream.groups.commits.aborts import AbortedCommits
    from stream.groups.placement import Placement

MAX_UNJOINED_RUNS: Final = 400_000
"""Rows of runs that are collected before they are joined: bounds the memory of a long task."""


@dataclasses.dataclass(frozen=True, slots=True)
class RecordColumns:
    """Records as columns, in log order within each offsets partition; times in ms."""

    offsets_partition: NDArray[np.int32]
    position: NDArray[np.int64]
    time: NDArray[np.int64]
    keys: pa.BinaryArray
    values: pa.BinaryArray
    rows: NDArray[np.int64] | None = None
    """The rows of the records in `keys` and `values`, ascending; None: all rows."""

    def take(self, rows: NDArray[Any]) -> RecordColumns:
        """Return these records (ascending indices); keys and values are shared, not copied."""
        if len(rows) == len(self.position):
            return self
        selected = rows if self.rows is None else self.rows[rows]
        return RecordColumns(
            self.offsets_partition[rows], self.position[rows], self.time[rows], self.keys, self.values, selected
        )

    def record(self, at: int) -> tuple[bytes | None, bytes | None]:
        """Return key and value of a record."""
        row = at if self.rows is None else int(self.rows[at])
        return self.keys[row].as_py(), self.values[row].as_py()

    def records(self) -> MembershipRecords:
        """Return a copy of the records."""
        keys, values = self.keys, self.values
        if self.rows is not None:
            indices = pa.array(self.rows)
            keys, values = keys.take(indices), values.take(indices)
        return MembershipRecords(keys, values, self.position, self.time)


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

    def add_runs(self, runs: Runs, keep_slots: int) -> None:
        self.runs.append(runs)
        if sum(map(len, self.runs)) > MAX_UNJOINED_RUNS:
            self.join(keep_slots)

    def join(self, keep_slots: int) -> tuple[Runs, OffsetTombstones]:
        """Join runs and tombstones to one table each.

        Tombstones are resolved first, because a joined run has no trace of the commits before a tombstone.
        """
        tombstones = tombstone_table.resolve(tombstone_table.concat(self.tombstones), self.runs)
        runs = join_runs(self.runs, keep_slots)
        self.runs, self.tombstones = [runs], [tombstones]
        return runs, tombstones

    def aborts(self, runs: Runs) -> AbortedCommits:
        """Return the aborted commits after these runs, which are all of the partition, one row per key."""
        return abort_table.join(abort_table.since(abort_table.concat(self.aborted), runs))


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
        encoded = batch.keys.dictionary_encode()
        codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
        distinct = DistinctKeys.build(encoded.dictionary, decode_keys(encoded.dictionary))
        self._count(distinct, codes)
        self._update_positions(batch)
        roles = distinct.role[codes]
        for row in np.flatnonzero(roles == RecordRole.UNREADABLE).tolist():
            self._check(batch, row, *batch.record(row))
        memberships = np.flatnonzero(roles == RecordRole.MEMBERSHIP)
        if len(memberships):
            self._add_memberships(batch.take(memberships))
        commits = np.flatnonzero(roles == RecordRole.COMMIT)
        if len(commits):
            self._add_commits(batch.take(commits), distinct, distinct.canonical[codes[commits]])

    def add_aborted(  # noqa: PLR0917 - columns of one table
        self,
        partition: int,
        producer_id: int,
        position: NDArray[np.int64],
        time: NDArray[np.int64],
        keys: pa.BinaryArray,
        values: pa.BinaryArray,
    ) -> None:
        """Count the commits among records of a producer's aborted transactions; they change nothing else.

        Other records of `add` may come before or after them.
        """
        if not len(position):
            return
        encoded = keys.dictionary_encode()
        codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
        distinct = DistinctKeys.build(encoded.dictionary, decode_keys(encoded.dictionary))
        is_commit = (distinct.role[codes] == RecordRole.COMMIT) & values.is_valid().to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(is_commit)
        folded = self._partition(partition)
        folded.position = max(folded.position, int(position[-1]))
        if len(rows):
            names = distinct.canonical_keys.take(pa.array(distinct.canonical[codes[rows]]))
            folded.aborted.append(abort_table.single_commits(names, position[rows], time[rows], producer_id))

    def drain(self) -> Iterator[tuple[int, ShardDelta]]:
        """Yield a delta for every shard with records, and reset the fold."""
        partitions, self._partitions = self._partitions, {}
        for partition, folded in sorted(partitions.items()):
            yield from self._deltas(partition, folded)

    def _count(self, distinct: DistinctKeys, codes: NDArray[np.int32]) -> None:
        per_key = np.bincount(codes, minlength=len(distinct.role))
        for number in np.unique(distinct.record_type):
            count = int(per_key[distinct.record_type == number].sum())
            if count:
                self.stats.records[int(number) if number >= 0 else None] += count

    def _update_positions(self, batch: RecordColumns) -> None:
        for partition in _distinct(batch.offsets_partition):
            rows = np.flatnonzero(batch.offsets_partition == partition)
            folded = self._partition(int(partition))
            folded.position = max(folded.position, int(batch.position[rows[-1]]))
            folded.time = max(folded.time, int(batch.time[rows].max()))

    def _partition(self, partition: int) -> _PartitionFold:
        return self._partitions.setdefault(partition, _PartitionFold())

    # Membership records: decoded only to check them, kept as they stand in the log.

    def _add_memberships(self, batch: RecordColumns) -> None:
        read = batch.records()
        pairs = zip(read.keys.to_pylist(), read.values.to_pylist(), strict=True)
        readable = np.ones(len(read), np.bool_)
        for row, (key, value) in enumerate(pairs):
            if value is not None and scalar.read_value(BY_NUMBER[record_type_of(key)], value, scalar.NO_FIELDS) is None:
                readable[row] = self._check(batch, row, key, value)
        for partition in _distinct(batch.offsets_partition[readable]):
            rows = readable & (batch.offsets_partition == partition)
            self._partition(int(partition)).records.append(read if rows.all() else read.take(rows))

    def _check(self, batch: RecordColumns, row: int, key: bytes | None, value: bytes | None) -> bool:
        """Return whether a record can be decoded, and count it if not."""
        read = scalar.decode(key, value, scalar.NO_FIELDS)
        if isinstance(read, DecodeError):
            self._count_fault(batch, row, read, key, value)
            return False
        return True

    def _count_fault(
        self, batch: RecordColumns, row: int, error: DecodeError, key: bytes | None, value: bytes | None
    ) -> None:
        self.stats.count_fault(
            FaultSample(
                DecodeFault(error.type, error.version, error.reason.value),
                error.field,
                int(batch.offsets_partition[row]),
                int(batch.position[row]),
                hexadecimal(key),
                hexadecimal(value),
            )
        )

    # Commits: decoded as columns, folded into runs.

    def _add_commits(self, batch: RecordColumns, distinct: DistinctKeys, canonical: NDArray[np.int64]) -> None:
        read = decode_commit_values(batch.values, batch.rows)
        offset, time = read.offset, read.commit_timestamp
        by_scalar: dict[int, dict[str, Any]] = {}
        if read.declined.any():
            offset, time = offset.copy(), time.copy()
            by_scalar, malformed = self._decode_declined(batch, np.flatnonzero(read.declined), offset, time)
            readable = np.ones(len(canonical), np.bool_)
            readable[malformed] = False
        else:
            readable = None
        order, starts = _sort_by_key(canonical, batch.offsets_partition, readable)
        if not len(order):
            return
        tombstone = read.tombstone[order]
        reset = np.zeros(len(starts), np.bool_)
        if tombstone.any():
            time = np.where(read.tombstone, batch.time, time)
            self._add_tombstones(batch, distinct, canonical, (order, starts, tombstone), (read, time, by_scalar))
            kept, reset = run_columns.rows_since_reset(tombstone, ~tombstone, starts)
            order, tombstone, starts = order[kept], tombstone[kept], np.searchsorted(np.flatnonzero(kept), starts)
        offset, time = offset[order], time[order]
        spans = run_columns.single_record_spans(batch.position[order], offset, time, tombstone)
        firsts, lasts = order[starts], order[run_columns.last_rows(starts, len(order))]
        runs = Runs(
            keys=distinct.canonical_keys.take(pa.array(canonical[firsts])),
            spans=run_columns.join(spans, starts, reset),
            **_details(read.details(lasts), lasts, by_scalar),
            slots=self._slots(offset, time, starts, tombstone),
        )
        self._add_runs(runs, batch.offsets_partition[firsts])

    def _add_tombstones(
        self,
        batch: RecordColumns,
        distinct: DistinctKeys,
        canonical: NDArray[np.int64],
        sorting: tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_]],
        commits: tuple[CommitColumns, NDArray[np.int64], dict[int, dict[str, Any]]],
    ) -> None:
        """Add each tombstone with the commits before it that are in this batch."""
        (order, starts, tombstone), (read, time, by_scalar) = sorting, commits
        ends = np.flatnonzero(tombstone)
        begins = np.maximum(starts[np.searchsorted(starts, ends, "right") - 1], np.append(0, ends[:-1] + 1))
        rows, first, last = order[ends], order[begins], order[np.maximum(ends - 1, begins)]
        known = begins < ends

        def where_known(values: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.where(known, values, NEVER)

        tombstones = OffsetTombstones(
            keys=distinct.canonical_keys.take(pa.array(canonical[rows])),
            position=batch.position[rows],
            time=batch.time[rows],
            first_position=where_known(batch.position[first]),
            first_time=where_known(time[first]),
            last_time=where_known(time[last]),
            expire_time=where_known(_expire_time(read, last, by_scalar)),
        )
        partitions = batch.offsets_partition[rows]
        for partition in _distinct(partitions):
            self._partition(int(partition)).tombstones.append(tombstones.take(partitions == partition))

    def _decode_declined(
        self, batch: RecordColumns, rows: NDArray[np.intp], offset: NDArray[np.int64], time: NDArray[np.int64]
    ) -> tuple[dict[int, dict[str, Any]], list[int]]:
        """Decode the rows that the columnar interpreter declined, and write their `offset` and `time`.

        Returns the decoded values by row, and the malformed rows.
        """
        by_scalar: dict[int, dict[str, Any]] = {}
        malformed = []
        for row in rows.tolist():
            key, value = batch.record(row)
            record = scalar.decode(key, value)
            if isinstance(record, DecodeError):
                self._count_fault(batch, row, record, key, value)
                malformed.append(row)
            elif record.value is not None:
                by_scalar[row] = record.value
                offset[row], time[row] = record.value["offset"], record.value["commit_timestamp"]
        return by_scalar, malformed

    def _slots(
        self,
        offset: NDArray[np.int64],
        time: NDArray[np.int64],
        starts: NDArray[np.intp],
        tombstone: NDArray[np.bool_],
    ) -> Slots:
        rows = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(offset))))
        if tombstone.any():
            rows, offset, time = rows[~tombstone], offset[~tombstone], time[~tombstone]
        slots = Slots(rows, time // self._slot_ms, offset, time, np.broadcast_to(np.int64(1), len(rows)))
        return slot_columns.merge(slots, self._keep_slots)

    def _add_runs(self, runs: Runs, partitions: NDArray[np.int32]) -> None:
        if (partitions == partitions[0]).all():
            self._partition(int(partitions[0])).add_runs(runs, self._keep_slots)
            return
        for partition in _distinct(partitions):
            self._partition(int(partition)).add_runs(runs.take(partitions == partition), self._keep_slots)

    # One delta per shard.

    def _deltas(self, partition: int, folded: _PartitionFold) -> Iterator[tuple[int, ShardDelta]]:
        runs, tombstones = folded.join(self._keep_slots)
        records = concat_records(folded.records) if folded.records else no_records()
        aborts = folded.aborts(runs)
        if self._placement.sub_shards == 1:
            delta = ShardDelta(runs, records, folded.position, tombstones, folded.time, aborts)
            yield self._placement.shard(partition, ""), delta
            return
        run_shards = self._shards(partition, _groups_of_commits(runs.keys))
        record_shards = self._shards(partition, groups_of(records.keys.to_pylist()))
        tombstone_shards = self._shards(partition, _groups_of_commits(tombstones.keys))
        abort_shards = self._shards(partition, _groups_of_commits(aborts.keys))
        # Every offset tombstone also has a run.
        for shard in np.unique(np.concatenate([run_shards, record_shards, abort_shards])).tolist():
            run_rows, tombstone_rows = run_shards == shard, tombstone_shards == shard
            yield (
                shard,
                ShardDelta(
                    runs.take(run_rows) if run_rows.any() else no_runs(),
                    records.take(record_shards == shard),
                    folded.position,
                    tombstones.take(tombstone_rows) if tombstone_rows.any() else no_tombstones(),
                    folded.time,
                    aborts.take(abort_shards == shard),
                ),
            )

    def _shards(self, partition: int, groups: list[str]) -> NDArray[np.int64]:
        shard_of_group = {group: self._placement.shard(partition, group) for group in set(groups)}
        return np.array([shard_of_group[group] for group in groups], np.int64)


def _groups_of_commits(keys: pa.BinaryArray) -> list[str]:
    names: list[str] = groups_of_commit_keys(keys).cast(pa.string()).to_pylist()
    return names


def _distinct(partitions: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the distinct offsets partitions of records; only the places where the partition changes are sorted."""
    changes = np.flatnonzero(partitions[1:] != partitions[:-1])
    distinct: NDArray[np.int32] = np.unique(np.append(partitions[:1], partitions[changes + 1]))
    return distinct


def _sort_by_key(
    canonical: NDArray[np.int64], partitions: NDArray[np.int32], readable: NDArray[np.bool_] | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Sort rows by offsets partition and key, each key in log order; return the order and where each key starts."""
    sort_key = canonical
    if not (partitions == partitions[0]).all():
        # The partitions of a batch are mostly consecutive numbers, which keeps the sort key small.
        sort_key = (partitions - partitions.min()).astype(np.int64) * (int(canonical.max()) + 1) + canonical
    rows = np.arange(len(sort_key)) if readable is None else np.flatnonzero(readable)
    selected = sort_key[rows]
    narrow = selected.astype(np.uint16) if len(selected) and selected.max() <= np.iinfo(np.uint16).max else selected
    sorting = np.argsort(narrow, kind="stable")  # 16 bits: a radix sort, several times faster
    ordered = narrow[sorting]
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return sorting if readable is None else rows[sorting], np.flatnonzero(first)


def _expire_time(
    read: CommitColumns, rows: NDArray[np.intp], by_scalar: dict[int, dict[str, Any]]
) -> NDArray[np.int64]:
    expire_time = read.expire_timestamp(rows)
    if by_scalar:
        for at, row in enumerate(rows.tolist()):
            if row in by_scalar:
                expire_time[at] = by_scalar[row]["expire_timestamp"]
    return expire_time


def _details(read: CommitDetails, rows: NDArray[np.intp], by_scalar: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Return the columns of `Runs` that depend on the last commit, with the values that the scalar interpreter read."""
    metadata, topic_id = read.metadata.fill_null(b""), read.topic_id
    leader_epoch, expire_time = read.leader_epoch, read.expire_timestamp
    replaced = [(at, by_scalar[row]) for at, row in enumerate(rows.tolist()) if row in by_scalar] if by_scalar else []
    if replaced:
        metadata_list, topic_ids = metadata.to_pylist(), topic_id.to_pylist()
        for at, value in replaced:
            leader_epoch[at] = value["leader_epoch"]
            expire_time[at] = value["expire_timestamp"]
            metadata_list[at] = value["metadata"].encode("utf-8", "surrogatepass")
            topic_ids[at] = value["topic_id"] if any(value["topic_id"]) else None
        metadata, topic_id = pa.array(metadata_list, pa.binary()), pa.array(topic_ids, TOPIC_ID)
    return {"leader_epoch": leader_epoch, "expire_time": expire_time, "metadata": metadata, "topic_id": topic_id}
