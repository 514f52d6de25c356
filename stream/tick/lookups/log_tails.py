"""Which tails are read at which tick, and what is known of all that have been read.

Owns the cache: a tail is read once for as long as the partition ends where it did. One that cannot be read (a topic
that lagwarden may not read, a broker that fails again and again) is remembered with the reason and tried again later.
Its offsets may all be transaction markers, unless the cluster has never seen a transaction: then they are records.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.cluster.log_tails import TailRead, TailRequest, read_tails
from stream.cluster.transaction_log import has_transactions
from stream.cluster.transport.error_codes import ErrorReason
from stream.cluster.transport.errors import ClusterError
from stream.health.features.control_records import LogTails

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from stream.cluster.transport.client import Cluster
    from stream.health.columns import Flags, Ints
    from stream.health.features.window import Window
    from stream.tick.ends_index import EndsIndex
    from stream.tick.lookups.budget import LookupLimits

_ATTEMPTS: Final = 3
_SPARE_NAMES: Final = 1_000
_FINAL: Final = frozenset({ErrorReason.NOT_AUTHORIZED, ErrorReason.UNSUPPORTED, ErrorReason.INVALID})
"""What will not be otherwise at the next tick."""
_REASONS: Final = (None, *ErrorReason)
"""By the code in `_Stretches.reason`; None: the stretch was read."""
_CODES: Final = {reason: code for code, reason in enumerate(_REASONS)}


@dataclasses.dataclass(slots=True)
class _Stretches:
    """Stretches of offsets as columns. Topics are numbered by the holder."""

    topic: Ints
    partition: Ints
    data_from: Ints
    end: Ints
    data_end: Ints
    reason: Ints
    """Why it cannot be read, a code of `_REASONS`; 0: it was read."""
    again: Ints
    """When one that cannot be read is tried again (ms of the watch's clock)."""

    @property
    def place(self) -> Ints:
        """Return the places, with the holder's numbers of topics."""
        return (self.topic << 32) | self.partition

    def take(self, rows: Ints | Flags) -> _Stretches:
        return _Stretches(*(column[rows] for column in self._columns()))

    def then(self, more: _Stretches) -> _Stretches:
        """Add others, which replace those of the same places."""
        both = [np.concatenate(pair) for pair in zip(self._columns(), more._columns(), strict=True)]
        every = _Stretches(*both)
        _, last = np.unique(every.place[::-1], return_index=True)
        return every.take(len(every) - 1 - last)

    def _columns(self) -> list[Ints]:
        return [getattr(self, field.name) for field in dataclasses.fields(self)]

    def __len__(self) -> int:
        return len(self.topic)


def _none() -> _Stretches:
    return _Stretches(*(np.empty(0, np.int64) for _ in dataclasses.fields(_Stretches)))


class LogTailLookup:
    """Used by the thread of the ticks alone."""

    def __init__(self, cluster: Cluster, allowances: LookupLimits, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._allowances = allowances
        self._clock = clock
        self._number: dict[str, int] = {}
        self._names: list[str] = []
        self._known = _none()
        self._wanted: list[TailRequest] = []
        self._failed: dict[TailRequest, int] = {}
        self._kept = np.empty(0, np.int64)

    def note(self, window: Window) -> None:
        """Take note of the tails that are worth reading at the next tick: the shortest first, as many as allowed.

        Of those that cannot be read only the ones that are to be tried again.
        """
        mine = self._places(window)
        self._kept = np.unique(mine[window.tail.in_use])
        waits = self._known.take((self._known.reason > 0) & (self._known.again > self._now()))
        rows = np.flatnonzero(window.tail.wanted & ~np.isin(mine, waits.place))
        end = window.ends.high_watermark[rows]
        data_from = end - window.lag[rows]
        order = np.argsort(data_from, kind="stable")
        place = (window.inputs.topic[rows] << 32) | window.inputs.partition[rows]
        # Of the groups that stand before the same tail the one that is furthest from its end counts for all.
        _, first = np.unique(place[order], return_index=True)
        chosen = order[first]
        chosen = chosen[np.argsort((end - data_from)[chosen], kind="stable")][: self._allowances.tails]
        topics, numbers, partitions = window.inputs.topics, window.inputs.topic[rows], window.inputs.partition[rows]
        self._wanted = [
            TailRequest(topics[int(numbers[at])], int(partitions[at]), int(data_from[at]), int(end[at]))
            for at in chosen
        ]

    def look(self, topics: Sequence[str], ends: EndsIndex) -> LogTails:
        """Read what is wanted and still ends where it did; give all that is known, numbered by `topics`."""
        self._known = self._still(self._known, ends)
        self._forget_names()
        read = self._read(_that_stand(self._wanted, ends))
        self._wanted = []
        if read:
            self._known = self._known.then(self._columns(read))
        return self._numbered(topics)

    def _places(self, window: Window) -> Ints:
        """Return the place of each row by the numbers used here; negative where the topic has none."""
        topics = np.array([self._number.get(name, -1) for name in window.inputs.topics] or [-1], np.int64)
        return (topics[window.inputs.topic] << 32) | window.inputs.partition

    def _now(self) -> int:
        return int(self._clock() * 1000)

    def _still(self, known: _Stretches, ends: EndsIndex) -> _Stretches:
        """Keep what still holds.

        That is what ends where it did, and what was asked for without an answer: that tells nothing new. What has grown
        since, or could not be read and is to be tried again, is kept while a row of the last tick is judged by it.
        """
        if not len(known):
            return known
        row = ends.rows(self._names, known.topic, known.partition)
        end = np.where(row >= 0, ends.high_watermark[row], -1) if len(ends.high_watermark) else row
        asked, kept = ends.were_requested(self._names)[known.topic], np.isin(known.place, self._kept)
        holds = (end == known.end) | ((end < 0) & asked) | ((end > known.end) & kept)
        holds = np.where(known.reason > 0, asked & (kept | (known.again > self._now())), holds)
        return known if holds.all() else known.take(holds)

    def _read(self, wanted: Sequence[TailRequest]) -> list[TailRead]:
        """Return what was found, and a reason for what cannot be read; nothing of what may go better the next time."""
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
        return [each for each in answers if each.data_end is not None] + self._given_up(lost)

    def _given_up(self, lost: Sequence[TailRead]) -> list[TailRead]:
        """Return these with the reason why they cannot be read, or as records if there is nothing else in the cluster.

        Asked after the ends were read: a transaction that is the first ever and has come since is beyond them.
        """
        try:
            if lost and not has_transactions(self._cluster):
                return [TailRead(each.wanted, each.wanted.end) for each in lost]
        except ClusterError:
            pass  # nobody answers: then it is not known
        return [dataclasses.replace(each, reason=each.reason or ErrorReason.TIMED_OUT) for each in lost]

    def _columns(self, read: Iterable[TailRead]) -> _Stretches:
        rows, now = [], self._now()
        for found in read:
            each, reason = found.wanted, None if found.data_end is not None else found.reason
            wait = self._allowances.seldom if reason in _FINAL else self._allowances.again
            place = self._number_of(each.topic), each.partition
            data_end = each.end if found.data_end is None else found.data_end
            rows.append((*place, each.data_from, each.end, data_end, _CODES[reason], now + int(wait * 1000)))
        return _Stretches(*np.array(rows, np.int64).reshape(len(rows), -1).T.copy())

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

    def _numbered(self, topics: Sequence[str]) -> LogTails:
        theirs = {name: number for number, name in enumerate(topics)}
        number = np.array([theirs.get(name, -1) for name in self._names] or [-1], np.int64)[self._known.topic]
        place = (number << 32) | self._known.partition
        rows = np.flatnonzero(number >= 0)
        rows = rows[np.argsort(place[rows])]
        refused = self._known.reason[rows] > 0
        read, unreadable = rows[~refused], rows[refused]
        known = self._known.take(read)
        reasons = [str(_REASONS[code]) for code in self._known.reason[unreadable].tolist()]
        return LogTails(
            place[read], known.end, known.data_from, known.data_end, place[unreadable], np.array(reasons, object)
        )


def _that_stand(wanted: Sequence[TailRequest], ends: EndsIndex) -> list[TailRequest]:
    """Give those whose partitions still end where they did."""
    names, partition = [each.topic for each in wanted], np.array([each.partition for each in wanted], np.int64)
    rows = ends.rows(names, np.arange(len(wanted)), partition).tolist()
    return [each for each, row in zip(wanted, rows, strict=True) if row >= 0 and ends.high_watermark[row] == each.end]
