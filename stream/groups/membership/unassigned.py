"""Unassigned partitions: partitions of a group's topics that no member owns, and topics that no member subscribes to.

Known only for groups with members whose subscriptions and assignments can be decoded, and for topics whose names and
partition counts the cluster returned. Groups without members are left out: their state already says that no member owns
anything.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np
import pyarrow as pa

from stream.groups.membership.model import Membership, mask_of_first, partitions_in_mask
from stream.groups.short_cache import keep_last

MOST_TOPICS: Final = 100_000
"""Limit of the subscribed topics of all groups that the cluster is asked for."""


@dataclasses.dataclass(frozen=True, slots=True)
class UnassignedCounts:
    """By group, the number of partitions without an owner and of unsubscribed topics; absent if unknown."""

    unowned: Mapping[str, int]
    unsubscribed: Mapping[str, int]


def find_unassigned(
    membership: Membership,
    topics_with_offsets: Iterable[str],
    partition_counts: Mapping[str, int],
    topic_names: Mapping[bytes, str],
) -> tuple[tuple[tuple[str, tuple[int, ...]], ...] | None, tuple[str, ...] | None]:
    """Return the partitions by topic without an owner, and the topics with offsets that no member subscribes to.

    Both ascending; None: unknown. A topic that is missing in `partition_counts` is unknown; a topic that does not exist
    has count 0.
    """
    masks = _unowned(membership, partition_counts, topic_names)
    unowned = (
        None if masks is None else tuple((topic, partitions_in_mask(mask)) for topic, mask in sorted(masks.items()))
    )
    subscribed = _known_subscription(membership)
    unsubscribed = None if subscribed is None else tuple(sorted(set(topics_with_offsets) - subscribed))
    return unowned, unsubscribed


@keep_last
def subscribed_topics(memberships: Mapping[str, Membership]) -> set[str]:
    """Return the topics that any group subscribes to: their partition counts are needed here.

    Clients may subscribe to any number of names, and the cluster is asked for them at every tick. So there are at most
    `MOST_TOPICS`, without the longest subscriptions; the topics of those are unknown unless another group uses them.
    """
    sets = {id(one.subscribed): one.subscribed for one in memberships.values() if one.subscribed}
    topics: set[str] = set()
    for each in sorted(sets.values(), key=len):
        if len(topics) + len(each) > MOST_TOPICS:
            break
        topics |= each
    return topics


class UnassignedTracker:
    """The counts of all groups, updated every tick; only changed groups are counted again.

    Memberships are compared by identity: an unchanged membership is the same object.
    """

    def __init__(self) -> None:
        self._partition_counts: dict[str, int] = {}
        self._topic_names: dict[bytes, str] = {}
        self._memberships: Mapping[str, Membership] = {}
        self._unowned: dict[str, int] = {}

    @keep_last
    def update(
        self,
        memberships: Mapping[str, Membership],
        offsets: tuple[pa.DictionaryArray, pa.DictionaryArray],
        partition_counts: Mapping[str, int],
        topic_names: Mapping[bytes, str],
        rebalancing: AbstractSet[str] = frozenset(),
    ) -> UnassignedCounts:
        """Return the counts of all groups; `offsets` are the group and the topic of each committed offset.

        For classic groups that are `rebalancing` according to the cluster, the log has only the previous generation:
        the owners are unknown.
        """
        if partition_counts != self._partition_counts or topic_names != self._topic_names:
            self._memberships = {}
            self._partition_counts, self._topic_names = dict(partition_counts), dict(topic_names)
        counts = ((name, self._count(name, one)) for name, one in memberships.items())
        unowned = {name: count for name, count in counts if count is not None}
        self._memberships, self._unowned = memberships, unowned
        if not rebalancing.isdisjoint(unowned):
            unowned = {name: count for name, count in unowned.items() if name not in rebalancing}
        return UnassignedCounts(unowned, _unsubscribed(memberships, *offsets))

    def _count(self, group: str, membership: Membership) -> int | None:
        if self._memberships.get(group) is membership:
            return self._unowned.get(group)
        masks = _unowned(membership, self._partition_counts, self._topic_names)
        return None if masks is None else sum(mask.bit_count() for mask in masks.values())


def _known_subscription(membership: Membership) -> frozenset[str] | None:
    """Return the topics that the members subscribe to; None without members, or if not all topics are known."""
    return membership.subscribed if membership.members and not membership.unresolved else None


def _unowned(
    membership: Membership, partition_counts: Mapping[str, int], topic_names: Mapping[bytes, str]
) -> dict[str, int] | None:
    """Return by topic the mask of the partitions without an owner; None if unknown."""
    subscribed = _known_subscription(membership)
    if subscribed is None or membership.owned is None:
        return None
    masks: dict[str, int] = {}
    for topic in subscribed:
        count = partition_counts.get(topic)
        if count is None:
            return None
        masks[topic] = mask_of_first(count)
    for ref, mask in membership.owned:
        name = ref if isinstance(ref, str) else topic_names.get(ref)
        if name is None:
            return None  # it may be any of the subscribed topics
        if name in masks:
            masks[name] &= ~mask
    return {topic: mask for topic, mask in masks.items() if mask}


def _unsubscribed(
    memberships: Mapping[str, Membership], group: pa.DictionaryArray, topic: pa.DictionaryArray
) -> dict[str, int]:
    """Return by group the number of topics with offsets that no member subscribes to."""
    subscribed = {name: topics for name, one in memberships.items() if (topics := _known_subscription(one)) is not None}
    counts = dict.fromkeys(subscribed, 0)
    groups, topics = group.dictionary.to_pylist(), topic.dictionary.to_pylist()
    for code in _pairs(group, topic):
        name = groups[code // len(topics)]
        known = subscribed.get(name)
        if known is not None and topics[code % len(topics)] not in known:
            counts[name] += 1
    return counts


def _pairs(group: pa.DictionaryArray, topic: pa.DictionaryArray) -> list[int]:
    """Return the distinct pairs of a group and a topic, as group * number of topics + topic."""
    codes = [array.indices.to_numpy(zero_copy_only=False).astype(np.int64) for array in (group, topic)]
    pairs: list[int] = pa.array(codes[0] * max(len(topic.dictionary), 1) + codes[1]).unique().to_pylist()
    return pairs
