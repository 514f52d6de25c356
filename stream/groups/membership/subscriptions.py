"""The topics that members subscribe to, as sets that groups share: there are far fewer sets than groups."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Final

from decoders.errors import MalformedBytes
from decoders.scalar import read_message
from decoders.tables import embedded
from stream.groups.short_cache import cache_short

if TYPE_CHECKING:
    from collections.abc import Iterable

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
