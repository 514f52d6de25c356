"""The topics that members subscribe to, as sets that groups share: there are far fewer sets than groups."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from decoders.errors import MalformedBytes
from decoders.scalar import read_message
from decoders.tables import embedded

if TYPE_CHECKING:
    from collections.abc import Iterable

_VERSION_BYTES: Final = 2
_COMMON: Final = 0
"""Every version of a subscription, including future ones, begins with the fields of version 0."""


@functools.lru_cache(maxsize=4096)
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


@functools.lru_cache(maxsize=4096)
def topic_set(topics: tuple[str, ...]) -> frozenset[str]:
    """Return the set of these topics; equal topics give the same object."""
    return frozenset(topics)


def union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return the union of the members' sets; it is the same object if all sets are equal, which is the usual case."""
    distinct = set(sets)
    if len(distinct) == 1:
        return distinct.pop()
    return topic_set(tuple(sorted(frozenset[str]().union(*distinct))))
