"""Numbers of names and rows of partitions that stay the same from tick to tick, for state that is kept by row.

Each tick numbers its groups and topics by their sorted position, so a new name changes the numbers of others. Here each
name keeps its number as long as it exists, and each (topic, partition) keeps its row.
"""

from collections.abc import Sequence

import numpy as np

from stream.health.columns import Ints
from stream.health.inputs import HealthInputs


class NameIds:
    """Numbers of names. The number of a removed name is reused, but not in the tick of the removal."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._free: list[int] = []
        self._freed: list[int] = []
        self._removed = 0
        self._last_names: tuple[str, ...] = ()
        self._last_numbers = np.empty(0, np.int64)

    def assign(self, names: Sequence[str]) -> Ints:
        """Return the number of each of these names, which are all that exist now; all other names are removed."""
        current = tuple(names)
        if current == self._last_names:
            return self._last_numbers
        known = self._number
        removed = known.keys() - set(current)
        self._free += self._freed
        self._freed = [known.pop(name) for name in sorted(removed)]
        self._removed += len(removed)
        for name in current:
            if name not in known:
                known[name] = self._free.pop() if self._free else len(known) + len(self._freed)
        self._last_names, self._last_numbers = current, np.array([known[name] for name in current], np.int64)
        return self._last_numbers

    @property
    def removed(self) -> int:
        """Number of names removed so far. When it rises, drop the state of their numbers before the next tick."""
        return self._removed


def row_keys(inputs: HealthInputs, groups: NameIds, topics: NameIds) -> Ints:
    """Return a key for each row that is the same at every tick (up to 16 M groups and 1 M topics)."""
    group, topic = groups.assign(inputs.groups.names), topics.assign(inputs.topics)
    return (group[inputs.group] << 40) | (topic[inputs.topic] << 20) | inputs.partition.astype(np.int64)


class PartitionIds:
    """Rows of places; a place is topic number << 32 | partition."""

    def __init__(self) -> None:
        self._places = np.empty(0, np.int64)  # sorted
        self._row = np.empty(0, np.int64)
        self._last_places = np.empty(0, np.int64)
        self._last_rows = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._places)

    def assign(self, places: Ints) -> Ints:
        """Return the row of each of these places (without duplicates); a new place gets the next free row."""
        if len(places) == len(self._last_places) and (places == self._last_places).all():
            return self._last_rows
        at = self._position(places)
        new = np.sort(places[at < 0])
        if len(new):
            every = np.concatenate([self._places, new])
            rows = np.concatenate([self._row, np.arange(len(self._places), len(every))])
            order = np.argsort(every, kind="stable")
            self._places, self._row = every[order], rows[order]
            at = self._position(places)
        self._last_places, self._last_rows = places.copy(), self._row[at]
        return self._last_rows

    def find(self, places: Ints) -> Ints:
        """Return the row of each of these places, -1 where it has none."""
        at = self._position(places)
        return np.where(at >= 0, self._row[at], -1) if len(self._row) else at

    def retain(self, places: Ints) -> Ints:
        """Remove all other places, renumber the rows, and return the old row of each new row."""
        at = np.sort(self._position(places))
        at = at[at >= 0]
        old = self._row[at]
        self._places, self._row = self._places[at], np.arange(len(at))
        self._last_places = self._last_rows = np.empty(0, np.int64)
        return old

    def _position(self, places: Ints) -> Ints:
        if not len(self._places):
            return np.full(len(places), -1, np.int64)
        at = np.minimum(np.searchsorted(self._places, places), len(self._places) - 1)
        return np.where(self._places[at] == places, at, -1)
