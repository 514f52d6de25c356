"""When the oldest unread record was written, to the tick: asked where the history of an end is too coarse for that.

Between two points of a history the writing may have been anything but even, and what is long ago has points far apart.
So the brokers are asked for the first record after a moment in between, which halves the doubt at least, until it is
less than a tick. A few partitions at each tick, those of the greatest doubt first; the answers become points of the
history. What is older than the whole history gets the first record of its log as a beginning.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from stream.cluster.offsets_for_times import WANTED, read_offsets_for_times
from stream.cluster.transport.errors import ClusterError
from stream.health.features import lag as lags
from stream.health.features.end_history import BracketQuality
from stream.health.inputs import NO_COMMIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.cluster.transport.client import Cluster
    from stream.health.columns import Ints
    from stream.health.features.partition_history import PartitionHistory
    from stream.health.features.window import Window
    from stream.tick.lookups.budget import LookupLimits

_MOST_ROUNDS: Final = 32
"""Of halving: a year becomes less than a second. Timestamps that lead nowhere end here."""
_Row = tuple[str, str, int]
"""Group, topic, partition."""


@dataclasses.dataclass(slots=True)
class _Search:
    """How the search for one record goes: since when (ms), for which offset, how often it was asked."""

    begun: int
    offset: int
    rounds: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class _Doubts:
    """Unread records of whose age too little is known; one element each."""

    row: Ints
    """Of the window, and of the histories."""
    history: Ints
    offset: Ints
    moment: Ints
    """The time to ask for (ms)."""


class OffsetTimeSearch:
    """Used by the thread of the ticks alone."""

    def __init__(self, cluster: Cluster, allowances: LookupLimits, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._allowances = allowances
        self._clock = clock
        self._searches: dict[_Row, _Search] = {}

    def look(self, window: Window, memory: PartitionHistory) -> None:
        """Ask for what is in doubt after a tick, in rounds; the memory learns of it. Nothing here raises."""
        deadline = self._clock() + self._allowances.lookup_seconds
        left = self._allowances.lookups
        while left > 0:
            doubts = self._choose(window, memory, left)
            if not len(doubts.row):
                break
            try:
                told = read_offsets_for_times(self._cluster, _wanted(window, doubts))
            except ClusterError:
                break
            _learn(memory, doubts, told, window)
            left -= len(doubts.row)
            if self._clock() >= deadline:
                break
        self._forget(window.now)

    def _choose(self, window: Window, memory: PartitionHistory, most: int) -> _Doubts:
        """Choose whose turn it is, and say which moment would tell most of it."""
        seen = window.inputs
        rows = np.flatnonzero(window.unread & window.known & (window.committed_offset != NO_COMMIT))
        offset = np.maximum(window.committed_offset[rows], window.ends.log_start[rows])
        history = memory.find_rows(seen, lags.place(seen.topic[rows], seen.partition[rows]))
        there = history >= 0
        rows, offset, history = rows[there], offset[there], history[there]
        if not len(rows):
            return _Doubts(rows, history, offset, rows)
        found = memory.high_watermark.brackets(history, offset)
        older = found.quality == BracketQuality.OLDER
        width = np.where(older, np.iinfo(np.int64).max, found.until - found.since)
        doubtful = np.flatnonzero(older | ((found.quality == BracketQuality.BETWEEN) & (width > window.limits.tick)))
        doubtful = doubtful[np.argsort(-width[doubtful], kind="stable")]
        wanted = (at for at in doubtful.tolist() if self._wants(window, rows[at], int(offset[at])))
        mine = np.array(list(itertools.islice(wanted, most)), np.int64)
        for at in mine.tolist():
            self._searches[_name(window, rows[at])].rounds += 1
        since, until = found.since[mine], found.until[mine]
        share = (offset[mine] - found.start[mine] + 0.5) / np.maximum(found.end[mine] - found.start[mine], 1)
        # By turns where it would be if the writing had been even, and in the middle.
        turn = np.array([self._searches[_name(window, rows[at])].rounds % 2 for at in mine.tolist()], np.bool_)
        share = np.where(turn, share, 0.5)
        moment = np.clip(since + (share * (until - since)).astype(np.int64), since + 1, until - 1)
        return _Doubts(rows[mine], history[mine], offset[mine], np.where(older[mine], 0, moment))

    def _wants(self, window: Window, row: int, offset: int) -> bool:
        """Tell whether a record is to be searched for (on); one at a time of each row, the next after a while."""
        name, again = _name(window, row), int(self._allowances.lookup_again * 1000)
        search = self._searches.get(name)
        if search is None or (search.offset != offset and window.now - search.begun >= again):
            self._searches[name] = search = _Search(window.now, offset)
        return search.offset == offset and search.rounds < _MOST_ROUNDS

    def _forget(self, now: int) -> None:
        """Let go of searches that ended a while ago; one that has led nowhere may be begun again then."""
        again = int(self._allowances.lookup_again * 1000)
        self._searches = {name: each for name, each in self._searches.items() if now - each.begun < 10 * again}


def _name(window: Window, row: int) -> _Row:
    seen = window.inputs
    return seen.groups.names[int(seen.group[row])], seen.topics[int(seen.topic[row])], int(seen.partition[row])


def _wanted(window: Window, doubts: _Doubts) -> pa.Table:
    seen = window.inputs
    names = pa.array(list(seen.topics), pa.string())
    topic = pa.DictionaryArray.from_arrays(pa.array(seen.topic[doubts.row].astype(np.int32)), names)
    partition = pa.array(seen.partition[doubts.row].astype(np.int32))
    return pa.table([topic, partition, pa.array(doubts.moment)], schema=WANTED)


def _learn(memory: PartitionHistory, doubts: _Doubts, told: pa.Table, window: Window) -> None:
    """Make points of the answers: at the moment asked for the end was the offset of the first record after it.

    And still was when that record came. Where it is the first that retention has left, only the latter is true.
    """
    answered = ~told.column("error").is_valid().to_numpy()
    offset = told.column("offset").fill_null(-1).to_numpy()
    written = told.column("record_time").fill_null(-1).to_numpy()
    end, log_start = window.ends.high_watermark[doubts.row], window.ends.log_start[doubts.row]
    then = np.where(offset >= 0, offset, end)  # no later record: it was then what it is now
    asked = answered & (doubts.moment > 0) & ~((offset == log_start) & (log_start > 0))
    memory.add_past_ends(doubts.history[asked], doubts.moment[asked], then[asked])
    record = answered & (offset >= 0) & (written >= doubts.moment) & (written > 0)
    memory.add_past_ends(doubts.history[record], written[record], offset[record])
