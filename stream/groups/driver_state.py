"""The driver's copy of all shards, kept current by the changes of each micro-batch, and read as whole columns.

A change replaces what it touches: the newest position wins, so a batch that is applied twice is harmless. What a change
tells that is new (transitions, offsets forgotten) is handed on as `ChangeEvents`, once.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from decoders.columnar import decode_keys
from stream.groups.commits.run_table import Runs, concat_runs, find_rows, no_runs
from stream.groups.commits.runs import Spans, columns_of
from stream.groups.commits.slots import Slots
from stream.groups.lifecycle.record import unpack_history
from stream.groups.membership.memberships import Membership, Memberships
from stream.groups.row_order import RowLabels, RowOrder
from stream.groups.shard import NOTHING_READ, ShardChange

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from stream.groups.commits.tombstones import OffsetTombstones
    from stream.groups.lifecycle.model import GroupHistory, Transition
    from stream.groups.lifecycle.table import HistoryTable
    from stream.groups.membership.memberships import Member
    from stream.groups.row_order import ShardLabels
    from stream.groups.shard import ShardState


@dataclasses.dataclass(frozen=True, slots=True)
class GroupColumns:
    """All groups at one moment. Row i of `runs` belongs to `group[i]`, `topic[i]`, `partition[i]`."""

    runs: Runs
    group: pa.DictionaryArray
    topic: pa.DictionaryArray
    partition: np.ndarray[tuple[int], np.dtype[np.int32]]
    memberships: Mapping[str, Membership]
    """What is known of each group's membership; a group that only has offsets is not in it."""
    histories: Mapping[str, GroupHistory]
    """The life of every group, also of those that died and have not been dropped yet."""
    row_order: RowOrder
    """The order in which readers see the rows and the groups."""
    faults: Mapping[str, Exception] = dataclasses.field(default_factory=dict)
    """Groups whose membership records could not be evaluated because of a fault of the program."""
    records: Mapping[str, Mapping[bytes, bytes]] = dataclasses.field(default_factory=dict)
    """The living membership records of the groups that were asked for."""
    pending: frozenset[bytes] = frozenset()
    """The keys of offsets with a commit in a transaction that is open, as far as is known."""

    def topics_of(self, group: str) -> list[str]:
        """Give the topics that a group has offsets for."""
        mine = self.topic.filter(pc.equal(self.group, group))
        topics: list[str] = pc.unique(mine).to_pylist()
        return topics


@dataclasses.dataclass(frozen=True, slots=True)
class RemovedOffset:
    """An offset whose tombstone arrived, and what stood there until then. Times in ms; `key` is that of the runs."""

    key: bytes
    group: str
    topic: str
    partition: int
    # Of the tombstone's record.
    time: int
    # Of the last commit: its own timestamp, and the expiry stored in it; None: it carried none.
    last_time: int
    expire_time: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class ChangeEvents:
    """What a change told that was not known before: transitions with their groups, and offsets forgotten.

    An operation that the end of a batch cut in two may be told twice, the second time as it turned out to be. Batches
    are only cut so while the monitor catches up, when transitions are not `live`.
    """

    transitions: tuple[tuple[str, Transition], ...] = ()
    removed_offsets: tuple[RemovedOffset, ...] = ()


NO_EVENTS: Final = ChangeEvents()
_NONE: Final = frozenset[str]()


