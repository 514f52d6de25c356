"""Records in, deltas out: what one task makes of its stretch of the log.

Per Arrow batch the distinct keys are decoded once, commit values by the columnar interpreter, and everything that one
declines by the scalar one. Commits fold into runs at once; membership records are kept as they are, in order. `drain`
gives one delta per shard. Malformed records are tallied with their reason and change nothing.
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
from stream.groups.commits import runs as run_columns
from stream.groups.commits import slots as window
from stream.groups.commits import tombstones
from stream.groups.commits.keys import DistinctKeys, RecordRole, groups_of_commits
from stream.groups.commits.run_table import Runs, join_runs, no_runs
from stream.groups.commits.runs import NEVER, TOPIC_ID
from stream.groups.commits.slots import Slots
from stream.groups.commits.tombstones import OffsetTombstones, no_tombstones
from stream.groups.decode_stats import DecodeFault, DecodeStats, FaultSample, hexadecimal
from stream.groups.membership.summary import groups_of, type_of
from stream.groups.shard import MembershipRecords, ShardDelta, concat_records, no_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from stream.groups.placement import Placement

JOIN_AT: Final = 400_000
"""Rows of runs that may pile up before they are joined: bounds the memory of a long task."""


@dataclasses.dataclass(frozen=True, slots=True)
class RecordColumns:
    """A stretch of records in log order (within each offsets partition); times in ms."""

    offsets_partition: NDArray[np.int32]
    position: NDArray[np.int64]
    time: NDArray[np.int64]
    keys: pa.BinaryArray
    values: pa.BinaryArray
    rows: NDArray[np.int64] | None = None
    """Which rows of `keys` and `values` the records are, ascending; None: all of them."""

    def take(self, rows: NDArray[Any]) -> RecordColumns:
        """Give these records, ascending. Their bytes stay where they are."""
        if len(rows) == len(self.position):
            return self
        moved = rows if self.rows is None else self.rows[rows]
        return RecordColumns(
            self.offsets_partition[rows], self.position[rows], self.time[rows], self.keys, self.values, moved
        )

    def record(self, at: int) -> tuple[bytes | None, bytes | None]:
        """Give key and value of a record."""
        row = at if self.rows is None else int(self.rows[at])
        return self.keys[row].as_py(), self.values[row].as_py()

    def records(self) -> MembershipRecords:
        """Copy the records."""
        keys, values = self.keys, self.values
        if self.rows is not None:
            chosen = pa.array(self.rows)
            keys, values = keys.take(chosen), values.take(chosen)
        return MembershipRecords(keys, values, self.position, self.time)


@dataclasses.dataclass(slots=True)
class _Pile:
    """What has been folded of one offsets partition."""

    runs: list[Runs] = dataclasses.field(default_factory=list)
    records: list[MembershipRecords] = dataclasses.field(default_factory=list)
    forgotten: list[OffsetTombstones] = dataclasses.field(default_factory=list)
    position: int = -1
    time: int = NEVER

    def compact(self, keep_slots: int) -> None:
        if sum(map(len, self.runs)) > JOIN_AT:
            self.join(keep_slots)

    def join(self, keep_slots: int) -> tuple[Runs, OffsetTombstones]:
        """Bring everything to one table each; the tombstones first, for joined runs tell nothing of what they ended."""
        forgotten = tombstones.resolve(tombstones.concat(self.forgotten), self.runs)
        runs = join_runs(self.runs, keep_slots)
        self.runs, self.forgotten = [runs], [forgotten]
        return runs, forgotten


class Fold:
    """Folds batches of records of the offsets topic; one per task."""

    def __init__(self, placement: Placement, *, slot_ms: int, keep_slots: int) -> None:
        self._placement = placement
        self._slot_ms = slot_ms
        self._keep_slots = keep_slots
        self._piles: dict[int, _Pile] = {}
        self.tally = DecodeStats()

    def add(self, batch: RecordColumns) -> None:
        """Fold a batch in; batches come in log order."""
        if not len(batch.position):
            return
        encoded = batch.keys.dictionary_encode()
        codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
        distinct = DistinctKeys.of(encoded.dictionary, decode_keys(encoded.dictionary))
        self._count(distinct, codes)
        self._note_positions(batch)
        kinds = distinct.kind[codes]
        for row in np.flatnonzero(kinds == RecordRole.REFUSED).tolist():
            self._refuse(batch, row)
        members = np.flatnonzero(kinds == RecordRole.MEMBERSHIP)
        if len(members):
            self._add_memberships(batch.take(members))
        commits = np.flatnonzero(kinds == RecordRole.COMMIT)
        if len(commits):
            self._add_commits(batch.take(commits), distinct, distinct.identity[codes[commits]])

    def drain(self) -> Iterator[tuple[int, ShardDelta]]:
        """Give a delta for every shard that was touched, and start afresh."""
        piles, self._piles = self._piles, {}
        for partition, pile in sorted(piles.items()):
            yield from self._deltas(partition, pile)

    def _count(self, distinct: DistinctKeys, codes: NDArray[np.int32]) -> None:
        per_key = np.bincount(codes, minlength=len(distinct.kind))
        for number in np.unique(distinct.record_type):
            count = int(per_key[distinct.record_type == number].sum())
            if count:
                self.tally.records[int(number) if number >= 0 else None] += count

    def _note_positions(self, batch: RecordColumns) -> None:
        for partition in _distinct(batch.offsets_partition):
            rows = np.flatnonzero(batch.offsets_partition == partition)
            self._note(int(partition), int(batch.position[rows[-1]]), int(batch.time[rows].max()))

    def _note(self, partition: int, position: int, time: int) -> None:
        pile = self._pile(partition)
        pile.position, pile.time = position, max(pile.time, time)

    def _pile(self, partition: int) -> _Pile:
        return self._piles.setdefault(partition, _Pile())

    # Memberships: decoded to see that they are sound, kept as the log has them.

    def _add_memberships(self, batch: RecordColumns) -> None:
        read = batch.records()
        pairs = zip(read.keys.to_pylist(), read.values.to_pylist(), strict=True)
        sound = np.ones(len(read), np.bool_)
        for at, (key, value) in enumerate(pairs):
            if value is not None and scalar.read_value(BY_NUMBER[type_of(key)], value, scalar.NO_FIELDS) is None:
                sound[at] = self._sound(batch, at, key, value)
        for partition in _distinct(batch.offsets_partition[sound]):
            mine = sound & (batch.offsets_partition == partition)
            self._pile(int(partition)).records.append(read if mine.all() else read.take(mine))

    def _sound(self, batch: RecordColumns, at: int, key: bytes | None, value: bytes | None) -> bool:
        """Whether a record can be read; it is tallied if not."""
        read = scalar.decode(key, value, scalar.NO_FIELDS)
        if isinstance(read, DecodeError):
            self._tally_fault(batch, at, read, key, value)
            return False
        return True

    def _refuse(self, batch: RecordColumns, at: int) -> None:
        """Tally a record whose key cannot be read."""
        self._sound(batch, at, *batch.record(at))

    def _tally_fault(
        self, batch: RecordColumns, at: int, error: DecodeError, key: bytes | None, value: bytes | None
    ) -> None:
        self.tally.fault(
            FaultSample(
                DecodeFault(error.type, error.version, error.reason.value),
                error.field,
                int(batch.offsets_partition[at]),
                int(batch.position[at]),
                hexadecimal(key),
                hexadecimal(value),
            )
        )

    # Commits: decoded as columns, folded to runs.

    def _add_commits(self, batch: RecordColumns, distinct: DistinctKeys, identity: NDArray[np.int64]) -> None:
        read = decode_commit_values(batch.values, batch.rows)
        offset, time = read.offset, read.commit_timestamp
        patches: dict[int, dict[str, Any]] = {}
        if read.declined.any():
            offset, time = offset.copy(), time.copy()
            patches, bad = self._ask_scalar(batch, np.flatnonzero(read.declined), offset, time)
            sound = np.ones(len(identity), np.bool_)
            sound[bad] = False
        else:
            sound = None
        order, starts = _by_key(identity, batch.offsets_partition, sound)
        if not len(order):
            return
        tombstone = read.tombstone[order]
        reset = np.zeros(len(starts), np.bool_)
        if tombstone.any():
            time = np.where(read.tombstone, batch.time, time)
            self._add_tombstones(batch, distinct, identity, (order, starts, tombstone), (read, time, patches))
            kept, reset = run_columns.since_reset(tombstone, ~tombstone, starts)
            order, tombstone, starts = order[kept], tombstone[kept], np.searchsorted(np.flatnonzero(kept), starts)
        at, when = offset[order], time[order]
        firsts, lasts = order[starts], order[run_columns.ends_of(starts, len(order))]
        runs = Runs(
            keys=distinct.identities.take(pa.array(identity[firsts])),
            spans=run_columns.join(run_columns.units(batch.position[order], at, when, tombstone), starts, reset),
            **_details(read.details(lasts), lasts, patches),
            slots=self._slots(at, when, starts, tombstone),
        )
        self._stack(runs, batch.offsets_partition[firsts])

    def _add_tombstones(
        self,
        batch: RecordColumns,
        distinct: DistinctKeys,
        identity: NDArray[np.int64],
        sorting: tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_]],
        commits: tuple[CommitColumns, NDArray[np.int64], dict[int, dict[str, Any]]],
    ) -> None:
        """Keep each tombstone with the commits before it that this batch holds."""
        (order, starts, tombstone), (read, time, patches) = sorting, commits
        ends = np.flatnonzero(tombstone)
        begins = np.maximum(starts[np.searchsorted(starts, ends, "right") - 1], np.append(0, ends[:-1] + 1))
        rows, first, last = order[ends], order[begins], order[np.maximum(ends - 1, begins)]
        known = begins < ends

        def where_known(values: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.where(known, values, NEVER)

        forgotten = OffsetTombstones(
            keys=distinct.identities.take(pa.array(identity[rows])),
            position=batch.position[rows],
            time=batch.time[rows],
            first_position=where_known(batch.position[first]),
            first_time=where_known(time[first]),
            last_time=where_known(time[last]),
            expire_time=where_known(_expire_time(read, last, patches)),
        )
        partitions = batch.offsets_partition[rows]
        for partition in _distinct(partitions):
            self._pile(int(partition)).forgotten.append(forgotten.take(partitions == partition))

    def _ask_scalar(
        self, batch: RecordColumns, rows: NDArray[np.intp], offset: NDArray[np.int64], time: NDArray[np.int64]
    ) -> tuple[dict[int, dict[str, Any]], list[int]]:
        """Let the scalar interpreter read what the columnar one declined; give the values read and the bad rows."""
        patches: dict[int, dict[str, Any]] = {}
        bad = []
        for row in rows.tolist():
            key, value = batch.record(row)
            record = scalar.decode(key, value)
            if isinstance(record, DecodeError):
                self._tally_fault(batch, row, record, key, value)
                bad.append(row)
            elif record.value is not None:
                patches[row] = record.value
                offset[row], time[row] = record.value["offset"], record.value["commit_timestamp"]
        return patches, bad

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
        return window.merge(slots, self._keep_slots)

    def _stack(self, runs: Runs, partitions: NDArray[np.int32]) -> None:
        if (partitions == partitions[0]).all():
            self._push(int(partitions[0]), runs)
            return
        for partition in _distinct(partitions):
            self._push(int(partition), runs.take(partitions == partition))

    def _push(self, partition: int, runs: Runs) -> None:
        pile = self._pile(partition)
        pile.runs.append(runs)
        pile.compact(self._keep_slots)

    # Out: one delta per shard.

    def _deltas(self, partition: int, pile: _Pile) -> Iterator[tuple[int, ShardDelta]]:
        runs, forgotten = pile.join(self._keep_slots)
        records = concat_records(pile.records) if pile.records else no_records()
        if self._placement.sub_shards == 1:
            whole = ShardDelta(runs, records, pile.position, tombstones=forgotten, time=pile.time)
            yield self._placement.shard(partition, ""), whole
            return
        run_shards = self._shards(partition, _commit_groups(runs.keys))
        record_shards = self._shards(partition, groups_of(records.keys.to_pylist()))
        forgotten_shards = self._shards(partition, _commit_groups(forgotten.keys))
        for shard in np.union1d(run_shards, record_shards).tolist():  # where an offset was forgotten is a run, too
            mine, gone = run_shards == shard, forgotten_shards == shard
            yield (
                shard,
                ShardDelta(
                    runs.take(mine) if mine.any() else no_runs(),
                    records.take(record_shards == shard),
                    pile.position,
                    tombstones=forgotten.take(gone) if gone.any() else no_tombstones(),
                    time=pile.time,
                ),
            )

    def _shards(self, partition: int, groups: list[str]) -> NDArray[np.int64]:
        known = {group: self._placement.shard(partition, group) for group in set(groups)}
        return np.array([known[group] for group in groups], np.int64)


def _commit_groups(keys: pa.BinaryArray) -> list[str]:
    names: list[str] = groups_of_commits(keys).cast(pa.string()).to_pylist()
    return names


def _distinct(partitions: NDArray[np.int32]) -> NDArray[np.int32]:
    """Name the offsets partitions of some records, which lie together: those between two of the same are not sorted."""
    changes = np.flatnonzero(partitions[1:] != partitions[:-1])
    distinct: NDArray[np.int32] = np.unique(np.append(partitions[:1], partitions[changes + 1]))
    return distinct


def _by_key(
    identity: NDArray[np.int64], partitions: NDArray[np.int32], sound: NDArray[np.bool_] | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Sort rows by offsets partition and key, in log order within; give the order and where each key starts."""
    place = identity
    if not (partitions == partitions[0]).all():
        # Neighbours as a rule, and so a small number.
        place = (partitions - partitions.min()).astype(np.int64) * (int(identity.max()) + 1) + identity
    rows = np.arange(len(place)) if sound is None else np.flatnonzero(sound)
    chosen = place[rows]
    narrow = chosen.astype(np.uint16) if len(chosen) and chosen.max() <= np.iinfo(np.uint16).max else chosen
    sorting = np.argsort(narrow, kind="stable")  # 16 bits: a radix sort, several times faster
    ordered = narrow[sorting]
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return sorting if sound is None else rows[sorting], np.flatnonzero(first)


