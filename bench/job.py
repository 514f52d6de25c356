"""What the job does in a batch, without Spark: folds and reduces the records of many groups, shard by shard."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.encoding import commit_keys, group_keys, object_column, values
from bench.traffic import START_MS, Chunk, Kind, Traffic
from stream.groups.codec import pack, unpack_change, unpack_state
from stream.groups.fold import Fold
from stream.groups.placement import Placement, partition_for
from stream.groups.record_columns import RecordColumns
from stream.groups.reduce import reduce
from stream.groups.shard import ShardChange, StateLimits, empty_state

_RULES: Final = StateLimits(keep_slots=10)
SLOT_SECONDS: Final = 30
GROUPS_AT_ONCE: Final = 10_000


def initial_records(traffic: Traffic) -> Iterator[Chunk]:
    """Yield the records of all groups, in chunks of `GROUPS_AT_ONCE` groups: memberships first, then commits."""
    for first in range(0, traffic.groups, GROUPS_AT_ONCE):
        groups = np.arange(first, min(first + GROUPS_AT_ONCE, traffic.groups), dtype=np.int32)
        yield _chunk(traffic, groups, first * (traffic.partitions_per_group + 1), 0, with_memberships=True)


def commit_round(traffic: Traffic, groups: int, number: int) -> Chunk:
    """Return round `number` (from 1): commits of all partitions of `groups` groups, one offset further.

    Each round continues with the next groups, so that no group commits twice before all have committed.
    """
    chosen = (np.arange(groups) + groups * (number - 1)) % traffic.groups
    return _chunk(traffic, chosen.astype(np.int32), traffic.records + number * 1000, number, with_memberships=False)


def _chunk(traffic: Traffic, groups: NDArray[np.int32], first: int, number: int, *, with_memberships: bool) -> Chunk:
    each = traffic.partitions_per_group
    keys = (groups.astype(np.int64)[:, None] * each + np.arange(each)).ravel().astype(np.int32)
    leading = groups if with_memberships else groups[:0]
    key = np.concatenate([leading, keys])
    # Keys have different offsets that grow by one per round; none is above the end of its partition.
    offset = np.concatenate([np.ones(len(leading), np.int64), keys.astype(np.int64) * 7919 % 900 + number % 100])
    kind = np.full(len(key), Kind.COMMIT, np.int8)
    kind[: len(leading)] = Kind.MEMBERSHIP
    time = START_MS + first + (np.arange(len(key)) if with_memberships else np.zeros(len(key), np.int64))
    return Chunk(first, kind, key, offset, time)


class Job:
    """Folds and reduces like the job, shard by shard; the state is packed between batches."""

    def __init__(self, traffic: Traffic, shards: int) -> None:
        self._traffic = traffic
        self._placement = Placement.build(traffic.offsets_partitions, shards)
        self._keys = {True: object_column(group_keys(traffic)), False: object_column(commit_keys(traffic))}
        homes = [partition_for(traffic.group(group), traffic.offsets_partitions) for group in range(traffic.groups)]
        self._home = np.array(homes, np.int32)
        self._ends = np.zeros(traffic.offsets_partitions, np.int64)
        self.states: dict[int, bytes] = {}

    def read(self, chunk: Chunk) -> Iterator[tuple[int, ShardChange]]:
        """Read a chunk as one batch, and yield the change of each shard."""
        fold = Fold(self._placement, slot_ms=SLOT_SECONDS * 1000, keep_slots=_RULES.keep_slots)
        fold.add(self._batch(chunk))
        for shard, delta in fold.drain():
            kept = self.states.get(shard)
            state, change = reduce(empty_state() if kept is None else unpack_state(kept), [delta], _RULES)
            self.states[shard] = pack(state)
            yield shard, unpack_change(pack(change))

    def _batch(self, chunk: Chunk) -> RecordColumns:
        of_group = chunk.kind == Kind.MEMBERSHIP
        group = np.where(of_group, chunk.key, chunk.key // self._traffic.partitions_per_group)
        keys = np.where(of_group, self._keys[True][group], self._keys[False][np.where(of_group, 0, chunk.key)])
        home = self._home[group]
        order = np.argsort(home, kind="stable")
        encoded = object_column(values(self._traffic, chunk))
        counts = np.bincount(home, minlength=len(self._ends))
        starts = np.cumsum(counts) - counts
        position = self._ends[home[order]] + np.arange(len(order)) - starts[home[order]]
        self._ends += counts
        return RecordColumns(
            offsets_partition=home[order],
            position=position,
            time=chunk.time[order],
            keys=pa.array(keys[order].tolist(), pa.binary()),
            values=pa.array(encoded[order].tolist(), pa.binary()),
        )
