"""The driver's copy of all shards, updated by the changes of each micro-batch and read as columns of all groups.

The transitions and removed offsets of a change are returned once, as `ChangeEvents`.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stream.groups.commits.counts import CommitCounts
from stream.groups.commits.run_table import Runs, no_runs
from stream.groups.commits.tombstones import AbortedCommits
from stream.groups.lifecycle.model import GroupHistory
from stream.groups.membership.memberships import Member, Membership
from stream.groups.membership.model import LongSubscriptions
from stream.groups.row_order import NO_EVENTS, ChangeEvents, RowLabels, RowOrder, ShardCopy
from stream.groups.shard import ShardChange, ShardState
from stream.groups.state_rows import StateRows

_NO_GROUPS: Final = frozenset[str]()


@dataclasses.dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
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
    aborts: AbortedCommits = dataclasses.field(default_factory=AbortedCommits.empty)
    """The aborted commits of each key since its last commit, in no order; also of keys without any commit."""
    commit_counts: Mapping[str, int] | None = None
    """The commits of each group that were read after the process had caught up; None: they are not counted."""

    def topics_of(self, group: str) -> list[str]:
        """Return the topics that a group has offsets for."""
        topics: list[str] = pc.unique(self.topic.filter(pc.equal(self.group, group))).to_pylist()
        return topics

    def all_groups(self) -> frozenset[str]:
        """Return the names of all groups."""
        return frozenset(self.row_order.groups)

    def rows_of(self, groups: AbstractSet[str]) -> NDArray[np.intp]:
        """Return the rows of these groups."""
        is_selected = np.array([name in groups for name in self.group.dictionary.to_pylist()] or [False], np.bool_)
        return np.flatnonzero(is_selected[self.group.indices.to_numpy(zero_copy_only=False)])

    def select(self, groups: AbstractSet[str]) -> GroupColumns:
        """Return the columns of these groups only, without faults."""
        rows = self.rows_of(groups)
        memberships = {name: each for name, each in self.memberships.items() if name in groups}
        histories = {name: each for name, each in self.histories.items() if name in groups}
        labels = RowLabels([self.row_order.labels.take(rows)], is_sorted=self.row_order.labels.is_sorted)
        return dataclasses.replace(
            self,
            runs=self.runs.take(rows) if len(rows) else no_runs(),
            group=labels.group,
            topic=labels.topic,
            partition=labels.partition,
            memberships=memberships,
            histories=histories,
            row_order=RowOrder(labels, memberships.keys() | histories.keys()),
            records={name: each for name, each in self.records.items() if name in groups},
            faults={},
        )


class DriverState:
    """The copies of all shards. Not thread-safe: the owner holds a lock."""

    def __init__(self, commit_counts: CommitCounts | None = None) -> None:
        """Start without groups. `commit_counts` counts the commits of later changes; None: they are not counted."""
        self.commit_counts = commit_counts
        self._shards: dict[int, ShardCopy] = {}
        self._subscriptions = LongSubscriptions()
        # By shard, the groups whose current coordinator is in another shard.
        self._moved: dict[int, AbstractSet[str]] = {}
        self._rows = StateRows(commit_counts)
        self._row_order = RowOrder(self._rows.labels, frozenset())
        self._memberships: Mapping[str, Membership] = {}
        self._histories: Mapping[str, GroupHistory] = {}
        self._names: AbstractSet[str] = frozenset()
        self._are_same_groups = True
        """No batch had group records since the last columns."""
        self._columns: GroupColumns | None = None

    def seed(self, shard: int, state: ShardState) -> None:
        """Load the whole state of a shard; nothing in it is an event."""
        change = ShardChange(
            state.runs, state.records, state.position, state.histories, time=state.time, aborts=state.aborts
        )
        self.apply(shard, change, catching_up=True)

    def apply(self, shard: int, change: ShardChange, *, catching_up: bool = False) -> ChangeEvents:
        """Apply the change of a batch to a shard and return its events; none if the change was applied before.

        The commits that are read while `catching_up` are not counted, and the offsets removed then are no events.
        """
        self._columns, copy = None, self._shards.setdefault(shard, ShardCopy(self._subscriptions))
        if change.position < copy.position:
            return NO_EVENTS
        self._rows.add(shard, change.runs, copy.position, are_counted=not catching_up)
        self._are_same_groups &= not (len(change.records) or len(change.histories))
        return copy.apply(change, catching_up=catching_up)

    def drop_dead(self, died_before: int, now: int) -> None:
        """Drop the groups that died before this time (ms).

        A death in the future counts as a death at `now` (ms) from the first call that sees it.
        """
        if sum(shard.drop_dead(died_before, now) for shard in self._shards.values()):
            self._columns, self._are_same_groups = None, False

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

        Later changes do not affect the returned columns. Without any, and without records, they stay the same object.
        """
        if self._columns is None or records_of or self._columns.records:
            self._columns = None
            self._columns = self._copied(records_of)
        return self._columns

    def _copied(self, records_of: Collection[str]) -> GroupColumns:
        if not self._are_same_groups:
            self._find_groups()
        self._rows.merge()
        runs, labels = self._rows.without(self._moved)
        self._row_order = self._row_order.for_labels(labels, self._names)
        return GroupColumns(
            runs=runs,
            group=labels.group,
            topic=labels.topic,
            partition=labels.partition,
            memberships=self._memberships,
            histories=self._histories,
            row_order=self._row_order,
            faults={name: error for shard in self._shards.values() for name, error in shard.memberships.faults.items()},
            long_subscriptions=frozenset(self._subscriptions.left_out),
            records={group: self._records_of(group) for group in records_of},
            aborts=AbortedCommits.concat([shard.aborts for shard in self._shards.values()]),
            commit_counts=None if self.commit_counts is None else self.commit_counts.of_groups(self._row_order.groups),
        )

    def _find_groups(self) -> None:
        """Read the memberships and histories of all groups from their shards."""
        moved = self._moved = self._moved_groups()
        shards = [(moved.get(number, _NO_GROUPS), shard) for number, shard in self._shards.items()]
        self._memberships = _unless_changed(
            self._memberships, [(excluded, shard.memberships.by_group) for excluded, shard in shards]
        )
        self._histories = _unless_changed(self._histories, [(excluded, shard.histories) for excluded, shard in shards])
        self._names, self._are_same_groups = self._memberships.keys() | self._histories.keys(), True

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


_Value = TypeVar("_Value")


def _unless_changed(
    last: Mapping[str, _Value], of_shards: Iterable[tuple[AbstractSet[str], Mapping[str, _Value]]]
) -> Mapping[str, _Value]:
    """Return the values of all shards without those of the excluded groups; `last`, if it has the same ones."""
    values = {name: each for excluded, shard in of_shards for name, each in shard.items() if name not in excluded}
    return last if values == last else values
