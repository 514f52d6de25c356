"""Subscriptions and owners per row, from the membership records of the groups. Pure."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from stream.groups.driver_state import GroupColumns
from stream.groups.membership.model import HIGHEST, MemberClient, Membership
from stream.health.columns import NOT_KNOWN, Codes, Ints, consecutive_pairs, find_keys
from stream.health.inputs import NO_OWNER, GroupStage, Subscribers
from stream.tick.context import ClusterContext
from stream.tick.inputs.group_state import stage
from stream.tick.inputs.rows import InputRows

_PARTITION_BITS: Final = 16
"""Bits of a key that hold the partition; `HIGHEST` fits."""
_NO_NAME: Final = ""
"""No topic has this name."""


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
    pair, first = consecutive_pairs(rows.group, rows.topic)
    topics = [_subscribed_topics(state.memberships.get(group)) for group in rows.groups]
    subscribed = [
        _is_subscribed(rows.topics[topic], topics[group])
        for group, topic in zip(rows.group[first].tolist(), rows.topic[first].tolist(), strict=True)
    ]
    return PartitionAssignment(
        np.array(subscribed, np.int8)[pair],
        *_owners(rows, state, context),
        {
            number: found
            for number, group in enumerate(rows.groups)
            if len(found := _subscribers(state.memberships.get(group))) > 1
        },
    )


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


def _owners(rows: InputRows, state: GroupColumns, context: ClusterContext) -> tuple[Ints, Sequence[MemberClient]]:
    """Return the fields `owner` and `clients` of `PartitionAssignment`."""
    topics = {name: number for number, name in enumerate(rows.topics)}
    is_known = np.zeros(len(rows.groups), np.bool_)
    keys, owners = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    clients: list[MemberClient] = []
    for group, name in enumerate(rows.groups):
        shares = _shares_by_name(state.memberships.get(name), context, name)
        if shares is None:
            continue
        is_known[group] = True
        for client, share in shares:
            for topic, mask in share.items():
                if topic in topics:
                    partitions = _partitions(mask)
                    keys.append((group * len(topics) + topics[topic] << _PARTITION_BITS) + partitions)
                    owners.append(np.full(len(partitions), len(clients)))
            clients.append(client)
    # A client-made assignment may give a partition to two members; either may be shown.
    owned, first = np.unique(np.concatenate(keys), return_index=True)
    at = find_keys(owned, (rows.group * len(topics) + rows.topic << _PARTITION_BITS) + rows.partition)
    owner = np.append(np.concatenate(owners)[first], NO_OWNER)[at]
    return np.where(is_known[rows.group] & (rows.partition <= HIGHEST), owner, NOT_KNOWN), clients


def _shares_by_name(
    membership: Membership | None, context: ClusterContext, group: str
) -> list[tuple[MemberClient, dict[str, int]]] | None:
    """Return each member with its partitions by topic name; None if they are not known."""
    if membership is None:
        return None
    found = stage(membership, context.described_states.get(group))
    if found is GroupStage.EMPTY:
        return []
    if found is not GroupStage.STABLE or membership.owned is None:
        return None
    shares = [(client, dict(_named(client.owned or (), context))) for client in membership.clients]
    return None if any(_NO_NAME in share for _, share in shares) else shares


def _named(share: tuple[tuple[str | bytes, int], ...], context: ClusterContext) -> Iterator[tuple[str, int]]:
    """Yield topics with masks; `_NO_NAME` stands for a topic whose name is not known."""
    for ref, mask in share:
        yield ref if isinstance(ref, str) else context.topic_names.get(ref, _NO_NAME), mask


def _partitions(mask: int) -> Ints:
    bits = np.frombuffer(mask.to_bytes((mask.bit_length() + 7) // 8, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(bits, bitorder="little"))
