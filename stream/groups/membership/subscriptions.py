"""The topics that members subscribe to, as sets that groups share: there are far fewer sets than groups."""

import dataclasses
import sys
import weakref
from collections import Counter
from collections.abc import Iterable
from typing import Final

from decoders.errors import MalformedBytes
from decoders.scalar import read_message
from decoders.tables import embedded
from stream.groups.membership.model import Membership
from stream.groups.short_cache import cache_short

MOST_BYTES: Final = 128 << 20
"""Limit of the memory for long subscriptions; decoded they need about five times the bytes of their records."""
_LONG: Final = 1_000
"""Topics from which on a subscription is long."""
_VERSION_BYTES: Final = 2
_COMMON: Final = 0
"""Every version of a subscription, including future ones, begins with the fields of version 0."""
_sets: weakref.WeakValueDictionary[int, frozenset[str]] = weakref.WeakValueDictionary()
"""The sets in use, by their hash."""


@cache_short(entries=4096, longest=1024)
def topics_of_blob(raw: bytes) -> frozenset[str] | None:
    """Return the topics in a classic member's subscription; None for zero bytes and for bytes that cannot be decoded.

    As the broker does to find offsets that must not expire (ClassicGroup#computeSubscribedTopics), it decodes the
    fields of version 0 in every version. One member that cannot be decoded makes the topics of the group unknown.
    """
    try:
        fields, _ = read_message(embedded.CONSUMER_SUBSCRIPTION, _COMMON, raw, _VERSION_BYTES)
    except MalformedBytes:
        return None
    return topic_set(fields["topics"])


def topic_set(topics: Iterable[str]) -> frozenset[str]:
    """Return the set of these topics; it is the same object as an equal set that is in use."""
    topics = frozenset(topics)
    known = _sets.get(hash(topics))
    if known is not None and known == topics:
        return known
    _sets[hash(topics)] = topics
    return topics


def union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return the union of the members' sets; it is the same object if all sets are equal, which is the usual case."""
    distinct = set(sets)
    if len(distinct) == 1:
        return distinct.pop()
    return topic_set(frozenset[str]().union(*distinct))


class LongSubscriptions:
    """Bounds the memory of the long subscriptions of all groups; a set that several groups share counts once."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        """Keep sets of up to `most` bytes in total."""
        self._most = most
        self._sets: dict[str, dict[int, frozenset[str]]] = {}
        self._users: Counter[int] = Counter()
        self._size: dict[int, int] = {}
        self.left_out: set[str] = set()
        """The groups whose subscriptions are not kept."""

    def bounded(self, group: str, membership: Membership | None) -> Membership | None:
        """Return the present membership of a group, with an unknown subscription if that would exceed the limit.

        The group stays as it is otherwise. The next record of the group decides again.
        """
        self._release(group)
        sets = {} if membership is None else _long_sets(membership)
        if membership is None or not sets:
            return membership
        size = {number: self._size.get(number) or _size(each) for number, each in sets.items()}
        if sum((self._size | size).values()) > self._most:
            self.left_out.add(group)
            clients = tuple(dataclasses.replace(each, subscribed=None) for each in membership.clients)
            return dataclasses.replace(membership, subscribed=None, clients=clients, unresolved=1)
        self._sets[group] = sets
        self._users.update(list(sets))
        self._size |= size
        return membership

    def _release(self, group: str) -> None:
        self.left_out.discard(group)
        for number in self._sets.pop(group, ()):
            self._users[number] -= 1
            if not self._users[number]:
                del self._users[number], self._size[number]


def _long_sets(membership: Membership) -> dict[int, frozenset[str]]:
    sets = (membership.subscribed, *(client.subscribed for client in membership.clients))
    return {id(each): each for each in sets if each is not None and len(each) >= _LONG}


def _size(topics: frozenset[str]) -> int:
    return sys.getsizeof(topics) + sum(map(sys.getsizeof, topics))
