"""Which rows there are at one tick: every (group, topic, partition) that was committed, or that belongs to a group.

A partition belongs to a group if a member owns it or subscribes to its topic. Those that were never committed are in no
record of a commit, and yet they are where a group may be stuck unseen. They are told from the members and the
partition counts; of share groups, which keep no offsets in the topic, none are.

Rows are sorted by group, topic and partition, as the read model shows them, and stay the same object for as long as no
row comes or goes.
"""

from __future__ import annotations

import dataclasses
from operator import is_
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from stream.groups.commits.slots import Slots
from stream.groups.membership.partition_bits import HIGHEST, partitions_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from stream.groups.driver_state import GroupColumns
    from stream.groups.membership.model import Membership
    from stream.health.columns import Flags, Ints
    from stream.tick.context import ClusterContext

MOST: Final = 100_000
"""Rows without a commit, of all groups together; a pattern that subscribes to everything must not drown the others."""
_NO_OFFSETS: Final = "share"

_Kind = TypeVar("_Kind", bound=np.generic)


@dataclasses.dataclass(frozen=True, slots=True)
class InputRows:
    """The rows of one moment; `group` and `topic` are numbers of the names, which are sorted."""

    groups: Sequence[str]
    topics: Sequence[str]
    group: Ints
    topic: Ints
    partition: NDArray[np.int32]
    fleet: Ints
    """The row of the fleet, -1 where nothing was ever committed."""
    left_out: int = 0
    """Rows without a commit beyond `MOST`."""

    @property
    def committed(self) -> Flags:
        """Which rows have a commit."""
        committed: Flags = self.fleet >= 0
        return committed

    def take(self, column: NDArray[_Kind], nothing: Any) -> NDArray[_Kind]:
        """Bring a column of the fleet into the order of the rows; those without a commit have `nothing` in it."""
        if len(self.fleet) == len(column):
            return column[self.fleet]
        taken = np.full((len(self.fleet), *column.shape[1:]), nothing, column.dtype)
        taken[self.committed] = column[self.fleet[self.committed]]
        return taken

    def slots(self, slots: Slots) -> Slots:
        """Bring the slots of the fleet, sorted by its rows, into the order of these rows."""
        rows = len(self.fleet)
        counts = np.bincount(slots.row, minlength=max(int(self.fleet.max(initial=-1)) + 1, 1))
        starts = np.cumsum(counts) - counts
        mine = np.where(self.committed, counts[self.fleet], 0)
        first = np.cumsum(mine) - mine
        at = np.repeat(starts[self.fleet] - first, mine) + np.arange(int(mine.sum()))
        return Slots(
            np.repeat(np.arange(rows), mine), slots.number[at], slots.offset[at], slots.time[at], slots.commits[at]
        )

    def __len__(self) -> int:
        return len(self.fleet)


class RowFinder:
    """Finds the rows tick after tick; worked out anew is only what may have changed, by identity."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._told: tuple[Any, ...] = ()
        self._rows: InputRows | None = None

    def rows(self, fleet: GroupColumns, around: ClusterContext) -> InputRows:
        """Give the rows of this moment."""
        told = (fleet.ranks, fleet.memberships, around.partition_counts, around.topic_names)
        if self._rows is None or not _same(self._told, told):
            self._told, self._rows = told, _found(fleet, around, self._most)
        return self._rows


def _same(before: tuple[Any, ...], now: tuple[Any, ...]) -> bool:
    ranks, memberships, *others = now
    return (
        before[0] is ranks
        and before[2:] == tuple(others)
        and list(before[1]) == list(memberships)
        and all(map(is_, before[1].values(), memberships.values()))
    )


def _found(fleet: GroupColumns, around: ClusterContext, most: int) -> InputRows:
    ranks = fleet.ranks
    committed = InputRows(ranks.groups, ranks.topics, ranks.group, ranks.topic, ranks.partition, ranks.order)
    every = list(_belonging(fleet.memberships, around))
    if not every:
        return committed
    topics = sorted({*ranks.topics, *(topic for _, topic, _ in every)})
    number = {name: at for at, name in enumerate(topics)}
    renumbered = np.array([number[name] for name in ranks.topics] or [0], np.int64)[ranks.topic]
    committed = dataclasses.replace(committed, topics=topics, topic=renumbered)
    place = {name: at for at, name in enumerate(ranks.groups)}
    group, topic, sizes = (
        np.array(column, np.int64)
        for column in zip(*((place[name], number[topic], len(owns)) for name, topic, owns in every), strict=True)
    )
    partition = np.concatenate([owns for _, _, owns in every])
    return _together(committed, np.repeat(group, sizes), np.repeat(topic, sizes), partition, most)


def _belonging(
    memberships: Mapping[str, Membership], around: ClusterContext
) -> Iterator[tuple[str, str, NDArray[np.int32]]]:
    """Give each group and topic once, with the partitions that belong to the group; none twice."""
    counts, names = around.partition_counts, around.topic_names
    ranges: dict[int, NDArray[np.int32]] = {}
    for group, known in memberships.items():
        if not known.members or known.kind == _NO_OFFSETS:
            continue
        subscribed = known.subscribed or frozenset()
        for topic in subscribed:
            count = min(counts.get(topic, 0), HIGHEST + 1)
            if count > 0:
                if count not in ranges:
                    ranges[count] = np.arange(count, dtype=np.int32)
                yield group, topic, ranges[count]
        for ref, mask in known.owned or ():
            name = ref if isinstance(ref, str) else names.get(ref)
            if name is not None and name not in subscribed and counts.get(name, 0) > 0:
                owned = np.array(partitions_of(mask), np.int32)
                yield group, name, owned[owned < counts[name]]


def _together(committed: InputRows, group: Ints, topic: Ints, partition: NDArray[np.int32], most: int) -> InputRows:
    """Put the rows without a commit among those with one."""
    fresh = np.flatnonzero(~_are_in(committed, group, topic, partition))
    left_out = max(len(fresh) - most, 0)
    fresh = fresh[: len(fresh) - left_out]
    if not len(fresh):
        return committed
    groups = np.concatenate([committed.group, group[fresh]])
    topics = np.concatenate([committed.topic, topic[fresh]])
    partitions = np.concatenate([committed.partition, partition[fresh]])
    rows = np.concatenate([committed.fleet, np.full(len(fresh), -1, np.int64)])
    order = np.lexsort((partitions, topics, groups))
    return InputRows(
        committed.groups, committed.topics, groups[order], topics[order], partitions[order], rows[order], left_out
    )


def _are_in(committed: InputRows, group: Ints, topic: Ints, partition: NDArray[np.int32]) -> Flags:
    """Tell which partitions have a commit of the group."""
    width = len(committed.topics)
    if not len(partition):  # assignments that name no partition that exists
        return np.zeros(0, np.bool_)
    pairs, mine = np.unique(group * width + topic, return_inverse=True)
    theirs = committed.group * width + committed.topic
    at = np.minimum(np.searchsorted(pairs, theirs), len(pairs) - 1)
    met = pairs[at] == theirs
    known = (at[met] << 31) | committed.partition[met]
    found: Flags = np.isin((mine << 31) | partition, known)
    return found
