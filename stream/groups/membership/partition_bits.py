"""Sets of partitions as bit masks: 40 bytes per topic of a group, and set operations are arithmetic."""

import sys
from collections.abc import Iterable
from typing import Any, Final

from stream.groups.membership.model import Owned
from stream.groups.short_cache import cache_short

HIGHEST: Final = 65_535
"""The highest partition in a mask. Assignments are written by clients and may contain any number."""


@cache_short(entries=4096, longest=64)
def partition_mask(partitions: tuple[int, ...]) -> int:
    """Return the mask of these partitions; those below 0 or above `HIGHEST` are ignored."""
    possible = [partition for partition in partitions if 0 <= partition <= HIGHEST]
    mask = bytearray(max(possible, default=0) // 8 + 1)  # an integer would be copied for each partition
    for partition in possible:
        mask[partition // 8] |= 1 << partition % 8
    return int.from_bytes(mask, "little")


def mask_of_first(count: int) -> int:
    """Return the mask of all partitions of a topic with this partition count."""
    return (1 << min(count, HIGHEST + 1)) - 1


def partitions_in_mask(mask: int) -> tuple[int, ...]:
    """Return the partitions in a mask, ascending."""
    return tuple(at for at, bit in enumerate(reversed(f"{mask:b}")) if bit == "1")


def merge_owned(rows: Iterable[tuple[str | bytes, tuple[int, ...]]]) -> Owned:
    """Return the union of the rows by topic, sorted; topics must be all names or all ids."""
    owned: dict[str | bytes, int] = {}
    for topic, partitions in rows:
        owned[topic] = owned.get(topic, 0) | partition_mask(partitions)
    return tuple((sys.intern(topic) if type(topic) is str else topic, owned[topic]) for topic in _ascending(owned))


def union_of_shares(shares: Iterable[Owned]) -> Owned:
    """Return what several members own together, sorted by topic; topics must be all names or all ids."""
    owned: dict[str | bytes, int] = {}
    for topic, mask in (entry for share in shares for entry in share):
        owned[topic] = owned.get(topic, 0) | mask
    return tuple((topic, owned[topic]) for topic in _ascending(owned))


def _ascending(topics: Iterable[Any]) -> list[Any]:
    return sorted(topics)
