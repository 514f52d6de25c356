"""Until when the log has been read, and since when it can be written: how far a silence is the group's own.

What has not been read cannot be missed: while the reader is behind, or an open transaction hides what comes after it, a
group is silent for us and not for its coordinator. And while the coordinator is away nobody can commit. Both are told
from the ends of the offsets partitions, tick after tick, and from the commits themselves: a partition is read in
order, so its newest commit that is known dates what is read. Pure; the caller has the clock.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.cluster.offsets_topic import NAME
from stream.groups.placement import partition_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream.health.columns import Flags, Ints
    from stream.tick.ends_index import EndsIndex
    from stream.tick.inputs.rows import InputRows

_KEPT: Final = 64
"""Ends of so many ticks are remembered; a reader that is further behind is dated by its commits alone."""
_GAP_TICKS: Final = 3
NEVER: Final = -1


@dataclasses.dataclass(frozen=True, slots=True)
class ReadUntil:
    """One element per row (ms)."""

    read_until: Ints
    """All its commits up to then are known."""
    answered_since: Ints
    """Since when its offsets partition answers again after it did not; -1: as long as it is watched."""


class ReadPositionTracker:
    """Follows the offsets partitions from tick to tick."""

    def __init__(self, tick: int) -> None:
        """Take ticks so many ms apart; a pause of more than three of them is a time in which nothing was seen."""
        self._gap = _GAP_TICKS * tick
        self._ends: dict[int, collections.deque[tuple[int, int]]] = {}
        self._until: dict[int, int] = {}
        self._answered: dict[int, int] = {}
        self._missed: set[int] = set()
        self._back: dict[int, int] = {}
        self._partitions = 0
        self._names: Sequence[str] = ()
        self._homes = np.empty(0, np.int64)

    def miss(self) -> None:
        """Note that nobody answered at a tick."""
        self._missed.update(self._answered)

    def look(self, ends: EndsIndex, positions: Mapping[int, int], now: int) -> None:
        """Hold the reader's positions, as they were before the ends had been read (at `now`, ms), against those."""
        rows = ends.rows_of_topic(NAME)
        numbers = ends.partitions(rows).tolist()
        self._partitions = max([self._partitions, *(number + 1 for number in numbers)])
        for number, end in zip(numbers, ends.high_watermark[rows].tolist(), strict=True):
            if end < 0:
                self._missed.add(number)
            else:
                self._answer(number, now)
                self._read(number, positions.get(number), end, now)

    def _answer(self, number: int, now: int) -> None:
        before = self._answered.get(number)
        if before is not None and (number in self._missed or now - before > self._gap):
            self._back[number] = now
        self._missed.discard(number)
        self._answered[number] = now

    def _read(self, number: int, position: int | None, end: int, now: int) -> None:
        # By the high watermark: what an open transaction hides has not been read.
        ends = self._ends.setdefault(number, collections.deque(maxlen=_KEPT))
        ends.append((now, end))
        while position is not None and ends and ends[0][1] <= position:
            self._until[number] = ends.popleft()[0]

    def reach(self, rows: InputRows, commit_time: Ints, asked: Flags, now: int) -> ReadUntil:
        """Say of each row how far its silence is its own; those that were `asked` from coordinators are of now."""
        partitions = self._partitions
        if not partitions:
            return ReadUntil(np.full(len(rows), now, np.int64), np.full(len(rows), NEVER, np.int64))
        home = self._homes_of(rows.groups)[rows.group]
        newest = np.full(partitions, NEVER, np.int64)
        told = ~asked
        np.maximum.at(newest, home[told], commit_time[told])
        until = np.maximum(newest, _column(self._until, partitions))
        # Of a partition of which nothing has been read yet it is not known; then a silence is taken for the group's.
        until = np.where(until >= 0, np.minimum(until, now), now)[home]
        return ReadUntil(np.where(asked, now, until), _column(self._back, partitions)[home])

    def _homes_of(self, names: Sequence[str]) -> Ints:
        if names is not self._names:
            self._names = names
            self._homes = np.array([partition_for(name, self._partitions) for name in names] or [0], np.int64)
        return self._homes


def _column(by_partition: Mapping[int, int], partitions: int) -> Ints:
    return np.array([by_partition.get(number, NEVER) for number in range(partitions)], np.int64)
