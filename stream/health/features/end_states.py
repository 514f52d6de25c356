"""What the last ends of the partitions say beside their history: standstills, falls, leaders, and missing answers.

One row per partition, in the order of the histories of ends; times in ms.

Numbers of names and rows of partitions that stay the same from tick to tick, for state that is kept by row.

Each tick numbers its groups and topics by their sorted position, so a new name changes the numbers of others. Here each
name keeps its number as long as it exists, and each (topic, partition) keeps its row.
"""

import dataclasses
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stream.health.columns import NOT_KNOWN, Flags, Ints, assigned, replaced, uniform
from stream.health.inputs import HealthInputs
from stream.health.row_columns import RowColumns, column


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


_GAP_TICKS: Final = 3
"""Partitions that were not polled for more ticks than this count as not having answered."""


@dataclasses.dataclass(frozen=True, slots=True)
class EndStates(RowColumns):
    """The states after a tick; the methods that record a tick change the columns in place."""

    stable: Ints = column()
    """The newest last stable offset."""
    blocked_since: Ints = column()
    """Since when it has not moved and is below the high watermark; -1 elsewhere."""
    standstill: Ints = column(default=0)
    """The longest time an earlier transaction kept it in place; each later transaction halves it."""
    released: Ints = column()
    """When it last moved on after a standstill; -1: never."""
    released_from: Ints = column()
    """The offset of that standstill."""
    answered: Ints = column()
    """When the ends were last known; -1: never."""
    answered_again: Ints = column()
    """When they became known again after polls without an answer; -1: never."""
    end: Ints = column()
    peak: Ints = column()
    """The highest end if the end has fallen since and has not reached it again; else -1."""
    fell: Ints = column()
    """When that fall was first seen; without a `peak` it means nothing."""
    epoch: Ints = column()
    """The newest leader epoch."""
    epoch_before: Ints = column()
    """The leader epoch before the newest one, and the last end under it; -1: no leader has changed."""
    end_before: Ints = column()
    unanswered: Flags = column(default=0, dtype=np.bool_)
    """A poll without an answer has followed the last known ends."""

    def stable_since(self, rows: Ints) -> Ints:
        """Return since when (ms) the last stable offset has not moved and is below the high watermark; -1 elsewhere."""
        return _of_rows(self.blocked_since, rows, -1)

    def stood_still(self, rows: Ints) -> Ints:
        """Return how long (ms) earlier transactions kept the last stable offset in place, at least; 0 where unknown."""
        return _of_rows(self.standstill, rows, 0)

    def readable_since(self, rows: Ints, next_offset: Ints) -> Ints:
        """Return since when (ms) consumers of committed records can read these offsets; -1: not known to be recent."""
        released = _of_rows(self.released, rows, -1)
        at = np.flatnonzero(released >= 0)
        return assigned(released, at[next_offset[at] < self.released_from[rows[at]]], -1)

    def answered_since(self, rows: Ints) -> Ints:
        """Return since when (ms) the end is known again after it was not; -1: known ever since it was first polled."""
        return _of_rows(self.answered_again, rows, -1)

    def is_truncated(self, rows: Ints, now: int) -> Flags:
        """Return the rows whose end has fallen and has not reached its former offset again.

        Not at the tick of the fall: a new leader may report a lower end for a moment (KIP-207).
        """
        if not len(self.peak):
            return np.zeros(len(rows), np.bool_)
        fell = (self.peak >= 0) & (self.fell < now)
        return (rows >= 0) & fell[rows] if fell.any() else np.zeros(len(rows), np.bool_)

    def cut_rows(self, rows: Ints, epoch: NDArray[np.int32], offset: Ints) -> Flags:
        """Return which of these rows have lost their end: a commit of this epoch and offset shows a newer leader.

        The records that the group has read have a later epoch than the leader had when the end was behind them already
        (KIP-320), so the known ends are those of other records. An epoch that the leader does not have yet shows
        nothing: it may be of another topic, whose offset was restored here.
        """
        before, newest, end = (_of_rows(each, rows, -1) for each in (self.epoch_before, self.epoch, self.end_before))
        return (before >= 0) & (before < epoch) & (epoch <= newest) & (offset < end)

    def record_missed_tick(self) -> None:
        """Record a tick at which the cluster did not answer."""
        self.unanswered[:] = self.answered >= 0

    def clear(self, rows: Ints) -> None:
        """Forget the observations of these rows."""
        for name, each in self.declared().items():
            getattr(self, name)[rows] = each.default

    def record(self, rows: Ints, inputs: HealthInputs, tick: int) -> None:
        """Record the ends of a tick, whose partitions are in these rows; ticks are `tick` ms apart."""
        self._record_epochs(rows, inputs)
        self._record_answers(rows, inputs, _GAP_TICKS * tick)
        self._record_falls(rows[inputs.ends.known], inputs.ends.high_watermark[inputs.ends.known], inputs.now)
        self._record_stable(rows, inputs, tick)

    def _record_answers(self, rows: Ints, inputs: HealthInputs, gap: int) -> None:
        answered_before = self.answered[rows] >= 0
        self.unanswered[rows[answered_before & ~inputs.ends.known]] = True
        known = rows[inputs.ends.known]
        last = self.answered[known]
        again = (last >= 0) & (self.unanswered[known] | (inputs.now - last > gap))
        self.answered_again[known[again]] = inputs.now
        self.unanswered[known], self.answered[known] = False, inputs.now

    def _record_epochs(self, rows: Ints, inputs: HealthInputs) -> None:
        epoch = inputs.ends.leader_epoch
        if epoch is None:
            return
        known = inputs.ends.known & (epoch >= 0)
        rows, epoch = rows[known], epoch[known]
        moved = (self.epoch[rows] >= 0) & (epoch > self.epoch[rows])
        self.epoch_before[rows[moved]] = self.epoch[rows[moved]]
        self.end_before[rows[moved]] = self.end[rows[moved]]
        self.epoch[rows] = epoch

    def _record_falls(self, rows: Ints, end: Ints, now: int) -> None:
        previous, peak = self.end[rows], self.peak[rows]
        fell = end < previous
        self.fell[rows[fell & (peak < 0)]] = now
        peak = np.where(fell, np.maximum(peak, previous), peak)
        self.peak[rows], self.end[rows] = np.where(end >= peak, -1, peak), end

    def _record_stable(self, rows: Ints, inputs: HealthInputs, tick: int) -> None:
        stable = inputs.ends.last_stable
        if stable is None:
            return
        is_open = inputs.ends.known & (stable >= 0) & (stable < inputs.ends.high_watermark)
        moved = stable != self.stable[rows]
        previous_since = self.blocked_since[rows]
        ended = inputs.ends.known & (stable >= 0) & moved & (previous_since >= 0)
        # It may have moved right after the previous tick.
        lasted = np.maximum(inputs.now - previous_since - tick, self.standstill[rows] // 2)
        self.standstill[rows] = np.where(ended, lasted, self.standstill[rows])
        self.released[rows] = np.where(ended, inputs.now, self.released[rows])
        self.released_from[rows] = np.where(ended, self.stable[rows], self.released_from[rows])
        since = np.where(moved | (previous_since < 0), inputs.now, previous_since)
        self.blocked_since[rows] = np.where(is_open, since, NOT_KNOWN)
        self.stable[rows] = stable


def _of_rows(column: Ints, rows: Ints, default: int) -> Ints:
    if not len(column) or (column == default).all():
        return uniform(default, rows)
    return replaced(column[rows], rows < 0, default)
