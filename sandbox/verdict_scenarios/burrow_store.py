"""Burrow's store of commits: the window of one partition, and windows as the columns that its rules read.

The rules of insertion are those of core/internal/storage/inmemory.go.
"""

import dataclasses
from collections.abc import Sequence

from stream.health.burrow.rules import INTERVALS, NONE, Rings


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

    def __init__(self, intervals: int = INTERVALS, *, min_distance: int = 0) -> None:
        """Keep `intervals` commits; one less than `min_distance` seconds after its neighbour replaces it."""
        self._intervals = intervals
        self._min_distance = min_distance * 1_000
        self.slots: list[BurrowSlot] = []

    def commit(self, offset: int, order: int, timestamp: int, end: int | None) -> None:
        """Add a commit; `end` is the newest end offset of the partition. Without one the commit is dropped."""
        if end is None or (len(self.slots) == self._intervals and self.slots[0].order >= order):
            return
        if not self.slots or order > self.slots[-1].order:
            self._append(BurrowSlot(offset, order, timestamp, max(0, end - offset)))
        else:
            self._insert(BurrowSlot(offset, order, timestamp))

    def _append(self, slot: BurrowSlot) -> None:
        if self.slots and slot.timestamp - self.slots[-1].timestamp < self._min_distance:
            # The older timestamp stays: otherwise commits that are close together would never open a new slot.
            self.slots[-1] = dataclasses.replace(slot, timestamp=self.slots[-1].timestamp)
            return
        self.slots = [*self.slots, slot][-self._intervals :]

    def _insert(self, slot: BurrowSlot) -> None:
        """Insert a late commit at the position of its order; its lag at that time is not known."""
        if any(each.order == slot.order for each in self.slots):
            return
        at = sum(each.order < slot.order for each in self.slots)
        previous = self.slots[at - 1] if at else None
        if previous is not None and slot.timestamp - previous.timestamp < self._min_distance:
            self.slots[at - 1] = dataclasses.replace(slot, timestamp=previous.timestamp)
            return
        self.slots = [*self.slots[:at], slot, *self.slots[at:]][-self._intervals :]


def columns_of_rings(rings: Sequence[Ring], ends: Sequence[Sequence[int]], intervals: int = INTERVALS) -> Rings:
    """Return rings and the end offsets of their partitions (oldest first) as columns."""
    columns = Rings.empty(len(rings), intervals)
    for row, (ring, known) in enumerate(zip(rings, ends, strict=True)):
        first = intervals - len(ring.slots)
        columns.offset[row, first:] = [slot.offset for slot in ring.slots]
        columns.timestamp[row, first:] = [slot.timestamp for slot in ring.slots]
        columns.lag[row, first:] = [slot.lag for slot in ring.slots]
        newest = list(known)[-intervals:]
        columns.ends[row, intervals - len(newest) :] = newest
    return columns
