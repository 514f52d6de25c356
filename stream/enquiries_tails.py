"""Which tails are read at which tick, and what is known of all that have been read.

Owns the cache: a tail is read once for as long as the partition ends where it did. One that cannot be read (a topic
that lagwarden may not read, a broker that fails again and again) is taken for data, so that its groups are judged at
all: then a marker at its end reads as lag 1.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.cluster.errors import ClusterError
from stream.cluster.reasons import Reason
from stream.cluster.tails import TailRead, TailWanted, read_tails
from stream.health.tails import Tails

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from stream.cluster.client import Cluster
    from stream.enquiries_ends import EndsByName
    from stream.enquiries_limits import Allowances
    from stream.health.columns import Flags, Ints
    from stream.health.windows import Window

_ATTEMPTS: Final = 3
_SPARE_NAMES: Final = 1_000
_FINAL: Final = frozenset({Reason.NOT_AUTHORIZED, Reason.UNSUPPORTED, Reason.INVALID})
"""What will not be otherwise at the next tick."""


@dataclasses.dataclass(slots=True)
class _Stretches:
    """Stretches of offsets as columns. Topics are numbered by the holder."""

    topic: Ints
    partition: Ints
    data_from: Ints
    end: Ints
    data_end: Ints

    def take(self, rows: Ints | Flags) -> _Stretches:
        return _Stretches(*(column[rows] for column in self._columns()))

    def then(self, more: _Stretches) -> _Stretches:
        """Add others, which replace those of the same places."""
        both = [np.concatenate(pair) for pair in zip(self._columns(), more._columns(), strict=True)]
        place = (both[0] << 32) | both[1]
        _, last = np.unique(place[::-1], return_index=True)
        return _Stretches(*(column[len(place) - 1 - last] for column in both))

    def _columns(self) -> list[Ints]:
        return [getattr(self, field.name) for field in dataclasses.fields(self)]

    def __len__(self) -> int:
        return len(self.topic)


def _none() -> _Stretches:
    return _Stretches(*(np.empty(0, np.int64) for _ in range(5)))


class TailWatch:
    """Used by the thread of the ticks alone."""

    def __init__(self, cluster: Cluster, allowances: Allowances, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._allowances = allowances
        self._clock = clock
        self._number: dict[str, int] = {}
        self._names: list[str] = []
        self._known = _none()
        self._wanted: list[TailWanted] = []
        self._failed: dict[TailWanted, int] = {}

    def note(self, window: Window) -> None:
        """Take note of the tails that are worth reading at the next tick: the shortest first, as many as allowed."""
        rows = np.flatnonzero(window.tail_wanted)
        end = window.ends.high_watermark[rows]
        data_from = end - window.lag[rows]
        order = np.argsort(data_from, kind="stable")
        place = (window.seen.topic[rows] << 32) | window.seen.partition[rows]
        # Of the groups that stand before the same tail the one that is furthest from its end counts for all.
        _, first = np.unique(place[order], return_index=True)
        chosen = order[first]
        chosen = chosen[np.argsort((end - data_from)[chosen], kind="stable")][: self._allowances.tails]
        topics, numbers, partitions = window.seen.topics, window.seen.topic[rows], window.seen.partition[rows]
        self._wanted = [
            TailWanted(topics[int(numbers[at])], int(partitions[at]), int(data_from[at]), int(end[at])) for at in chosen
        ]

    def look(self, topics: Sequence[str], ends: EndsByName) -> Tails:
        """Read what is wanted and still ends where it did; give all that is known, numbered by `topics`."""
        self._known = self._still(self._known, ends)
        self._forget_names()
        read = self._read(_that_stand(self._wanted, ends))
        self._wanted = []
        if read:
            self._known = self._known.then(self._columns(read))
        return self._numbered(topics)

    def _still(self, known: _Stretches, ends: EndsByName) -> _Stretches:
        """Keep what ends where it did, and what was asked for without an answer: that tells nothing new."""
        if not len(known):
            return known
        row = ends.rows(self._names, known.topic, known.partition)
        end = np.where(row >= 0, ends.high_watermark[row], -1) if len(ends.high_watermark) else row
        same = (end == known.end) | ((end < 0) & ends.asked_for(self._names)[known.topic])
        return known if same.all() else known.take(same)

    def _read(self, wanted: Sequence[TailWanted]) -> list[TailRead]:
        """Give what was found, and for data what cannot be found."""
        if not wanted:
            self._failed = {}
            return []
        try:
            seconds, clock = self._allowances.seconds, self._clock
            answers = read_tails(self._cluster, wanted, seconds=seconds, clock=clock)
        except ClusterError:
            return []  # nobody answers: that is no fault of these tails
        missing = [each for each in answers if each.data_end is None]
        failed = {each.wanted: self._failed.get(each.wanted, 0) + 1 for each in missing}
        lost = [each for each in missing if each.reason in _FINAL or failed[each.wanted] >= _ATTEMPTS]
        self._failed = {each: times for each, times in failed.items() if times < _ATTEMPTS}
        taken_for_data = [TailRead(each.wanted, each.wanted.end) for each in lost]
        return [each for each in answers if each.data_end is not None] + taken_for_data

    def _columns(self, read: Iterable[TailRead]) -> _Stretches:
        rows = [
            (self._number_of(each.topic), each.partition, each.data_from, each.end, found.data_end)
            for found in read
            if (each := found.wanted)
        ]
        return _Stretches(*np.array(rows, np.int64).reshape(-1, 5).T.copy())

    def _number_of(self, topic: str) -> int:
        number = self._number.setdefault(topic, len(self._number))
        if number == len(self._names):
            self._names.append(topic)
        return number

    def _forget_names(self) -> None:
        """Give the topics new numbers once most names are those of topics that nothing is known of any more."""
        if len(self._names) > 2 * len(self._known) + _SPARE_NAMES:
            used, self._known.topic = np.unique(self._known.topic, return_inverse=True)
            self._names = [self._names[number] for number in used.tolist()]
            self._number = {name: number for number, name in enumerate(self._names)}

    def _numbered(self, topics: Sequence[str]) -> Tails:
        theirs = {name: number for number, name in enumerate(topics)}
        number = np.array([theirs.get(name, -1) for name in self._names] or [-1], np.int64)[self._known.topic]
        place = (number << 32) | self._known.partition
        rows = np.flatnonzero(number >= 0)
        rows = rows[np.argsort(place[rows])]
        known = self._known.take(rows)
        return Tails(place[rows], known.end, known.data_from, known.data_end)


def _that_stand(wanted: Sequence[TailWanted], ends: EndsByName) -> list[TailWanted]:
    """Give those whose partitions still end where they did."""
    names, partition = [each.topic for each in wanted], np.array([each.partition for each in wanted], np.int64)
    rows = ends.rows(names, np.arange(len(wanted)), partition).tolist()
    return [each for each, row in zip(wanted, rows, strict=True) if row >= 0 and ends.high_watermark[row] == each.end]
