"""Reads and caches log tails: whether the last offsets of a partition hold data, or only control or aborted records.

A tail is read once and stays valid until the end offset moves. A tail that cannot be read (no right to read the topic,
a broker that fails repeatedly) is cached with the reason and retried later. Its offsets may all be control records,
unless the cluster has never had a transaction: then they are data.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np

from stream.cluster.log_tails import TailRead, TailRequest, read_tails
from stream.cluster.open_transactions import has_transactions
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError, ErrorReason
from stream.health.columns import Flags, Ints
from stream.health.features.control_records import LogTails
from stream.health.features.window import Window
from stream.tick.ends_index import EndsIndex
from stream.tick.lookups.budget import LookupLimits

_ATTEMPTS: Final = 3
_SPARE_NAMES: Final = 1_000
_PERMANENT: Final = frozenset({ErrorReason.NOT_AUTHORIZED, ErrorReason.UNSUPPORTED, ErrorReason.INVALID})
"""Errors that the next tick would get again."""
_REASONS: Final = (None, *ErrorReason)
"""By the code in `_Tails.reason`; None: the tail was read."""
_CODES: Final = {reason: code for code, reason in enumerate(_REASONS)}


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class KnownTails:
    """Tails as columns; `names` has the topic of each number."""

    names: Sequence[str]
    topic: Ints
    partition: Ints
    data_from: Ints
    end: Ints
    data_end: Ints
    reason: Ints
    """Why the tail cannot be read, a code of `_REASONS`; 0: it was read."""
    retry_at: Ints
    """When a tail that cannot be read is retried (ms of the lookup's clock)."""

    @property
    def place(self) -> Ints:
        """The places, with the lookup's numbers of topics."""
        return (self.topic << 32) | self.partition

    def columns(self) -> list[Ints]:
        """Return the columns."""
        return [getattr(self, field.name) for field in dataclasses.fields(self)[1:]]

    def take(self, rows: Ints | Flags) -> KnownTails:
        """Return some of the tails."""
        return KnownTails(self.names, *(column[rows] for column in self.columns()))

    def updated(self, names: Sequence[str], newer: Sequence[Ints]) -> KnownTails:
        """Return these tails with the columns of `newer` ones, which replace those of the same partition."""
        both = KnownTails(names, *map(np.concatenate, zip(self.columns(), newer, strict=True)))
        _, last = np.unique(both.place[::-1], return_index=True)
        return both.take(len(both.topic) - 1 - last)

    def numbered(self, topics: Sequence[str]) -> LogTails:
        """Return the tails of these topics, with places numbered by their positions."""
        numbers = {name: number for number, name in enumerate(topics)}
        number = np.array([numbers.get(name, -1) for name in self.names] or [-1], np.int64)[self.topic]
        place = (number << 32) | self.partition
        rows = np.flatnonzero(number >= 0)
        rows = rows[np.argsort(place[rows])]
        is_unreadable = self.reason[rows] > 0
        read, unreadable = rows[~is_unreadable], rows[is_unreadable]
        tails = self.take(read)
        reasons = [str(_REASONS[code]) for code in self.reason[unreadable].tolist()]
        return LogTails(
            place[read], tails.end, tails.data_from, tails.data_end, place[unreadable], np.array(reasons, object)
        )


class LogTailLookup:
    """Chooses, reads and caches log tails. Used by the tick thread only."""

    def __init__(self, cluster: Cluster, limits: LookupLimits, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._limits = limits
        self._clock = clock
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._tails = KnownTails(self._names, *(np.empty(0, np.int64) for _ in range(7)))
        self._scheduled: list[TailRequest] = []
        self._attempts: dict[TailRequest, int] = {}
        self._used_places = np.empty(0, np.int64)

    def schedule(self, window: Window) -> None:
        """Choose the tails to read at the next tick: the shortest ones first, as many as the limit allows.

        Tails that cannot be read are chosen when their retry is due.
        """
        places = self._places(window)
        self._used_places = np.unique(places[window.tail.in_use])
        waiting = self._tails.take((self._tails.reason > 0) & (self._tails.retry_at > self._now()))
        rows = np.flatnonzero(window.tail.wanted & ~np.isin(places, waiting.place))
        end = window.ends.high_watermark[rows]
        data_from = end - window.lag[rows]
        order = np.argsort(data_from, kind="stable")
        place = (window.inputs.topic[rows] << 32) | window.inputs.partition[rows]
        # One read serves all groups of a partition: that of the group with the largest lag.
        _, first = np.unique(place[order], return_index=True)
        chosen = order[first]
        chosen = chosen[np.argsort((end - data_from)[chosen], kind="stable")][: self._limits.tails]
        topics, numbers, partitions = window.inputs.topics, window.inputs.topic[rows], window.inputs.partition[rows]
        self._scheduled = [
            TailRequest(topics[int(numbers[at])], int(partitions[at]), int(data_from[at]), int(end[at]))
            for at in chosen
        ]

    def update(self, ends: EndsIndex) -> KnownTails:
        """Read the scheduled tails whose end offset is unchanged; return all known tails."""
        self._tails = self._valid(self._tails, ends)
        self._drop_unused_names()
        read = self._read(_with_same_end(self._scheduled, ends))
        self._scheduled = []
        if read:
            newer = self._columns_of(read)
            self._tails = self._tails.updated(self._names, newer)
        return self._tails

    def _places(self, window: Window) -> Ints:
        """Return the place of each row in the numbering of this lookup; negative for a topic without a number."""
        topics = np.array([self._numbers.get(name, -1) for name in window.inputs.topics] or [-1], np.int64)
        return (topics[window.inputs.topic] << 32) | window.inputs.partition

    def _now(self) -> int:
        return int(self._clock() * 1000)

    def _valid(self, tails: KnownTails, ends: EndsIndex) -> KnownTails:
        """Return the tails that are still valid.

        A tail is valid while its end offset is unchanged, or was requested and is not known at this tick. A tail whose
        partition has grown, or that could not be read and is due for a retry, stays valid while the evaluation of the
        last tick used it.
        """
        if not len(tails.topic):
            return tails
        row = ends.rows(self._names, tails.topic, tails.partition)
        end = np.where(row >= 0, ends.high_watermark[row], -1) if len(ends) else row
        was_requested, is_used = ends.were_requested(self._names)[tails.topic], np.isin(tails.place, self._used_places)
        valid = (end == tails.end) | ((end < 0) & was_requested) | ((end > tails.end) & is_used)
        valid = np.where(tails.reason > 0, was_requested & (is_used | (tails.retry_at > self._now())), valid)
        return tails if valid.all() else tails.take(valid)

    def _read(self, requests: Sequence[TailRequest]) -> list[TailRead]:
        """Return the tails that were read, and with a reason those that cannot be read; others are retried."""
        if not requests:
            self._attempts = {}
            return []
        try:
            seconds, clock = self._limits.request_seconds, self._clock
            answers = read_tails(self._cluster, requests, seconds=seconds, clock=clock)
        except ClusterError:
            return []  # no broker answers, which says nothing about these tails
        unread = [answer for answer in answers if answer.data_end is None]
        attempts = {answer.wanted: self._attempts.get(answer.wanted, 0) + 1 for answer in unread}
        failed = [answer for answer in unread if answer.reason in _PERMANENT or attempts[answer.wanted] >= _ATTEMPTS]
        self._attempts = {request: count for request, count in attempts.items() if count < _ATTEMPTS}
        return [answer for answer in answers if answer.data_end is not None] + self._failed(failed)

    def _failed(self, answers: Sequence[TailRead]) -> list[TailRead]:
        """Return these answers with the reason of the failure, or as data if the cluster never had a transaction.

        Transactions are checked after the end offsets were read: the records of a first one that starts in between
        are behind those end offsets.
        """
        try:
            if answers and not has_transactions(self._cluster):
                return [TailRead(answer.wanted, answer.wanted.end) for answer in answers]
        except ClusterError:
            pass  # no broker answers: not known
        return [dataclasses.replace(answer, reason=answer.reason or ErrorReason.TIMED_OUT) for answer in answers]

    def _columns_of(self, answers: Iterable[TailRead]) -> Sequence[Ints]:
        rows, now = [], self._now()
        for answer in answers:
            request, reason = answer.wanted, None if answer.data_end is not None else answer.reason
            wait = self._limits.slow_refresh if reason in _PERMANENT else self._limits.refresh
            place = self._number_of(request.topic), request.partition
            data_end = request.end if answer.data_end is None else answer.data_end
            rows.append((*place, request.data_from, request.end, data_end, _CODES[reason], now + int(wait * 1000)))
        return list(np.array(rows, np.int64).T.copy())

    def _number_of(self, topic: str) -> int:
        number = self._numbers.setdefault(topic, len(self._numbers))
        if number == len(self._names):
            self._names.append(topic)
        return number

    def _drop_unused_names(self) -> None:
        """Renumber the topics once most names have no tail any more."""
        if len(self._names) > 2 * len(self._tails.topic) + _SPARE_NAMES:
            used, topic = np.unique(self._tails.topic, return_inverse=True)
            self._names = [self._names[number] for number in used.tolist()]
            self._tails = dataclasses.replace(self._tails, names=self._names, topic=topic)
            self._numbers = {name: number for number, name in enumerate(self._names)}


def _with_same_end(requests: Sequence[TailRequest], ends: EndsIndex) -> list[TailRequest]:
    """Return the requests whose partitions still end at the same offset."""
    topics = [request.topic for request in requests]
    partitions = np.array([request.partition for request in requests], np.int64)
    rows = ends.rows(topics, np.arange(len(requests)), partitions).tolist()
    return [
        request
        for request, row in zip(requests, rows, strict=True)
        if row >= 0 and ends.high_watermark[row] == request.end
    ]
