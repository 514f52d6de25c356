"""Remembers the recent leaders of partitions, to find the broker whose failure left a partition without one. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from stream.health.columns import NOT_KNOWN

if TYPE_CHECKING:
    from stream.health.columns import Ints
    from stream.tick.ends_index import EndsIndex

_KEPT_MS: Final = 900_000
"""Time for which a leader is remembered after another one has taken over."""


class RecentLeaders:
    """The leaders of the partitions that were polled, tick after tick."""

    def __init__(self) -> None:
        self._ends: EndsIndex | None = None
        # By row of `_ends`: the last known leader, the one before, and when it was replaced (ms); -1: not known.
        self._last = self._previous = self._replaced_at = np.empty(0, np.int64)

    def update(self, ends: EndsIndex, now: int) -> None:
        """Record the leaders of the partitions polled at `now` (ms)."""
        last, previous, replaced_at = self._aligned(ends)
        led = ends.leader >= 0
        moved = led & (last >= 0) & (last != ends.leader)
        previous, replaced_at = np.where(moved, last, previous), np.where(moved, now, replaced_at)
        previous[(replaced_at >= 0) & (now - replaced_at > _KEPT_MS)] = NOT_KNOWN
        self._ends, self._last = ends, np.where(led, ends.leader, last)
        self._previous, self._replaced_at = previous, replaced_at

    def of(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the last known leader of these rows of the ends, and the one before if it led recently; -1: not known.

        A row of -1 has no leader.
        """
        if not len(self._last):
            return rows * 0 - 1, rows * 0 - 1
        return np.where(rows >= 0, self._last[rows], -1), np.where(rows >= 0, self._previous[rows], -1)

    def _aligned(self, ends: EndsIndex) -> tuple[Ints, Ints, Ints]:
        """Return what is remembered for the rows of `ends`; -1 for partitions that are new."""
        columns = (self._last, self._previous, self._replaced_at)
        known = self._ends
        if known is None or not len(known):
            return tuple(np.full(len(ends), NOT_KNOWN, np.int64) for _ in columns)  # type: ignore[return-value]
        if list(known.names) == list(ends.names) and np.array_equal(known.places, ends.places):
            return columns[0].copy(), columns[1].copy(), columns[2].copy()
        row = known.rows(ends.names, ends.places >> 32, ends.partitions(np.arange(len(ends))))
        last, previous, replaced_at = (np.where(row >= 0, column[row], NOT_KNOWN) for column in columns)
        return last, previous, replaced_at