def _expire_time(read: CommitColumns, rows: NDArray[np.intp], patches: dict[int, dict[str, Any]]) -> NDArray[np.int64]:
    expire_time = read.expire_timestamp(rows)
    if patches:
        for at, row in enumerate(rows.tolist()):
            if row in patches:
                expire_time[at] = patches[row]["expire_timestamp"]
    return expire_time


def _details(read: CommitDetails, rows: NDArray[np.intp], patches: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Give what a run takes from its last commit; where the scalar interpreter read that one, what it said."""
    metadata, topic_id = read.metadata.fill_null(b""), read.topic_id
    leader_epoch, expire_time = read.leader_epoch, read.expire_timestamp
    mine = [(at, patches[row]) for at, row in enumerate(rows.tolist()) if row in patches] if patches else []
    if mine:
        texts, ids = metadata.to_pylist(), topic_id.to_pylist()
        for at, value in mine:
            leader_epoch[at] = value["leader_epoch"]
            expire_time[at] = value["expire_timestamp"]
            texts[at] = value["metadata"].encode("utf-8", "surrogatepass")
            ids[at] = value["topic_id"] if any(value["topic_id"]) else None
        metadata, topic_id = pa.array(texts, pa.binary()), pa.array(ids, TOPIC_ID)
    return {"leader_epoch": leader_epoch, "expire_time": expire_time, "metadata": metadata, "topic_id": topic_id}
