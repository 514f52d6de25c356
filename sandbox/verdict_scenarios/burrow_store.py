"""Burrow's store of commits: the window of one partition, and windows as the columns that its rules read.

The rules of insertion are those of core/internal/storage/inmemory.go.
"""

import dataclasses
from collections.abc import Sequence

from stream.health.burrow import INTERVALS, NONE, Rings


@dataclasses.dataclass(slots=True)
class BurrowSlot:
    """One commit in a ring; `timestamp` in ms."""

    offset: int
    order: int
    """Its position in the offsets partition."""
    timestamp: int
    lag: int = NONE


class Ring:
    """The window of one (group, topic, partition): the newest commits, oldest first."""

    def __init__(self) -> None:
        self.slots: list[BurrowSlot] = []

    def commit(self, offset: int, order: int, timestamp: int, end: int | None) -> None:
        """Add a commit; `end` is the newest end offset of the partition. Without one the commit is dropped."""
        if end is None or (len(self.slots) == INTERVALS and self.slots[0].order >= order):
            return
        if not self.slots or order > self.slots[-1].order:
            slots = [*self.slots, BurrowSlot(offset, order, timestamp, max(0, end - offset))]
        elif any(each.order == order for each in self.slots):
            return
        else:  # late: its lag at that time is not known
            slots = sorted([*self.slots, BurrowSlot(offset, order, timestamp)], key=lambda each: each.order)
        self.slots = slots[-INTERVALS:]


def columns_of_rings(rings: Sequence[Ring], ends: Sequence[Sequence[int]]) -> Rings:
    """Return rings and the end offsets of their partitions (oldest first) as columns."""
    columns = Rings.empty(len(rings), INTERVALS)
    for row, (ring, known) in enumerate(zip(rings, ends, strict=True)):
        first = INTERVALS - len(ring.slots)
        columns.offset[row, first:] = [slot.offset for slot in ring.slots]
        columns.timestamp[row, first:] = [slot.timestamp for slot in ring.slots]
        columns.lag[row, first:] = [slot.lag for slot in ring.slots]
        newest = list(known)[-INTERVALS:]
        columns.ends[row, INTERVALS - len(newest) :] = newest
    return columns
