"""What the members of groups want and have, held against the rows of one moment.

What a group's members own is known all together only: a partition is nobody's, or the only member's, or somebody's who
is not told. While a group is on its way from one assignment to the next, nothing is told of owners. Pure.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from stream.groups.membership.partition_bits import HIGHEST
from stream.health.inputs import NOBODY, NOT_TOLD, GroupStage
from stream.tick.inputs.group_state import stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from stream.groups.driver_state import GroupColumns
    from stream.groups.membership.model import Membership
    from stream.health.columns import Codes, Ints
    from stream.tick.context import ClusterContext
    from stream.tick.inputs.rows import InputRows


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionAssignment:
    """Per row: whether any member subscribes to the topic, and who owns the partition (columns of `Observed`)."""

    subscribed: Codes
    owner: Ints


class AssignmentInputs:
    """Asked tick after tick: while the rows are the same object, only states that were asked can change the answer."""

    def __init__(self) -> None:
        self._told: tuple[InputRows, Mapping[str, str], PartitionAssignment] | None = None

    def wanted(self, rows: InputRows, fleet: GroupColumns, around: ClusterContext) -> PartitionAssignment:
        """Hold the rows against what the members want and have."""
        told = self._told
        if told is None or told[0] is not rows or told[1] != around.asked:
            told = self._told = rows, around.asked, _wanted(rows, fleet, around)
        return told[2]


def _wanted(rows: InputRows, fleet: GroupColumns, around: ClusterContext) -> PartitionAssignment:
    group, topic, partition = rows.group, rows.topic, rows.partition
    new = (np.diff(group, prepend=-1) != 0) | (np.diff(topic, prepend=-1) != 0)
    first = np.flatnonzero(new)
    pair = np.cumsum(new) - 1
    members = _Members(fleet, around)
    subscribed, somebody, masks = [], [], []
    for group_number, topic_number in zip(group[first].tolist(), topic[first].tolist(), strict=True):
        answer = members.of(rows.groups[group_number], rows.topics[topic_number])
        subscribed.append(answer[0])
        somebody.append(answer[1])
        masks.append(answer[2])
    known = np.array([mask is not None for mask in masks], np.bool_)[pair] & (partition <= HIGHEST)
    owned = _bits(masks, pair, partition)
    owner = np.where(owned, _ints(somebody)[pair], NOBODY)
    return PartitionAssignment(np.array(subscribed, np.int8)[pair], np.where(known, owner, NOT_TOLD))


class _Members:
    """What the members of the groups want and own, asked group by group."""

    def __init__(self, fleet: GroupColumns, around: ClusterContext) -> None:
        self._fleet, self._around = fleet, around
        self._group: str | None = None
        self._topics: frozenset[str] | None = None
        self._owned: dict[str, int] | None = None
        self._somebody = NOT_TOLD

    def of(self, group: str, topic: str) -> tuple[int, int, int | None]:
        """Give for a topic: subscribed (1, 0, -1), the owner of what is owned, the bits that are (None: not known)."""
        if group != self._group:
            self._turn_to(group)
        subscribed = NOT_TOLD if self._topics is None else int(topic in self._topics)
        return subscribed, self._somebody, None if self._owned is None else self._owned.get(topic, 0)

    def _turn_to(self, group: str) -> None:
        known = self._fleet.memberships.get(group)
        self._group, self._topics, self._owned, self._somebody = group, None, None, NOT_TOLD
        if known is None or not known.members:
            return
        self._topics = None if known.unresolved else known.subscribed
        if stage(known, self._around.asked.get(group)) is GroupStage.STABLE:
            self._owned = self._named(known)
            self._somebody = 0 if known.members == 1 else NOT_TOLD

    def _named(self, known: Membership) -> dict[str, int] | None:
        """Give what is owned by the names of topics; None if one has no name, for it may be any of them."""
        if known.owned is None:
            return None
        owned: dict[str, int] = {}
        for ref, mask in known.owned:
            name = ref if isinstance(ref, str) else self._around.topic_names.get(ref)
            if name is None:
                return None
            owned[name] = mask | owned.get(name, 0)
        return owned


def _bits(masks: Sequence[int | None], pair: Ints, partition: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Look each row's partition up in the bits of its pair."""
    packed = [(mask or 0).to_bytes(((mask or 0).bit_length() + 7) // 8, "little") for mask in masks]
    width = _ints([len(each) for each in packed])
    begin = np.cumsum(width) - width
    every = np.frombuffer(b"".join(packed) + b"\0", np.uint8)
    byte = partition >> 3
    inside = byte < width[pair]
    at = np.where(inside, begin[pair] + byte, len(every) - 1)
    bits: NDArray[np.bool_] = (every[at] >> (partition & 7) & 1).astype(np.bool_)
    return bits


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, np.int64)
