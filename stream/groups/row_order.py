"""Labels of the rows of the driver state, and their order in output: by group, topic and partition.

Sorting two million rows takes a second and is rarely needed, because a commit moves no row. Both values therefore stay
the same objects until a row or a group is added or removed.

The driver's copy of one shard, and the events of the changes that are applied to it.

A change replaces the rows that it touches, and the newest position wins, so applying a batch twice has no effect.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from decoders.columnar import decode_keys
from stream.groups.commits import tombstones as abort_table
from stream.groups.commits.counts import CommitCounts, new_commits
from stream.groups.commits.run_table import Runs, concat_runs, find_rows, no_runs
from stream.groups.commits.runs import Spans, columns_of
from stream.groups.commits.slots import Slots
from stream.groups.commits.tombstones import AbortedCommits, OffsetTombstones
from stream.groups.lifecycle.model import GroupHistory, Transition
from stream.groups.lifecycle.record import HistoryTable, unpack
from stream.groups.membership.memberships import Memberships
from stream.groups.membership.model import LongSubscriptions
from stream.groups.shard import NOTHING_READ, ShardChange

Partitions = np.ndarray[tuple[int], np.dtype[np.int32]]
ShardLabels = tuple[pa.DictionaryArray, pa.DictionaryArray, Partitions]
"""Group, topic and partition of each row of a shard."""

_NAME: Final = pa.dictionary(pa.int32(), pa.string())


class RowLabels:
    """Group, topic and partition of every row of all shards, in the order of the shards."""

    def __init__(self, shards: Sequence[ShardLabels]) -> None:
        self._shards = list(shards)
        self.group = _unified([group for group, _, _ in shards])
        self.topic = _unified([topic for _, topic, _ in shards])
        self.partition = np.concatenate([np.empty(0, np.int32), *(partition for _, _, partition in shards)])

    def for_shards(self, shards: Sequence[ShardLabels]) -> RowLabels:
        """Return the labels of these shards: this object if they are the same shards, compared by identity."""
        same = len(shards) == len(self._shards) and all(map(operator.is_, shards, self._shards))
        return self if same else RowLabels(shards)


class RowOrder:
    """Sorted names, and rows sorted by their labels. Each property is computed on first use.

    `groups` also has groups without rows. Row i of the order is row `order[i]` of the driver state; `group`, `topic`
    (indices of `groups` and `topics`) and `partition` are in that order.
    """

    def __init__(self, labels: RowLabels, groups: AbstractSet[str]) -> None:
        self.labels = labels
        self._all_groups = groups

    def for_labels(self, labels: RowLabels, groups: AbstractSet[str]) -> RowOrder:
        """Return the order of these labels and groups: this object if nothing changed."""
        return self if labels is self.labels and groups == self._all_groups else RowOrder(labels, groups)

    @functools.cached_property
    def groups(self) -> list[str]:
        """All groups, sorted."""
        return sorted({*self.labels.group.dictionary.to_pylist(), *self._all_groups})

    @functools.cached_property
    def topics(self) -> list[str]:
        """All topics that have rows, sorted."""
        return sorted(self.labels.topic.dictionary.to_pylist())

    @functools.cached_property
    def order(self) -> NDArray[np.int64]:
        """The row numbers of the driver state, sorted by group, topic and partition."""
        group, topic = _indices(self.labels.group, self.groups), _indices(self.labels.topic, self.topics)
        return np.lexsort((self.labels.partition, group * max(1, len(self.topics)) + topic))

    @functools.cached_property
    def group(self) -> NDArray[np.int64]:
        """The index in `groups` of each row's group."""
        return _indices(self.labels.group, self.groups)[self.order]

    @functools.cached_property
    def topic(self) -> NDArray[np.int64]:
        """The index in `topics` of each row's topic."""
        return _indices(self.labels.topic, self.topics)[self.order]

    @functools.cached_property
    def partition(self) -> Partitions:
        """The partition of each row."""
        return self.labels.partition[self.order]


def _indices(names: pa.DictionaryArray, sorted_names: Iterable[str]) -> NDArray[np.int64]:
    index = {name: number for number, name in enumerate(sorted_names)}
    of_dictionary = np.array([index[name] for name in names.dictionary.to_pylist()] or [0], np.int64)
    indices: NDArray[np.int64] = of_dictionary[names.indices.to_numpy(zero_copy_only=False)]
    return indices


def _unified(chunks: list[pa.DictionaryArray]) -> pa.DictionaryArray:
    if not chunks:
        return pa.array([], _NAME)
    return pa.chunked_array(chunks).unify_dictionaries().combine_chunks()


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


class ShardCopy:
    """The copy of one shard on the driver."""

    def __init__(self, subscriptions: LongSubscriptions) -> None:
        """Start without rows; `subscriptions` are shared by all shards."""
        self.runs = no_runs()
        self.aborts = AbortedCommits.empty()
        self.memberships = Memberships(subscriptions)
        self.histories: dict[str, GroupHistory] = {}
        self._died: dict[str, int] = {}
        self._position = NOTHING_READ
        self._labels: ShardLabels | None = None

    def apply(self, change: ShardChange, counts: CommitCounts | None = None) -> ChangeEvents:
        """Apply a change and return its events, see `DriverState.apply`."""
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

    def drop_dead(self, died_before: int, now: int) -> int:
        """Drop dead groups, see `DriverState.drop_dead`; return their number."""
        self._died |= {group: now for group, died in self._died.items() if died > now}
        dropped = [group for group, died in self._died.items() if died < died_before]
        for group in dropped:
            del self._died[group], self.histories[group]
        return len(dropped)

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
            history = self.histories[group] = unpack(packed).history()
            if history.died is not None:
                self._died[group] = history.died
            yield from ((group, each) for each in history.transitions if each.position > position)

    def _apply_aborts(self, change: ShardChange) -> None:
        others = abort_table.since(abort_table.without(self.aborts, change.aborts.keys), change.runs)
        self.aborts = abort_table.recent(AbortedCommits.concat([others, change.aborts]), change.time)

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


def share_runs(shards: list[ShardCopy]) -> Runs:
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
