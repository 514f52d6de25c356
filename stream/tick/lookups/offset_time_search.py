"""Searches the time at which the oldest unread record was written, where the end history is too coarse.

Between two points of a history the write rate may have varied, and points of the distant past are far apart. The
brokers are therefore asked for the first record after a time in between, which at least halves the interval, until it
is shorter than a tick. A few partitions per tick, those with the widest intervals first; the answers become points of
the history. For an offset older than the whole history, the first record of the log becomes its first point.
"""

import dataclasses
from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from stream.cluster.offsets_for_times import FIRST_TRUE_TIME, read_offsets_for_times
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError
from stream.health.columns import Ints
from stream.health.features import lag as lags
from stream.health.features.end_history import BracketQuality
from stream.health.features.partition_history import PartitionHistory
from stream.health.features.window import Window
from stream.health.inputs import NO_COMMIT
from stream.tick.inputs.times import AHEAD_MS
from stream.tick.lookups.budget import LookupLimits
from stream.tick.lookups.offset_time_backfill import TopicPartition, request_table

_MOST_ROUNDS: Final = 32
"""Limit of halvings: enough to reduce a year to less than a second, and an end for timestamps that never converge."""
_GroupPartition = tuple[str, str, int]
"""Group, topic, partition."""


@dataclasses.dataclass(slots=True)
class _Search:
    """The state of the search for one record: start time (ms), offset, rounds so far."""

    started: int
    offset: int
    rounds: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class _Requests:
    """Unread records whose write time is not known well enough; one element each."""

    row: Ints
    """The row of the window."""
    history: Ints
    """The row of the end histories."""
    offset: Ints
    time: Ints
    """The time to request (ms); 0 for the first record of the log."""
    end_after: Ints
    """The end offset that was observed first after that time; greater than any for the first record of the log."""


