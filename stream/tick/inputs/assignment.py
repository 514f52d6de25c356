"""Subscriptions and owners per row, from the membership records of the groups. Pure."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from stream.groups.membership.model import HIGHEST, MemberClient, Membership
from stream.groups.short_cache import keep_last
from stream.health.columns import NOT_KNOWN, Codes, Ints, consecutive_pairs, find_keys
from stream.health.inputs import NO_OWNER, GroupStage, Subscribers
from stream.tick.inputs.group_state import stage
from stream.tick.inputs.rows import InputRows

_PARTITION_BITS: Final = 16
"""Bits of a key that hold the partition; `HIGHEST` fits."""


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionAssignment:
    """What members subscribe to and own: `subscribed` and `owner` have one element per row."""

    subscribed: Codes
    """See `HealthInputs.subscribed`."""
    owner: Ints
    """The position of the row's owner in `clients`.

    `NO_OWNER` where the assignment of the group is known and no member owns the partition, as in a group without
    members; `NOT_KNOWN` where it is not known, as during a rebalance.
    """
    clients: Sequence[MemberClient]
    """The members of all groups whose assignment is known."""
    subscribers: Mapping[int, tuple[Subscribers, ...]]
    """See `HealthInputs.subscribers`."""


@dataclasses.dataclass(frozen=True, slots=True)
class _GroupAssignment:
    """What one group subscribes to, and its members."""

    membership: Membership | None
    described: str | None
    topics: frozenset[str] | None
    """The topics of all members; None if they are not known."""
    subscribers: tuple[Subscribers, ...]
    clients: tuple[MemberClient, ...]
    is_known: bool
    """It is known what each member owns."""


class AssignmentInputs:
    """Builds the assignment columns of each tick; only the rows of groups that changed are computed again."""

    def __init__(self) -> None:
        self._names: Mapping[bytes, str] = {}
        self._groups: dict[str, _GroupAssignment] = {}
        self._rows: InputRows | None = None
        # Per row: see `HealthInputs.subscribed`, and the position of the owner among the members of its group.
        self._subscribed, self._member = np.empty(0, np.int8), np.empty(0, np.int64)

    @keep_last
    def build(
        self,
        rows: InputRows,
        memberships: Mapping[str, Membership],
        described: Mapping[str, str],
        names: Mapping[bytes, str],
    ) -> PartitionAssignment:
        """Return subscription and owner of each row; `described` and `names` are those of `ClusterContext`."""
        if self._names != names:
            self._names, self._groups = names, {}
        previous, self._groups = self._groups, {}
        known_rows, self._rows = self._rows, None  # after an error all rows are computed again
        changed = []
        for number, name in enumerate(rows.groups):
            membership, state = memberships.get(name), described.get(name)
            group = previous.get(name)
            if group is None or group.membership is not membership or group.described != state:
                group = _group_assignment(membership, state, names)
                changed.append(number)
            self._groups[name] = group
        if known_rows is not rows:
            changed = list(range(len(rows.groups)))
            self._subscribed, self._member = np.empty(len(rows), np.int8), np.empty(len(rows), np.int64)
        groups = list(self._groups.values())
        self._update(rows, groups, changed)
        first = np.cumsum([0, *(len(group.clients) for group in groups)])
        owner = np.where(self._member >= 0, self._member + first[rows.group], self._member)
        clients = [client for group in groups for client in group.clients]
        subscribers = {number: group.subscribers for number, group in enumerate(groups) if group.subscribers}
        self._rows = rows
        return PartitionAssignment(self._subscribed, owner, clients, subscribers)

    def _update(self, rows: InputRows, groups: Sequence[_GroupAssignment], changed: Sequence[int]) -> None:
        """Compute the columns of the rows of these groups."""
        is_changed = np.zeros(len(groups), np.bool_)
        is_changed[changed] = True
        at = np.flatnonzero(is_changed[rows.group])
        pair, first = consecutive_pairs(rows.group[at], rows.topic[at])
        pairs = zip(rows.group[at][first].tolist(), rows.topic[at][first].tolist(), strict=True)
        subscribed = [_is_subscribed(rows.topics[topic], groups[group].topics) for group, topic in pairs]
        self._subscribed, self._member = self._subscribed.copy(), self._member.copy()
        self._subscribed[at] = np.array(subscribed, np.int8)[pair]
        is_known = np.array([group.is_known for group in groups], np.bool_)
        member = _members(rows, at, groups, changed, self._names)
        self._member[at] = np.where(is_known[rows.group[at]] & (rows.partition[at] <= HIGHEST), member, NOT_KNOWN)


def _group_assignment(
    membership: Membership | None, described: str | None, names: Mapping[bytes, str]
) -> _GroupAssignment:
    found = GroupStage.UNKNOWN if membership is None else stage(membership, described)
    clients = membership.clients if membership is not None and found is GroupStage.STABLE else ()
    is_known = membership is not None and membership.owned is not None and found is GroupStage.STABLE
    if any(not isinstance(ref, str) and ref not in names for client in clients for ref, _ in client.owned or ()):
        is_known = False
    is_known |= found is GroupStage.EMPTY
    topics, subscribers = _subscribed_topics(membership), _subscribers(membership)
    return _GroupAssignment(membership, described, topics, subscribers, clients if is_known else (), is_known)


def _members(
    rows: InputRows, at: Ints, groups: Sequence[_GroupAssignment], changed: Sequence[int], names: Mapping[bytes, str]
) -> Ints:
    """Return the position of the owner of these rows among the members of its group, `NO_OWNER` where there is none."""
    topics = {name: number for number, name in enumerate(rows.topics)}
    masks, bases, members = [], [], []
    for group in changed:
        for number, client in enumerate(groups[group].clients):
            for ref, mask in client.owned or ():
                topic = topics.get(ref if isinstance(ref, str) else names[ref])
                if topic is not None:
                    masks.append(mask.to_bytes((mask.bit_length() + 7) // 8, "little"))
                    bases.append(group * len(topics) + topic)
                    members.append(number)
    sizes = np.array([len(mask) for mask in masks], np.int64) * 8
    bits = np.flatnonzero(np.unpackbits(np.frombuffer(b"".join(masks), np.uint8), bitorder="little"))
    of_bit = np.searchsorted(np.cumsum(sizes), bits, side="right")
    partition = bits - (np.cumsum(sizes) - sizes)[of_bit]
    # A client-made assignment may give a partition to two members; either may be shown.
    owned, first = np.unique((np.array(bases, np.int64)[of_bit] << _PARTITION_BITS) + partition, return_index=True)
    found = find_keys(owned, (rows.group[at] * len(topics) + rows.topic[at] << _PARTITION_BITS) + rows.partition[at])
    return np.append(np.array(members, np.int64)[of_bit][first], NO_OWNER)[found]


def _subscribers(membership: Membership | None) -> tuple[Subscribers, ...]:
    """Return the members of a group by subscription, the one with most members first; empty if all subscribe alike.

    Members without a subscription are left out. The subscriptions of most groups are one object (`topic_set`), so few
    sets are compared by value.
    """
    by_topics: dict[frozenset[str], list[MemberClient]] = {}
    for client in () if membership is None else membership.clients:
        if client.subscribed:
            by_topics.setdefault(client.subscribed, []).append(client)
    if len(by_topics) < 2:
        return ()
    found = [Subscribers(tuple(sorted(topics)), tuple(clients)) for topics, clients in by_topics.items()]
    return tuple(sorted(found, key=lambda each: (-len(each.clients), each.topics)))


def _subscribed_topics(membership: Membership | None) -> frozenset[str] | None:
    """Return the topics of all members; None if they are not known."""
    if membership is None or not membership.members or membership.unresolved:
        return None
    return membership.subscribed


def _is_subscribed(topic: str, topics: frozenset[str] | None) -> int:
    return NOT_KNOWN if topics is None else int(topic in topics)
