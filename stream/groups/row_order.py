"""Labels of the rows of the driver state, and their order in output: by group, topic and partition.

The driver's copy of what one shard has besides its rows, and the events of the changes that are applied to it. A change
replaces what it touches, and the newest position wins, so applying a batch twice has no effect.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from decoders.columnar import decode_keys
from decoders.cursors import BinaryColumn
from stream.groups.commits import tombstones as abort_table
from stream.groups.commits.tombstones import AbortedCommits, OffsetTombstones
from stream.groups.lifecycle.model import GroupHistory, Transition
from stream.groups.lifecycle.record import HistoryTable, unpack
from stream.groups.membership.memberships import Memberships
from stream.groups.membership.model import LongSubscriptions
from stream.groups.shard import NOTHING_READ, ShardChange

Partitions = np.ndarray[tuple[int], np.dtype[np.int32]]
KeyLabels = tuple[pa.DictionaryArray, pa.DictionaryArray, Partitions]
"""Group, topic and partition of each of some keys."""

_NAME: Final = pa.dictionary(pa.int32(), pa.string())
_PARTITION: Final = np.dtype(">i4")
"""The last field of a key."""


class RowLabels:
    """Group, topic and partition of each row; no name is in a dictionary without a row."""

    def __init__(self, parts: Sequence[KeyLabels], *, is_sorted: bool = False) -> None:
        """Put the rows of several parts one after the other; `is_sorted`: they are in the order of output."""
        self.is_sorted = is_sorted
        self.group = _unified([group for group, _, _ in parts])
        self.topic = _unified([topic for _, topic, _ in parts])
        self.partition = np.concatenate([np.empty(0, np.int32), *(partition for _, _, partition in parts)])

    def take(self, rows: NDArray[Any]) -> KeyLabels:
        """Return the labels of these rows (indices or a mask)."""
        indices = pa.array(np.flatnonzero(rows) if rows.dtype == np.bool_ else rows)
        # Encoded again, because a dictionary must not have names without rows.
        group, topic = (each.take(indices).cast(pa.string()).dictionary_encode() for each in (self.group, self.topic))
        return group, topic, self.partition[rows]


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
        return sorted({*map(sys.intern, self.labels.group.dictionary.to_pylist()), *self._all_groups})

    @functools.cached_property
    def topics(self) -> list[str]:
        """All topics that have rows, sorted."""
        return sorted(self.labels.topic.dictionary.to_pylist())

    @functools.cached_property
    def order(self) -> NDArray[np.int64]:
        """The row numbers of the driver state, sorted by group, topic and partition."""
        if self.labels.is_sorted:
            return np.arange(len(self.labels.partition))
        group, topic = _indices(self.labels.group, self.groups), _indices(self.labels.topic, self.topics)
        return np.lexsort((self.labels.partition, group * max(1, len(self.topics)) + topic))

    @functools.cached_property
    def group(self) -> NDArray[np.int64]:
        """The index in `groups` of each row's group."""
        return self._ordered(_indices(self.labels.group, self.groups))

    @functools.cached_property
    def topic(self) -> NDArray[np.int64]:
        """The index in `topics` of each row's topic."""
        return self._ordered(_indices(self.labels.topic, self.topics))

    @functools.cached_property
    def partition(self) -> Partitions:
        """The partition of each row."""
        return self._ordered(self.labels.partition)

    def _ordered(self, column: NDArray[Any]) -> NDArray[Any]:
        return column if self.labels.is_sorted else column[self.order]


def _indices(names: pa.DictionaryArray, sorted_names: Iterable[str]) -> NDArray[np.int64]:
    index = {name: number for number, name in enumerate(sorted_names)}
    of_dictionary = np.array([index[name] for name in names.dictionary.to_pylist()] or [0], np.int64)
    indices: NDArray[np.int64] = of_dictionary[names.indices.to_numpy(zero_copy_only=False)]
    return indices


def _unified(chunks: list[pa.DictionaryArray]) -> pa.DictionaryArray:
    if not chunks:
        return pa.array([], _NAME)
    return pa.chunked_array(chunks).unify_dictionaries().combine_chunks()


def decode_names(keys: pa.BinaryArray) -> KeyLabels:
    """Return group, topic and partition of each canonical key; a key that is rejected has no group.

    Most of them differ from another one only in their last bytes, the partition, so the names are decoded once a pair.
    """
    pairs = pc.binary_slice(keys, 0, -_PARTITION.itemsize).dictionary_encode()
    read = decode_keys(pc.binary_join_element_wise(pairs.dictionary, bytes(_PARTITION.itemsize), b""))
    column = BinaryColumn(keys)
    partition = column.numbers(column.end - _PARTITION.itemsize, _PARTITION, absent=-1)
    names = (each.dictionary_encode() for each in (read.group, read.topic))
    (groups, group), (topics, topic) = ((each.dictionary, each.indices.take(pairs.indices)) for each in names)
    if (partition < 0).any():
        group = pc.if_else(pa.array(partition < 0), pa.scalar(None, group.type), group)
    return (pa.DictionaryArray.from_arrays(group, groups), pa.DictionaryArray.from_arrays(topic, topics), partition)


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
    """The copy of one shard on the driver, without its rows."""

    def __init__(self, subscriptions: LongSubscriptions) -> None:
        """Start empty; `subscriptions` are shared by all shards."""
        self.aborts = AbortedCommits.empty()
        self.memberships = Memberships(subscriptions)
        self.histories: dict[str, GroupHistory] = {}
        self.position = NOTHING_READ
        """The log position that is applied."""
        self._died: dict[str, int] = {}

    def apply(self, change: ShardChange, *, catching_up: bool) -> ChangeEvents:
        """Apply a change that is not older than `position` and return its events, see `DriverState.apply`."""
        position, self.position = self.position, change.position
        self.memberships.apply(change.records)
        transitions = tuple(self._apply_histories(change.histories, position)) if len(change.histories) else ()
        self._apply_aborts(change)
        if position == change.position or not (transitions or len(change.tombstones)):
            return NO_EVENTS
        if catching_up:
            return ChangeEvents(transitions)
        new = change.tombstones.take(change.tombstones.position > position)
        return ChangeEvents(transitions, tuple(_removed_offsets(new)))

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
            group = sys.intern(name.decode())
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

    def recency(self, group: str) -> tuple[bool, int]:
        """Return a sort key that is greater in the shard where a group is now: whether it is not dead, when created."""
        history = self.histories[group]
        return history.died is None, -1 if history.created is None else history.created


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
