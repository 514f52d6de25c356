"""Subscriptions and owners per row, from the membership records of the groups.

Ownership is known for all members of a group or not at all: a partition has no owner, is owned by the only member, or
is owned by a member that cannot be named. While a group rebalances, no owner is known. Pure.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from stream.groups.membership.partition_bits import HIGHEST
from stream.health.columns import NOT_KNOWN
from stream.health.inputs import NO_OWNER, GroupStage
from stream.tick.inputs.group_state import stage
from stream.tick.inputs.members import owning_members

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from stream.groups.driver_state import GroupColumns
    from stream.groups.membership.model import Membership
    from stream.health.columns import Codes, Flags, Ints
    from stream.tick.context import ClusterContext
    from stream.tick.inputs.rows import InputRows


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionAssignment:
    """The columns `subscribed` and `owner` of `HealthInputs`, one element per row, and the owning member."""

    subscribed: Codes
    owner: Ints
    member: Ints
    """See `owning_members`."""


class AssignmentInputs:
    """Builds the assignment columns of each tick; unchanged rows and described states reuse the last ones."""

    def __init__(self) -> None:
        self._last: tuple[InputRows, Mapping[str, str], PartitionAssignment] | None = None

    def build(self, rows: InputRows, state: GroupColumns, context: ClusterContext) -> PartitionAssignment:
        """Return subscription and owner of each row."""
        last = self._last
        if last is None or last[0] is not rows or last[1] != context.described_states:
            last = self._last = rows, context.described_states, _assignment(rows, state, context)
        return last[2]


def _assignment(rows: InputRows, state: GroupColumns, context: ClusterContext) -> PartitionAssignment:
    group, topic, partition = rows.group, rows.topic, rows.partition
    is_first = (np.diff(group, prepend=-1) != 0) | (np.diff(topic, prepend=-1) != 0)
    first = np.flatnonzero(is_first)
    pair = np.cumsum(is_first) - 1
    topics_of_groups = _TopicAssignments(state, context)
    subscribed, owner, masks = [], [], []
    for group_number, topic_number in zip(group[first].tolist(), topic[first].tolist(), strict=True):
        assigned = topics_of_groups.of(rows.groups[group_number], rows.topics[topic_number])
        subscribed.append(assigned[0])
        owner.append(assigned[1])
        masks.append(assigned[2])
    is_known = np.array([mask is not None for mask in masks], np.bool_)[pair] & (partition <= HIGHEST)
    owner_of_row = np.where(_owned(masks, pair, partition), _ints(owner)[pair], NO_OWNER)
    return PartitionAssignment(
        np.array(subscribed, np.int8)[pair],
        np.where(is_known, owner_of_row, NOT_KNOWN),
        owning_members(rows, state, context),
    )


class _TopicAssignments:
    """Looks up the assignment of a group and topic; consecutive lookups of one group read its membership once."""

    def __init__(self, state: GroupColumns, context: ClusterContext) -> None:
        self._state, self._context = state, context
        self._group: str | None = None
        self._topics: frozenset[str] | None = None
        self._owned: dict[str, int] | None = None
        self._owner = NOT_KNOWN

    def of(self, group: str, topic: str) -> tuple[int, int, int | None]:
        """Return (subscribed, owner, mask) of a topic.

        `subscribed` is 1, 0 or -1 (not known). `mask` has a bit per owned partition, None if ownership is not known;
        `owner` is the owner of all of them.
        """
        if group != self._group:
            self._read_membership(group)
        subscribed = NOT_KNOWN if self._topics is None else int(topic in self._topics)
        return subscribed, self._owner, None if self._owned is None else self._owned.get(topic, 0)

    def _read_membership(self, group: str) -> None:
        membership = self._state.memberships.get(group)
        self._group, self._topics, self._owned, self._owner = group, None, None, NOT_KNOWN
        if membership is None or not membership.members:
            return
        self._topics = None if membership.unresolved else membership.subscribed
        if stage(membership, self._context.described_states.get(group)) is GroupStage.STABLE:
            self._owned = self._owned_by_name(membership)
            self._owner = 0 if membership.members == 1 else NOT_KNOWN

    def _owned_by_name(self, membership: Membership) -> dict[str, int] | None:
        """Return the owned partitions by topic name; None if a topic id has no known name, as it may be any topic."""
        if membership.owned is None:
            return None
        owned: dict[str, int] = {}
        for ref, mask in membership.owned:
            name = ref if isinstance(ref, str) else self._context.topic_names.get(ref)
            if name is None:
                return None
            owned[name] = mask | owned.get(name, 0)
        return owned


def _owned(masks: Sequence[int | None], pair: Ints, partition: NDArray[np.int32]) -> Flags:
    """Return per row whether the bit of its partition is set in the mask of its (group, topic) pair."""
    packed = [(mask or 0).to_bytes(((mask or 0).bit_length() + 7) // 8, "little") for mask in masks]
    width = _ints([len(bits) for bits in packed])
    begin = np.cumsum(width) - width
    every_byte = np.frombuffer(b"".join(packed) + b"\0", np.uint8)
    byte = partition >> 3
    is_inside = byte < width[pair]
    at = np.where(is_inside, begin[pair] + byte, len(every_byte) - 1)
    is_set: Flags = (every_byte[at] >> (partition & 7) & 1).astype(np.bool_)
    return is_set


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, np.int64)
