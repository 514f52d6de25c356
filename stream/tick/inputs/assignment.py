"""Subscriptions and owners per row, from the membership records of the groups. Pure."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from stream.health.columns import NOT_KNOWN, consecutive_pairs
from stream.health.inputs import Subscribers
from stream.tick.inputs.members import owning_members

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.groups.driver_state import GroupColumns
    from stream.groups.membership.model import MemberClient, Membership
    from stream.health.columns import Codes
    from stream.tick.context import ClusterContext
    from stream.tick.inputs.members import OwningMembers
    from stream.tick.inputs.rows import InputRows


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionAssignment:
    """The column `subscribed` of `HealthInputs`, one element per row, and the owning members."""

    subscribed: Codes
    members: OwningMembers
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
        owning_members(rows, state, context),
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
