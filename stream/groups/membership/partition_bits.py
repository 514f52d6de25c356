"""Partitions as bits of a number: what a group owns in 40 bytes a topic, and questions to it as arithmetic."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream.groups.membership.model import Owned

HIGHEST: Final = 65_535
"""The highest partition that is told apart: assignments are bytes of a client's making, and may name any number."""


@functools.lru_cache(maxsize=4096)
def partition_mask(partitions: tuple[int, ...]) -> int:
    """Set the bit of each partition; those below 0 and above `HIGHEST` do not exist."""
    mask = 0
    for partition in partitions:
        if 0 <= partition <= HIGHEST:
            mask |= 1 << partition
    return mask


def mask_of_first(count: int) -> int:
    """Set the bits of the partitions that a topic of so many has."""
    return (1 << min(count, HIGHEST + 1)) - 1


def partitions_in_mask(mask: int) -> tuple[int, ...]:
    """Give the partitions whose bits are set, ascending."""
    return tuple(at for at, bit in enumerate(reversed(f"{mask:b}")) if bit == "1")


def merge_owned(rows: Iterable[tuple[str | bytes, tuple[int, ...]]]) -> Owned:
    """Sum up who owns what, by topic; a topic that stands in several rows is one. All name topics the same way."""
    owned: dict[str | bytes, int] = {}
    for topic, partitions in rows:
        owned[topic] = owned.get(topic, 0) | partition_mask(partitions)
    return tuple((sys.intern(topic) if type(topic) is str else topic, owned[topic]) for topic in _ascending(owned))


def _ascending(topics: Iterable[Any]) -> list[Any]:
    return sorted(topics)
