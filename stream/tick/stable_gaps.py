"""Tracks the offsets partitions whose last stable offset is below the high watermark, and since when it stays there.

An open transaction holds the last stable offset in place; a transaction that ends moves it. Pure.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from stream.cluster.offsets_topic import NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.groups.instances import InstancePart
    from stream.tick.ends_index import EndsIndex


@dataclasses.dataclass(frozen=True, slots=True)
class StableGap:
    """A last stable offset below the high watermark, and when (ms) it was first seen there."""

    last_stable: int
    since: int


class StableGaps:
    """The gaps of the offsets partitions of one instance, tick after tick."""

    def __init__(self, part: InstancePart) -> None:
        """Track the partitions of this instance."""
        self._part = part
        self._gaps: dict[int, StableGap] = {}

    def update(self, ends: EndsIndex, now: int) -> Mapping[int, StableGap]:
        """Return the gaps by partition; `ends` were read at `now` (ms).

        A partition whose ends are not known at this tick keeps its gap, also if the topic could not be described.
        """
        rows = ends.rows_of_topic(NAME)
        columns = (ends.partitions(rows), ends.last_stable_offset[rows], ends.high_watermark[rows])
        gaps = dict(self._gaps)
        for partition, stable, high in zip(*(column.tolist() for column in columns), strict=True):
            previous = gaps.get(partition)
            if not self._part.owns(partition) or stable < 0 or high < 0:
                continue
            if stable >= high:
                gaps.pop(partition, None)
            elif previous is None or previous.last_stable != stable:
                gaps[partition] = StableGap(stable, now)
        self._gaps = gaps
        return gaps
