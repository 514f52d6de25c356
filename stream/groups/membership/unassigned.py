"""What a group leaves to nobody: partitions of its topics that no member owns, and topics that no member wants.

Judged only where it is known: of groups with members, whose subscriptions and assignments can be read, and whose
topics' names and partition counts the cluster tells. Of a group without members everything would be left to nobody,
which its state says better.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stream.groups.membership.partition_bits import mask_of_first, partitions_in_mask

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from stream.groups.membership.model import Membership


@dataclasses.dataclass(frozen=True, slots=True)
class UnassignedPartitions:
    """What one group leaves to nobody; None: not known.

    `unowned` are partitions by topic, `unsubscribed` topics that the group has offsets for; both ascending.
    """

    unowned: tuple[tuple[str, tuple[int, ...]], ...] | None
    unsubscribed: tuple[str, ...] | None


@dataclasses.dataclass(frozen=True, slots=True)
class UnassignedCounts:
    """For every group of which it is known: how many partitions nobody owns, how many topics nobody subscribes to."""

    unowned: Mapping[str, int]
    unsubscribed: Mapping[str, int]


def find_unassigned(
    membership: Membership,
    topics_with_offsets: Iterable[str],
    partition_counts: Mapping[str, int],
    topic_names: Mapping[bytes, str],
) -> UnassignedPartitions:
    """Judge one group. A topic that is not in `partition_counts` is not known; one that does not exist has 0."""
    left = _unowned(membership, partition_counts, topic_names)
    unowned = None if left is None else tuple((topic, partitions_in_mask(mask)) for topic, mask in sorted(left.items()))
    subscribed = _wanted(membership)
    unsubscribed = None if subscribed is None else tuple(sorted(set(topics_with_offsets) - subscribed))
    return UnassignedPartitions(unowned, unsubscribed)


def subscribed_topics(memberships: Mapping[str, Membership]) -> set[str]:
    """Give every topic that any group subscribes to: those whose partition counts are needed here."""
    sets = {id(one.subscribed): one.subscribed for one in memberships.values() if one.subscribed}
    return set[str]().union(*sets.values())


class UnassignedTracker:
    """The counts of all groups, tick after tick: judged again is only what changed since the last one.

    A group's membership is compared by identity: the same object says the same.
    """

    def __init__(self) -> None:
        self._partition_counts: dict[str, int] = {}
        self._topic_names: dict[bytes, str] = {}
        self._judged: dict[str, tuple[Membership, int | None]] = {}

    def update(
        self,
        memberships: Mapping[str, Membership],
        offsets: tuple[pa.DictionaryArray, pa.DictionaryArray],
        partition_counts: Mapping[str, int],
        topic_names: Mapping[bytes, str],
        rebalancing: AbstractSet[str] = frozenset(),
    ) -> UnassignedCounts:
        """Judge all groups; `offsets` are the group and the topic of each committed offset.

        Of classic groups that the cluster says to be `rebalancing`, the log knows the generation before only: who
        owns what is not known.
        """
        if partition_counts != self._partition_counts or topic_names != self._topic_names:
            self._judged = {}
            self._partition_counts, self._topic_names = dict(partition_counts), dict(topic_names)
        self._judged = {name: self._judge(name, one) for name, one in memberships.items()}
        unowned = {
            name: count for name, (_, count) in self._judged.items() if count is not None and name not in rebalancing
        }
        return UnassignedCounts(unowned, _unsubscribed(memberships, *offsets))

    def _judge(self, group: str, membership: Membership) -> tuple[Membership, int | None]:
        before = self._judged.get(group)
        if before is not None and before[0] is membership:
            return before
        left = _unowned(membership, self._partition_counts, self._topic_names)
        return membership, None if left is None else sum(mask.bit_count() for mask in left.values())


def _wanted(membership: Membership) -> frozenset[str] | None:
    """Give the topics that the members subscribe to; None if there are none, or not all of them are known."""
    return membership.subscribed if membership.members and not membership.unresolved else None


def _unowned(
    membership: Membership, partition_counts: Mapping[str, int], topic_names: Mapping[bytes, str]
) -> dict[str, int] | None:
    """Give by topic the bits of the partitions that nobody owns."""
    subscribed = _wanted(membership)
    if subscribed is None or membership.owned is None:
        return None
    left: dict[str, int] = {}
    for topic in subscribed:
        count = partition_counts.get(topic)
        if count is None:
            return None
        left[topic] = mask_of_first(count)
    for ref, mask in membership.owned:
        name = ref if isinstance(ref, str) else topic_names.get(ref)
        if name is None:
            return None  # it may be any of those that are subscribed to
        if name in left:
            left[name] &= ~mask
    return {topic: mask for topic, mask in left.items() if mask}


def _unsubscribed(
    memberships: Mapping[str, Membership], group: pa.DictionaryArray, topic: pa.DictionaryArray
) -> dict[str, int]:
    """Count by group the topics with offsets that nobody subscribes to."""
    wanted = {name: topics for name, one in memberships.items() if (topics := _wanted(one)) is not None}
    counts = dict.fromkeys(wanted, 0)
    groups, topics = group.dictionary.to_pylist(), topic.dictionary.to_pylist()
    for code in _pairs(group, topic):
        name = groups[code // len(topics)]
        known = wanted.get(name)
        if known is not None and topics[code % len(topics)] not in known:
            counts[name] += 1
    return counts


def _pairs(group: pa.DictionaryArray, topic: pa.DictionaryArray) -> list[int]:
    """Give each pair of a group and a topic once, as group * topics + topic."""
    codes = [array.indices.to_numpy(zero_copy_only=False).astype(np.int64) for array in (group, topic)]
    pairs: list[int] = pa.array(codes[0] * max(len(topic.dictionary), 1) + codes[1]).unique().to_pylist()
    return pairs
