"""How often each group was rebalanced lately, however often that was: counted from tick to tick.

A life keeps its newest transitions only, and a group of many members in a storm outruns them; but it also counts them
all. So the counts of tick after tick are noted here, as long as they rise, and their difference is the number wanted.
Pure, and no part of the state: after a restart what is told begins with what was kept, or with what lives remember.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.groups.lifecycle.model import TransitionType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.groups.lifecycle.model import GroupHistory

Noted = list[tuple[int, int]]
"""Moments (ms) with the count as it was then, oldest first; only where it rose."""

_REBALANCED = str(TransitionType.REBALANCED)


class RebalanceCounter:
    """Counts over a stretch of time that ends now."""

    def __init__(self, stretch: int, kept: Mapping[str, Noted] | None = None) -> None:
        """Count over so many ms; `kept` is what an earlier process noted."""
        self._stretch = stretch
        self._noted: dict[str, Noted] = {group: list(noted) for group, noted in (kept or {}).items()}
        self._lives: dict[str, GroupHistory] = {}
        self._counted: dict[str, int] = {}

    @property
    def noted(self) -> dict[str, Noted]:
        """What the next process needs: of the groups that rebalanced lately."""
        return {group: list(self._noted[group]) for group in self._counted}

    def count(self, lives: Mapping[str, GroupHistory], now: int) -> Mapping[str, int]:
        """Note the counts at a moment (ms); give for each group how many came within the stretch before it, if any."""
        for group in self._lives.keys() - lives.keys():
            self._noted.pop(group, None)
            self._counted.pop(group, None)
        for group, life in lives.items():
            if self._lives.get(group) is not life:
                self._note(group, life.counts.get(_REBALANCED, 0), now)
        self._lives = dict(lives)
        for group in list(self._counted):
            self._count(group, now)
        return self._counted

    def _note(self, group: str, count: int, now: int) -> None:
        noted = self._noted.setdefault(group, [])
        if noted and (count < noted[-1][1] or now <= noted[-1][0]):
            noted.clear()  # another life of the name, or another clock
        if not noted or count > noted[-1][1]:
            noted.append((now, count))
        self._counted[group] = 0

    def _count(self, group: str, now: int) -> None:
        """Count what came after the last moment that lies before the stretch, or after the first that is known."""
        noted = self._noted[group]
        while len(noted) > 1 and noted[1][0] <= now - self._stretch:
            del noted[0]
        self._counted[group] = noted[-1][1] - noted[0][1]
        if len(noted) == 1 and noted[0][0] <= now - self._stretch:
            del self._counted[group]  # nothing new for so long: its next count is held against this one
