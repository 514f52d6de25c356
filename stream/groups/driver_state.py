"""The driver's copy of all shards, updated by the changes of each micro-batch and read as columns of all groups.

A change replaces the rows that it touches, and the newest position wins, so applying a batch twice has no effect. The
transitions and removed offsets of a change are returned once, as `ChangeEvents`.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from decoders.columnar import decode_keys
from stream.groups.commits import aborts as abort_table
from stream.groups.commits.aborts import AbortedCommits, no_aborts
from stream.groups.commits.counts import new_commits
from stream.groups.commits.run_table import Runs, concat_runs, find_rows, no_runs
from stream.groups.commits.runs import Spans, columns_of
from stream.groups.commits.slots import Slots
from stream.groups.lifecycle.record import unpack_history
from stream.groups.membership.memberships import Membership, Memberships
from stream.groups.membership.subscriptions import LongSubscriptions
from stream.groups.row_order import RowLabels, RowOrder
from stream.groups.shard import NOTHING_READ, ShardChange

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from stream.groups.commits.counts import CommitCounts
    from stream.groups.commits.tombstones import OffsetTombstones
    from stream.groups.lifecycle.model import GroupHistory, Transition
    from stream.groups.lifecycle.table import HistoryTable
    from stream.groups.membership.memberships import Member
    from stream.groups.row_order import ShardLabels
    from stream.groups.shard import ShardState


@dataclasses.dataclass(frozen=True, slots=True)
class GroupColumns:
    """All groups at one time. Row i of `runs` belongs to `group[i]`, `topic[i]`, `partition[i]`."""

    runs: Runs
    group: pa.DictionaryArray
    topic: pa.DictionaryArray
    partition: np.ndarray[tuple[int], np.dtype[np.int32]]
    memberships: Mapping[str, Membership]
    """The membership of each group; groups with offsets only are absent."""
    histories: Mapping[str, GroupHistory]
    """The history of every group, including dead groups that have not been dropped yet."""
    row_order: RowOrder
    """The order of rows and groups in output."""
    faults: Mapping[str, Exception] = dataclasses.field(default_factory=dict)
    """Groups whose membership records could not be evaluated because of a fault of the program."""
    long_subscriptions: frozenset[str] = frozenset()
    """Groups whose subscriptions are not known, because they are too long to be kept."""
    records: Mapping[str, Mapping[bytes, bytes]] = dataclasses.field(default_factory=dict)
    """The current membership records of the groups requested from `DriverState.columns`."""
    pending: frozenset[bytes] = frozenset()
    """The keys of offsets with a commit in an open transaction, as far as known."""
    aborts: AbortedCommits = dataclasses.field(default_factory=no_aborts)
    """The aborted commits of each key since its last commit, in no order; also of keys without any commit."""
    commit_counts: Mapping[str, int] | None = None
    """The commits of each group that were read after the process had caught up; None: they are not counted."""

    def topics_of(self, group: str) -> list[str]:
        """Return the topics that a group has offsets for."""
        topics: list[str] = pc.unique(self.topic.filter(pc.equal(self.group, group))).to_pylist()
        return topics


@dataclasses.dataclass(frozen=True, slots=True)
class RemovedOffset:
    """An offset that a tombstone removed, with its last commit. Times in ms; `key` is the key of its run."""

    key: bytes
    group: str
    topic: str
    partition: int
    # Of the tombstone's record.
    time: int
    # Of the last commit: its own timestamp, and the expire timestamp stored in it, if any.
    last_time: int
    expire_time: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class ChangeEvents:
    """The new events of a change: transitions with their groups, and removed offsets.

    An operation that the end of a batch cuts in two may cause events twice; the second ones are final. Batches are cut
    like this only while the monitor catches up, when transitions are not `live`.
    """

    transitions: tuple[tuple[str, Transition], ...] = ()
    removed_offsets: tuple[RemovedOffset, ...] = ()


NO_EVENTS: Final = ChangeEvents()
_NO_GROUPS: Final = frozenset[str]()


class DriverState:
    """The copies of all shards. Not thread-safe: the owner holds a lock."""

    def __init__(self, commit_counts: CommitCounts | None = None) -> None:
        """Start without groups. `commit_counts` counts the commits of later changes; None: they are not counted."""
        self.commit_counts = commit_counts
        self._shards: dict[int, _ShardCopy] = {}
        self._subscriptions = LongSubscriptions()
        # By shard, the groups whose current coordinator is in another shard.
        self._moved: dict[int, AbstractSet[str]] = {}
        self._labels = RowLabels([])
        self._row_order = RowOrder(self._labels, frozenset())

    def seed(self, shard: int, state: ShardState) -> None:
        """Load the whole state of a shard; nothing in it is an event."""
        change = ShardChange(
            state.runs, state.records, state.position, state.histories, time=state.time, aborts=state.aborts
        )
        self._shards.setdefault(shard, _ShardCopy(self._subscriptions)).apply(change)

    def apply(self, shard: int, change: ShardChange, *, catching_up: bool = False) -> ChangeEvents:
        """Apply the change of a batch to a shard and return its events; none if the change was applied before.

        The commits that are read while `catching_up` are not counted.
        """
        counts = None if catching_up else self.commit_counts
        return self._shards.setdefault(shard, _ShardCopy(self._subscriptions)).apply(change, counts)

    def drop_dead(self, died_before: int, now: int) -> None:
        """Drop the groups that died before this time (ms).

        A death in the future counts as a death at `now` (ms) from the first call that sees it.
        """
        for shard in self._shards.values():
            shard.drop_dead(died_before, now)

    def members(self, group: str, topic_names: Mapping[bytes, str] | None = None) -> tuple[Member, ...]:
        """Return the members of a group (see `Memberships.members`); none for an unknown group."""
        for number, shard in self._shards.items():
            if group in shard.memberships.by_group and group not in self._moved.get(number, _NO_GROUPS):
                return shard.memberships.members(group, topic_names)
        return ()

    def histories(self) -> Iterator[tuple[int, Mapping[str, GroupHistory]]]:
        """Yield the history of each group by shard; a group whose coordinator moved is in two shards."""
        yield from ((number, shard.histories) for number, shard in sorted(self._shards.items()))

    def columns(self, records_of: Collection[str] = ()) -> GroupColumns:
        """Return all rows of all shards, and the membership records of the groups `records_of`.

        Later changes do not affect the returned columns.
        """
        moved = self._moved = self._moved_groups()
        with_rows = [
            (moved.get(number, _NO_GROUPS), shard) for number, shard in sorted(self._shards.items()) if len(shard.runs)
        ]
        shards = [(moved.get(number, _NO_GROUPS), shard) for number, shard in self._shards.items()]
        memberships = {
            name: membership
            for excluded, shard in shards
            for name, membership in shard.memberships.by_group.items()
            if name not in excluded
        }
        histories = {
            name: history
            for excluded, shard in shards
            for name, history in shard.histories.items()
            if name not in excluded
        }
        parts = [shard.rows_without(excluded) for excluded, shard in with_rows] if moved else []
        labels = [labels for _, labels in parts] if moved else [shard.labels() for _, shard in with_rows]
        self._labels = self._labels.for_shards(labels)
        self._row_order = self._row_order.for_labels(self._labels, memberships.keys() | histories.keys())
        return GroupColumns(
            runs=concat_runs([runs for runs, _ in parts]) if parts else _share_runs([shard for _, shard in with_rows]),
            group=self._labels.group,
            topic=self._labels.topic,
            partition=self._labels.partition,
            memberships=memberships,
            histories=histories,
            row_order=self._row_order,
            faults={name: error for shard in self._shards.values() for name, error in shard.memberships.faults.items()},
            long_subscriptions=frozenset(self._subscriptions.left_out),
            records={group: self._records_of(group) for group in records_of},
            aborts=abort_table.concat([shard.aborts for shard in self._shards.values()]),
            commit_counts=None if self.commit_counts is None else self.commit_counts.of_groups(self._row_order.groups),
        )

    def _moved_groups(self) -> dict[int, AbstractSet[str]]:
        """Return by shard the groups that are in another shard now; empty while every group is in one shard.

        After partitions were added to `__consumer_offsets`, the coordinator of a group may be in another partition,
        where it has none of the group's records in the old partition. A group belongs to the shard where it is not
        dead; if that does not decide, to the shard where it was created last.
        """
        count = sum(len(shard.histories) for shard in self._shards.values())
        if count == len({group for shard in self._shards.values() for group in shard.histories}):
            return {}
        shard_of_group: dict[str, int] = {}
        moved = defaultdict[int, set[str]](set)
        for number, shard in sorted(self._shards.items()):
            for group in shard.histories:
                other = shard_of_group.setdefault(group, number)
                if other != number:
                    is_newer = shard.recency(group) >= self._shards[other].recency(group)
                    moved[other if is_newer else number].add(group)
                    shard_of_group[group] = number if is_newer else other
        return dict(moved)

    def _records_of(self, group: str) -> dict[bytes, bytes]:
        """Return a copy of the current membership records of a group, from its shard."""
        shards = (shard for number, shard in self._shards.items() if group not in self._moved.get(number, _NO_GROUPS))
        return {key: value for shard in shards for key, value in shard.memberships.records_of(group).items()}


class _ShardCopy:
    """The copy of one shard on the driver."""

    def __init__(self, subscriptions: LongSubscriptions) -> None:
        self.runs = no_runs()
        self.aborts = no_aborts()
        self.memberships = Memberships(subscriptions)
        self.histories: dict[str, GroupHistory] = {}
        self._died: dict[str, int] = {}
        self._position = NOTHING_READ
        self._labels: ShardLabels | None = None

    def apply(self, change: ShardChange, counts: CommitCounts | None = None) -> ChangeEvents:
        if change.position < self._position:
            return NO_EVENTS
        position, self._position = self._position, change.position
        self.memberships.apply(change.records)
        transitions = tuple(self._apply_histories(change.histories, position)) if len(change.histories) else ()
        self._apply_aborts(change)
        if len(change.runs):
            known = find_rows(self.runs.keys, change.runs.keys)
            if counts is not None:
                counts.add(change.runs, new_commits(self.runs.spans, change.runs.spans, known, position))
            self._apply_runs(change.runs, known)
        if position == change.position or not (transitions or len(change.tombstones)):
            return NO_EVENTS
        return ChangeEvents(transitions, tuple(_removed_offsets(change.tombstones)))

    def drop_dead(self, died_before: int, now: int) -> None:
        for group in [group for group, died in self._died.items() if died > now]:
            self._died[group] = now
        for group in [group for group, died in self._died.items() if died < died_before]:
            del self._died[group], self.histories[group]

    def _apply_histories(self, table: HistoryTable, position: int) -> Iterator[tuple[str, Transition]]:
        """Replace histories by the newer ones; yield the transitions of records after `position`.

        The driver drops dead groups earlier than the state does, so a history may come back with its old transitions.
        """
        for name, packed in zip(table.groups.to_pylist(), table.values.to_pylist(), strict=True):
            group = name.decode()
            self.histories.pop(group, None)
            self._died.pop(group, None)
            if packed is None:
                continue
            history = self.histories[group] = unpack_history(packed)
            if history.died is not None:
                self._died[group] = history.died
            yield from ((group, each) for each in history.transitions if each.position > position)

    def _apply_aborts(self, change: ShardChange) -> None:
        others = abort_table.since(abort_table.without(self.aborts, change.aborts.keys), change.runs)
        self.aborts = abort_table.recent(abort_table.concat([others, change.aborts]), change.time)

    def _apply_runs(self, runs: Runs, known: NDArray[np.int64]) -> None:
        """Replace runs by the newer ones; `known` has the row of each key in the present runs, -1 for a new one."""
        has_commits = runs.spans.commits > 0
        if has_commits.all() and (known >= 0).all():
            # The most frequent case: commits of known offsets. Every row keeps its place, and so do the labels.
            rows = np.arange(len(self.runs))
            rows[known] = len(self.runs) + np.arange(len(runs))
            self.runs = dataclasses.replace(concat_runs([self.runs, runs]).take(rows), keys=self.runs.keys)
            return
        untouched = np.ones(len(self.runs), np.bool_)
        untouched[known[known >= 0]] = False
        changed = runs if has_commits.all() else runs.take(has_commits)
        self.runs = concat_runs([self.runs.take(untouched), changed])
        self._labels = None

    def recency(self, group: str) -> tuple[bool, int]:
        """Return a sort key that is greater in the shard where a group is now: whether it is not dead, when created."""
        history = self.histories[group]
        return history.died is None, -1 if history.created is None else history.created

    def rows_without(self, groups: AbstractSet[str]) -> tuple[Runs, ShardLabels]:
        """Return the rows of all groups except these, with their labels."""
        group, topic, partition = self.labels()
        if not groups:
            return self.runs, (group, topic, partition)
        is_kept = np.array([name not in groups for name in group.dictionary.to_pylist()], np.bool_)
        rows = is_kept[group.indices.to_numpy(zero_copy_only=False)]
        return self.runs.take(rows), (group.filter(pa.array(rows)), topic.filter(pa.array(rows)), partition[rows])

    def labels(self) -> ShardLabels:
        """Return group, topic and partition of each row; keys are decoded again only after rows have moved."""
        if self._labels is None:
            read = decode_keys(self.runs.keys)
            if read.declined.any():  # a state of an earlier version may have runs of keys that are rejected now
                self.runs = self.runs.take(~read.declined)
                read = decode_keys(self.runs.keys)
            self._labels = read.group.dictionary_encode(), read.topic.dictionary_encode(), read.partition
        return self._labels


def _share_runs(shards: list[_ShardCopy]) -> Runs:
    """Return the rows of all shards, and make the shards use slices of them, so that the rows are in memory once."""
    if not shards:
        return no_runs()
    runs = concat_runs([shard.runs for shard in shards])
    start = 0
    for shard in shards:
        shard.runs, start = _slice(runs, start, len(shard.runs)), start + len(shard.runs)
    return runs


def _slice(runs: Runs, start: int, count: int) -> Runs:
    """Return consecutive rows without copying them."""
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


def _removed_offsets(tombstones: OffsetTombstones) -> Iterator[RemovedOffset]:
    known = tombstones.take(tombstones.known)
    labels = decode_keys(known.keys)
    columns = (
        known.keys.to_pylist(),
        labels.group.to_pylist(),
        labels.topic.to_pylist(),
        labels.partition.tolist(),
        known.time.tolist(),
        known.last_time.tolist(),
        [None if time < 0 else time for time in known.expire_time.tolist()],
    )
    return (RemovedOffset(*row) for row in zip(*columns, strict=True))
