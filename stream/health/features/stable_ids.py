"""Numbers for names and places that stay the same from tick to tick, so that what is remembered finds its row again.

A tick numbers its groups and topics as it likes (sorted, usually), and adds and drops some all the time. Here each name
keeps its number as long as it is there, and each (topic, partition) a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream.health.columns import Ints


class NameIds:
    """Numbers of names. A number whose name is gone is given again, but not in the tick in which it became free."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._free: list[int] = []
        self._freed: list[int] = []
        self._forgotten = 0
        self._asked: tuple[str, ...] = ()
        self._given = np.empty(0, np.int64)

    def assign(self, names: Sequence[str]) -> Ints:
        """Give each of these names (all there are now) its number. Names that are not among them are forgotten."""
        asked = tuple(names)
        if asked == self._asked:
            return self._given
        known = self._number
        gone = known.keys() - set(asked)
        self._free += self._freed
        self._freed = [known.pop(name) for name in sorted(gone)]
        self._forgotten += len(gone)
        for name in asked:
            if name not in known:
                known[name] = self._free.pop() if self._free else len(known) + len(self._freed)
        self._asked, self._given = asked, np.array([known[name] for name in asked], np.int64)
        return self._given

    @property
    def removed(self) -> int:
        """How many names went so far. When it rises, what is remembered under their numbers must go before reuse."""
        return self._forgotten


class PartitionIds:
    """Rows of places (topic number << 32 | partition)."""

    def __init__(self) -> None:
        self._places = np.empty(0, np.int64)  # sorted
        self._row = np.empty(0, np.int64)
        self._asked = np.empty(0, np.int64)
        self._given = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._places)

    def assign(self, places: Ints) -> Ints:
        """Give each of these places (none twice) its row; a new place gets the next one."""
        if len(places) == len(self._asked) and (places == self._asked).all():
            return self._given
        at = self._found(places)
        new = np.sort(places[at < 0])
        if len(new):
            every = np.concatenate([self._places, new])
            rows = np.concatenate([self._row, np.arange(len(self._places), len(every))])
            order = np.argsort(every, kind="stable")
            self._places, self._row = every[order], rows[order]
            at = self._found(places)
        self._asked, self._given = places.copy(), self._row[at]
        return self._given

    def find(self, places: Ints) -> Ints:
        """Give each of these places its row, -1 for one that has none."""
        at = self._found(places)
        return np.where(at >= 0, self._row[at], -1) if len(self._row) else at

    def retain(self, places: Ints) -> Ints:
        """Forget all other places, number the rows anew and give the old row of each new one."""
        at = np.sort(self._found(places))
        at = at[at >= 0]
        old = self._row[at]
        self._places, self._row = self._places[at], np.arange(len(at))
        self._asked = self._given = np.empty(0, np.int64)
        return old

    def _found(self, places: Ints) -> Ints:
        if not len(self._places):
            return np.full(len(places), -1, np.int64)
        at = np.minimum(np.searchsorted(self._places, places), len(self._places) - 1)
        return np.where(self._places[at] == places, at, -1)
