"""The rows of one tick: every (group, topic, partition) that has a commit or belongs to a group.

A partition belongs to a group if a member owns it or subscribes to its topic, or if a group without membership commits
more partitions of its topic than it leaves out. One without any commit is in no commit record, and yet a group may be
stuck there unnoticed, so such rows are derived from memberships and partition counts. Share groups have none, because
they keep no offsets in `__consumer_offsets`.

Rows are sorted by group, topic and partition, as in the read model. They stay the same object until a row is added or
removed.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream.groups.commits.slots import Slots
from stream.groups.driver_state import GroupColumns
from stream.groups.membership.model import HIGHEST, SIMPLE, Membership, partitions_in_mask
from stream.health.columns import Flags, Ints

MOST: Final = 100_000
"""Limit of rows without a commit over all groups, because a pattern may match all topics of a cluster."""
_BLOCK: Final = 1 << 18
"""Partitions that are compared with the commits at once, which needs about 100 bytes for each."""
_NO_OFFSETS: Final = "share"
_LEAST_SIBLINGS: Final = 2
"""Partitions that a group without membership commits if it reads the whole topic."""

_Belonging: TypeAlias = "tuple[str, str, NDArray[np.int32]]"
"""A group, a topic, and partitions of it that belong to the group."""
_Kind = TypeVar("_Kind", bound=np.generic)


@dataclasses.dataclass(frozen=True, slots=True)
class InputRows:
    """The rows of one tick; `group` and `topic` are positions in the sorted lists of names."""

    groups: Sequence[str]
    topics: Sequence[str]
    group: Ints
    topic: Ints
    partition: NDArray[np.int32]
    state_row: Ints
    """The row of the driver state, -1 where there is no commit."""
    omitted: int = 0
    """Rows without a commit that exceed `MOST`."""
    are_of_state: bool = False
    """They are the rows of the driver state, in its order."""
    committed: Flags = dataclasses.field(init=False, compare=False, repr=False)
    """Mask of the rows with a commit."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "committed", self.state_row >= 0)

    def align(self, column: NDArray[_Kind], missing: Any) -> NDArray[_Kind]:
        """Return a column of the driver state in the order of these rows, with `missing` where there is no commit."""
        if self.are_of_state:
            return column
        if len(self.state_row) == len(column):
            return column[self.state_row]
        aligned = np.full((len(self.state_row), *column.shape[1:]), missing, column.dtype)
        aligned[self.committed] = column[self.state_row[self.committed]]
        return aligned

    def align_slots(self, slots: Slots) -> Slots:
        """Return the slots of the driver state, which are sorted by its rows, in the order of these rows."""
        if self.are_of_state:
            return slots
        rows = len(self.state_row)
        counts = np.bincount(slots.row, minlength=max(int(self.state_row.max(initial=-1)) + 1, 1))
        starts = np.cumsum(counts) - counts
        slots_of_row = np.where(self.committed, counts[self.state_row], 0)
        first = np.cumsum(slots_of_row) - slots_of_row
        at = np.repeat(starts[self.state_row] - first, slots_of_row) + np.arange(int(slots_of_row.sum()))
        row = np.repeat(np.arange(rows), slots_of_row)
        return Slots(row, slots.number[at], slots.offset[at], slots.time[at], slots.commits[at])

    def position(self, group: int | None, topic: int | None, partition: int) -> int | None:
        """Return the position of a row; None if there is none. `group` and `topic` are numbers, None is no name."""
        first, last = 0, len(self)
        for column, value in ((self.group, group), (self.topic, topic), (self.partition, partition)):
            if value is None:
                return None
            begin, end = np.searchsorted(column[first:last], (value, value + 1))
            first, last = first + int(begin), first + int(end)
        return first if first < last else None

    def __len__(self) -> int:
        return len(self.state_row)


