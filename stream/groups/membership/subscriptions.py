"""Which topics members subscribe to, as sets that groups share: they are few, and groups are many."""

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
"""Every version of a subscription begins as version 0 does, those of the future too."""


@functools.lru_cache(maxsize=4096)
def topics_of_blob(raw: bytes) -> frozenset[str] | None:
    """Read the topics in a classic member's subscription; None where they cannot be read, as from no bytes at all.

    The broker does it so to know which offsets must not expire (ClassicGroup#computeSubscribedTopics): version 0's
    fields, whatever the version says, and one member that cannot be read leaves the whole group's topics unknown.
    """
    try:
        fields, _ = read_message(embedded.CONSUMER_SUBSCRIPTION, _COMMON, raw, _VERSION_BYTES)
    except MalformedBytes:
        return None
    return topic_set(fields["topics"])


@functools.lru_cache(maxsize=4096)
def topic_set(topics: tuple[str, ...]) -> frozenset[str]:
    """Give the set of these topics, the same object for the same topics."""
    return frozenset(topics)


def union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    """Unite the members' sets; mostly all are one and the same, and then it is given."""
    distinct = set(sets)
    if len(distinct) == 1:
        return distinct.pop()
    return topic_set(tuple(sorted(frozenset[str]().union(*distinct))))