class DriverState:
    """Not thread-safe: the holder guards it."""

    def __init__(self) -> None:
        self._shards: dict[int, _Held] = {}
        self._left: dict[int, AbstractSet[str]] = {}
        self._names = RowLabels([])
        self._ranks = RowOrder(self._names, frozenset())

    def seed(self, shard: int, state: ShardState) -> None:
        """Load the whole state of a shard; nothing in it is an event."""
        change = ShardChange(state.runs, state.records, state.position, state.histories)
        self._shards.setdefault(shard, _Held()).apply(change)

    def apply(self, shard: int, change: ShardChange) -> ChangeEvents:
        """Take in what a batch changed in one shard, and give what is new in it; nothing when it comes again."""
        return self._shards.setdefault(shard, _Held()).apply(change)

    def drop_dead(self, died_before: int, now: int) -> None:
        """Drop the groups that died before this time (ms): their grace is over, and the fleet has no clock.

        A death in the future counts as one of `now` (ms) when it is first seen here.
        """
        for held in self._shards.values():
            held.drop_dead(died_before, now)

    def members(self, group: str, topic_names: Mapping[bytes, str] | None = None) -> tuple[Member, ...]:
        """Give the members of a group (see `Memberships.detail`); none for a group that is not known."""
        for number, held in self._shards.items():
            if group in held.memberships.by_group and group not in self._left.get(number, _NONE):
                return held.memberships.members(group, topic_names)
        return ()

    def columns(self, records_of: Collection[str] = ()) -> GroupColumns:
        """Give all rows of all shards as they are now. Later changes do not touch what was given.

        It has the membership records of these groups, too.
        """
        left = self._left = self._left_behind()
        held = [(left.get(number, _NONE), shard) for number, shard in sorted(self._shards.items()) if len(shard.runs)]
        shards = [(left.get(number, _NONE), shard) for number, shard in self._shards.items()]
        memberships = {
            name: known
            for gone, shard in shards
            for name, known in shard.memberships.by_group.items()
            if name not in gone
        }
        lives = {name: life for gone, shard in shards for name, life in shard.lives.items() if name not in gone}
        parts = [shard.rows_without(gone) for gone, shard in held] if left else []
        labels = [names for _, names in parts] if left else [shard.names() for _, shard in held]
        self._names = self._names.for_shards(labels)
        self._ranks = self._ranks.for_labels(self._names, memberships.keys() | lives.keys())
        return GroupColumns(
            runs=concat_runs([runs for runs, _ in parts]) if parts else _whole([shard for _, shard in held]),
            group=self._names.group,
            topic=self._names.topic,
            partition=self._names.partition,
            memberships=memberships,
            histories=lives,
            row_order=self._ranks,
            faults={name: error for shard in self._shards.values() for name, error in shard.memberships.faults.items()},
            records={group: self._living(group) for group in records_of},
        )

    def _left_behind(self) -> dict[int, AbstractSet[str]]:
        """Return which groups of which shards are in another shard now; empty as long as each is in one.

        After partitions were added to the offsets topic, the coordinator of a group may be in another partition, where
        it knows nothing of the records in the one before. A group is where it lives, else where it was created last.
        """
        known = sum(len(held.lives) for held in self._shards.values())
        if known == len({group for held in self._shards.values() for group in held.lives}):
            return {}
        found: dict[str, int] = {}
        left = defaultdict[int, set[str]](set)
        for number, held in sorted(self._shards.items()):
            for group in held.lives:
                before = found.setdefault(group, number)
                if before != number:
                    moved = held.newness(group) >= self._shards[before].newness(group)
                    left[before if moved else number].add(group)
                    found[group] = number if moved else before
        return dict(left)

    def _living(self, group: str) -> dict[bytes, bytes]:
        """Return a copy of the living membership records of a group, from the shard that it is in."""
        mine = (held for number, held in self._shards.items() if group not in self._left.get(number, _NONE))
        return {key: value for held in mine for key, value in held.memberships.records_of(group).items()}