class RowFinder:
    """Determines the rows tick after tick; unchanged sources, compared by identity, give the same rows."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._sources: tuple[Any, ...] = ()
        self._rows: InputRows | None = None

    def find(self, state: GroupColumns, counts: Mapping[str, int], names: Mapping[bytes, str]) -> InputRows:
        """Return the rows of this tick; `counts` are the partitions of each topic, `names` those of topics by id."""
        sources = (state.row_order, state.memberships, counts, names)
        if self._rows is None or not _are_same(self._sources, sources):
            self._rows = _rows(state, counts, names, self._most)
        self._sources = sources
        return self._rows


def _are_same(previous: tuple[Any, ...], current: tuple[Any, ...]) -> bool:
    ranks, memberships, *others = current
    return (
        previous[0] is ranks
        and previous[2:] == tuple(others)
        and list(previous[1]) == list(memberships)
        and all(map(_have_same_partitions, previous[1].values(), memberships.values()))
    )


def _have_same_partitions(one: Membership, other: Membership) -> bool:
    return one is other or _facts(one) == _facts(other)


def _facts(membership: Membership) -> tuple[object, ...]:
    """Return what decides which partitions belong to a group."""
    return bool(membership.members), membership.kind, membership.subscribed, membership.owned


def _rows(state: GroupColumns, counts: Mapping[str, int], names: Mapping[bytes, str], most: int) -> InputRows:
    ranks = state.row_order
    columns = (ranks.groups, ranks.topics, ranks.group, ranks.topic, ranks.partition, ranks.order)
    committed = InputRows(*columns, are_of_state=ranks.labels.is_sorted)
    belonging = itertools.chain(
        _belonging_partitions(state.memberships, counts, names),
        _left_out_by_simple_groups(committed, state.memberships, counts),
    )
    without_commit = _WithoutCommit(committed, most)
    for block in _blocks(belonging):
        without_commit.add(block)
    return without_commit.rows()


def _blocks(belonging: Iterable[_Belonging]) -> Iterator[list[_Belonging]]:
    """Yield the items in lists of about `_BLOCK` partitions."""
    block: list[_Belonging] = []
    size = 0
    for each in belonging:
        block.append(each)
        size += len(each[2])
        if size >= _BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


def _belonging_partitions(
    memberships: Mapping[str, Membership], counts: Mapping[str, int], names: Mapping[bytes, str]
) -> Iterator[_Belonging]:
    """Yield (group, topic, partitions that belong to the group); each pair once, each partition once."""
    ranges: dict[int, NDArray[np.int32]] = {}
    for group, membership in memberships.items():
        if not membership.members or membership.kind == _NO_OFFSETS:
            continue
        subscribed = membership.subscribed or frozenset()
        for topic in subscribed:
            count = min(counts.get(topic, 0), HIGHEST + 1)
            if count > 0:
                if count not in ranges:
                    ranges[count] = np.arange(count, dtype=np.int32)
                yield group, topic, ranges[count]
        for ref, mask in membership.owned or ():
            name = ref if isinstance(ref, str) else names.get(ref)
            if name is not None and name not in subscribed and counts.get(name, 0) > 0:
                owned = np.array(partitions_in_mask(mask), np.int32)
                yield group, name, owned[owned < counts[name]]


def _left_out_by_simple_groups(
    committed: InputRows, memberships: Mapping[str, Membership], counts: Mapping[str, int]
) -> Iterator[_Belonging]:
    """Yield (group, topic, all partitions) where a group without membership commits most partitions, but not all.

    What such a group wants to read is known from its commits alone. One process of several that share a topic commits a
    small part of it.
    """
    simple = np.array([_has_no_membership(memberships.get(name)) for name in committed.groups], np.bool_)
    sizes = np.array([min(counts.get(name, 0), HIGHEST + 1) for name in committed.topics], np.int64)
    if not simple.any() or not len(committed):
        return
    is_there = simple[committed.group] & (committed.partition < sizes[committed.topic])
    width = len(committed.topics)
    pairs, number = np.unique((committed.group * width + committed.topic)[is_there], return_counts=True)
    missing = sizes[pairs % width] - number
    for pair in pairs[(missing > 0) & (missing < number) & (number >= _LEAST_SIBLINGS)].tolist():
        topic = committed.topics[pair % width]
        yield committed.groups[pair // width], topic, np.arange(sizes[pair % width], dtype=np.int32)


def _has_no_membership(membership: Membership | None) -> bool:
    return membership is None or membership.kind == SIMPLE


class _WithoutCommit:
    """Finds the partitions without a commit, up to `most` of them, and counts the others."""

    def __init__(self, committed: InputRows, most: int) -> None:
        self._committed = committed
        self._room = most
        self._omitted = 0
        self._groups = {name: number for number, name in enumerate(committed.groups)}
        self._topics = {name: number for number, name in enumerate(committed.topics)}
        # The committed rows are sorted, so pairs and places are sorted: a search is enough.
        self._pairs, pair = np.unique((committed.group << 32) | committed.topic, return_inverse=True)
        self._places = (pair << 31) | committed.partition
        self._found: list[tuple[Ints, Ints, NDArray[np.int32]]] = []

    def add(self, belonging: Sequence[_Belonging]) -> None:
        """Add partitions that belong to groups."""
        sizes = [len(partitions) for _, _, partitions in belonging]
        group = np.repeat(np.array([self._groups[name] for name, _, _ in belonging], np.int64), sizes)
        names = [self._topics.setdefault(name, len(self._topics)) for _, name, _ in belonging]
        topic = np.repeat(np.array(names, np.int64), sizes)
        partition = np.concatenate([partitions for _, _, partitions in belonging])
        new = np.flatnonzero(~self._have_commit((group << 32) | topic, partition))
        kept = new[: self._room]
        self._room -= len(kept)
        self._omitted += len(new) - len(kept)
        if len(kept):
            self._found.append((group[kept], topic[kept], partition[kept]))

    def rows(self) -> InputRows:
        """Return the committed rows and those found, sorted."""
        committed = self._committed
        if not self._found:
            return dataclasses.replace(committed, omitted=self._omitted)
        group, topic, partition = (np.concatenate(column) for column in zip(*self._found, strict=True))
        names = list(self._topics)
        used = sorted({*committed.topics, *(names[number] for number in np.unique(topic).tolist())})
        numbers = {name: number for number, name in enumerate(used)}
        renumbered = np.array([numbers.get(name, 0) for name in names], np.int64)
        groups = np.concatenate([committed.group, group])
        topics = renumbered[np.concatenate([committed.topic, topic])]
        partitions = np.concatenate([committed.partition, partition])
        state_rows = np.concatenate([committed.state_row, np.full(len(group), -1, np.int64)])
        order = np.lexsort((partitions, topics, groups))
        return InputRows(
            committed.groups, used, groups[order], topics[order], partitions[order], state_rows[order], self._omitted
        )

    def _have_commit(self, pair: Ints, partition: NDArray[np.int32]) -> Flags:
        if not len(self._places):
            return np.zeros(len(pair), np.bool_)
        number = np.minimum(np.searchsorted(self._pairs, pair), len(self._pairs) - 1)
        place = (number << 31) | partition
        found = np.minimum(np.searchsorted(self._places, place), len(self._places) - 1)
        have_commit: Flags = (self._pairs[number] == pair) & (self._places[found] == place)
        return have_commit