class OffsetTimeSearch:
    """Runs the searches, a few rounds per tick. Used by the tick thread only."""

    def __init__(self, cluster: Cluster, limits: LookupLimits, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._limits = limits
        self._clock = clock
        self._searches: dict[_GroupPartition, _Search] = {}
        self.odd: frozenset[TopicPartition] = frozenset()
        """Partitions that are not searched, because they had unread records without a time that can be true."""

    def update(self, window: Window, memory: PartitionHistory) -> bool:
        """Run some rounds of search and add the answers to `memory`; return whether there were any. Never raises."""
        deadline = self._clock() + self._limits.time_lookup_seconds
        left = self._limits.time_lookups
        while left > 0:
            requests = self._choose(window, memory, left)
            if not len(requests.row):
                break
            try:
                place = lags.place(window.inputs.topic[requests.row], window.inputs.partition[requests.row])
                table = request_table(window.inputs.topics, place, requests.time)
                answers = read_offsets_for_times(self._cluster, table)
            except ClusterError:
                break
            _add_points(memory, requests, answers, window)
            left -= len(requests.row)
            if self._clock() >= deadline:
                break
        # One that did not converge may start again.
        since = window.now - 10 * int(self._limits.time_lookup_refresh * 1000)
        self._searches = {name: search for name, search in self._searches.items() if search.started > since}
        return left < self._limits.time_lookups

    def _choose(self, window: Window, memory: PartitionHistory, most: int) -> _Requests:
        """Choose up to `most` records, widest intervals first, and the time to request for each."""
        inputs = window.inputs
        rows = np.flatnonzero(window.unread & window.known & (window.committed_offset != NO_COMMIT))
        offset = np.maximum(window.committed_offset[rows], window.ends.log_start[rows])
        history = memory.find_rows(inputs, lags.place(inputs.topic[rows], inputs.partition[rows]))
        has_history = history >= 0
        rows, offset, history = rows[has_history], offset[has_history], history[has_history]
        if not len(rows):
            return _Requests(rows, history, offset, rows, rows)
        brackets = memory.high_watermark.brackets(history, offset)
        is_older = brackets.quality == BracketQuality.OLDER
        width = np.where(is_older, np.iinfo(np.int64).max, brackets.until - brackets.since)
        is_between = brackets.quality == BracketQuality.BETWEEN
        wide = np.flatnonzero(is_older | (is_between & (width > window.limits.tick)))
        wide = wide[np.argsort(-width[wide], kind="stable")]
        asked: dict[tuple[int, int], int] = {}
        for at, *place in zip(wide.tolist(), history[wide].tolist(), brackets.since[wide].tolist(), strict=True):
            if len(asked) == most:
                break
            # An answer serves all records between the same two points.
            if tuple(place) not in asked and self._is_active(window, rows[at], int(offset[at])):
                asked[place[0], place[1]] = at
        chosen = np.array([*asked.values()], np.int64)
        searches = [self._searches[_name(window, row)] for row in rows[chosen].tolist()]
        for search in searches:
            search.rounds += 1
        since, until = brackets.since[chosen], brackets.until[chosen]
        start, end = brackets.start[chosen], brackets.end[chosen]
        share = (offset[chosen] - start + 0.5) / np.maximum(end - start, 1)
        # Alternates between interpolation at a constant write rate and bisection.
        interpolates = np.array([search.rounds % 2 for search in searches], np.bool_)
        share = np.where(interpolates, share, 0.5)
        time = np.clip(since + (share * (until - since)).astype(np.int64), since + 1, until - 1)
        is_first = is_older[chosen]
        time, end = np.where(is_first, 0, time), np.where(is_first, np.iinfo(np.int64).max, end)
        return _Requests(rows[chosen], history[chosen], offset[chosen], time, end)

    def _is_active(self, window: Window, row: int, offset: int) -> bool:
        """Return whether to search for this offset; starts a search if the last one of the row is old enough."""
        name, refresh = _name(window, row), int(self._limits.time_lookup_refresh * 1000)
        if name[1:] in self.odd:
            return False
        search = self._searches.get(name)
        if search is None or (search.offset != offset and window.now - search.started >= refresh):
            self._searches[name] = search = _Search(window.now, offset)
        return search.offset == offset and search.rounds < _MOST_ROUNDS


def _name(window: Window, row: int) -> _GroupPartition:
    inputs = window.inputs
    return (
        inputs.groups.names[int(inputs.group[row])],
        inputs.topics[int(inputs.topic[row])],
        int(inputs.partition[row]),
    )


def _add_points(memory: PartitionHistory, requests: _Requests, answers: pa.Table, window: Window) -> None:
    """Add up to two points per answer to the histories.

    At the requested time, and when the answered record was written, the end offset was the offset of that record. If
    the record is the first that retention has left, only the latter is true. Producers may write any time: an answer
    with a time that cannot be true, or beyond an end observed later, adds no point, and the age stays a lower bound. Of
    a record ahead of now only this is true: the searched one, if it stands before it, was written before that time.
    """
    answered = ~answers.column("error").is_valid().to_numpy()
    offset = answers.column("offset").fill_null(-1).to_numpy()
    written = answers.column("record_time").fill_null(-1).to_numpy()
    end, log_start = window.ends.high_watermark[requests.row], window.ends.log_start[requests.row]
    end_then = np.where(offset >= 0, offset, end)  # without a later record, the end has not moved since
    is_ahead = written > window.now + AHEAD_MS
    end_then = np.where(is_ahead & (offset > requests.offset), requests.offset + 1, end_then)
    is_odd = (
        (is_ahead & (offset <= requests.offset))
        | ((offset >= 0) & (written < FIRST_TRUE_TIME))
        | (end_then > requests.end_after)
    )
    answered &= ~is_odd
    at_time = answered & (requests.time > 0) & ~((offset == log_start) & (log_start > 0))
    memory.add_past_ends(requests.history[at_time], requests.time[at_time], end_then[at_time])
    at_record = answered & (offset >= 0) & (written >= requests.time) & ~is_ahead
    memory.add_past_ends(requests.history[at_record], written[at_record], offset[at_record])