class _Held:
    """One shard on the driver."""

    def __init__(self) -> None:
        self.runs = no_runs()
        self.memberships = Memberships()
        self.lives: dict[str, GroupHistory] = {}
        self._dead: dict[str, int] = {}
        self._position = NOTHING_READ
        self._names: ShardLabels | None = None

    def apply(self, change: ShardChange) -> ChangeEvents:
        if change.position < self._position:
            return NO_EVENTS
        again, self._position = change.position == self._position, change.position
        self.memberships.apply(change.records)
        transitions = tuple(self._take_lives(change.histories)) if len(change.histories) else ()
        if len(change.runs):
            self._take_runs(change.runs)
        if again or not (transitions or len(change.tombstones)):
            return NO_EVENTS
        return ChangeEvents(transitions, tuple(_told(change.tombstones)))

    def drop_dead(self, died_before: int, now: int) -> None:
        for group in [group for group, died in self._dead.items() if died > now]:
            self._dead[group] = now
        for group in [group for group, died in self._dead.items() if died < died_before]:
            del self._dead[group], self.lives[group]

    def _take_lives(self, lives: HistoryTable) -> Iterator[tuple[str, Transition]]:
        """Put the newer lives in place of those held; give the transitions that they have more."""
        for name, packed in zip(lives.groups.to_pylist(), lives.values.to_pylist(), strict=True):
            group = name.decode()
            before = self.lives.pop(group, None)
            self._dead.pop(group, None)
            if packed is None:
                continue
            life = self.lives[group] = unpack_history(packed)
            if life.died is not None:
                self._dead[group] = life.died
            known = before.transitions if before is not None else ()
            yield from ((group, each) for each in life.transitions if each not in known)

    def _take_runs(self, runs: Runs) -> None:
        known = find_rows(self.runs.keys, runs.keys)
        alive = runs.spans.commits > 0
        if alive.all() and (known >= 0).all():
            # By far the most: commits of known offsets. Every row stays where it is, and so do the names.
            rows = np.arange(len(self.runs))
            rows[known] = len(self.runs) + np.arange(len(runs))
            self.runs = dataclasses.replace(concat_runs([self.runs, runs]).take(rows), keys=self.runs.keys)
            return
        untouched = np.ones(len(self.runs), np.bool_)
        untouched[known[known >= 0]] = False
        self.runs = concat_runs([self.runs.take(untouched), runs if alive.all() else runs.take(alive)])
        self._names = None

    def newness(self, group: str) -> tuple[bool, int]:
        """Return what tells the shard where a group is now from one where it was: whether it lives, since when."""
        life = self.lives[group]
        return life.died is None, -1 if life.created is None else life.created

    def rows_without(self, groups: AbstractSet[str]) -> tuple[Runs, ShardLabels]:
        """Return the rows of all groups but these, with their names."""
        group, topic, partition = self.names()
        if not groups:
            return self.runs, (group, topic, partition)
        stays = np.array([name not in groups for name in group.dictionary.to_pylist()], np.bool_)
        rows = stays[group.indices.to_numpy(zero_copy_only=False)]
        return self.runs.take(rows), (group.filter(pa.array(rows)), topic.filter(pa.array(rows)), partition[rows])

    def names(self) -> ShardLabels:
        """Group, topic and partition of each row; decoded anew only when rows moved."""
        if self._names is None:
            read = decode_keys(self.runs.keys)
            if read.declined.any():  # a state written before such keys were refused still holds their runs
                self.runs = self.runs.take(~read.declined)
                read = decode_keys(self.runs.keys)
            self._names = read.group.dictionary_encode(), read.topic.dictionary_encode(), read.partition
        return self._names


def _whole(held: list[_Held]) -> Runs:
    """Put the rows of all shards together; the shards go on with their parts of it: else they were there twice."""
    if not held:
        return no_runs()
    runs = concat_runs([shard.runs for shard in held])
    start = 0
    for shard in held:
        shard.runs, start = _part(runs, start, len(shard.runs)), start + len(shard.runs)
    return runs


def _part(runs: Runs, start: int, count: int) -> Runs:
    """Give some consecutive rows without copying them."""
    end = start + count
    first, last = np.searchsorted(runs.slots.row, (start, end))
    slots = Slots(*(column[first:last] for column in columns_of(runs.slots)))
    return Runs(
        keys=runs.keys.slice(start, count),
        spans=Spans(*(column[start:end] for column in columns_of(runs.spans))),
        leader_epoch=runs.leader_epoch[start:end],
        expire_time=runs.expire_time[start:end],
        metadata=runs.metadata.slice(start, count),
        topic_id=runs.topic_id.slice(start, count),
        slots=dataclasses.replace(slots, row=slots.row - start),
    )


def _told(forgotten: OffsetTombstones) -> Iterator[RemovedOffset]:
    known = forgotten.take(forgotten.known)
    names = decode_keys(known.keys)
    columns = (
        known.keys.to_pylist(),
        names.group.to_pylist(),
        names.topic.to_pylist(),
        names.partition.tolist(),
        known.time.tolist(),
        known.last_time.tolist(),
        [None if time < 0 else time for time in known.expire_time.tolist()],
    )
    return (RemovedOffset(*row) for row in zip(*columns, strict=True))
