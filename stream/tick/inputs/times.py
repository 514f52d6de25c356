"""Times of commits that health can use, and how far the offsets topic has been read at a tick.

A commit stores its time as a field, and nothing checks that field: a broken clock or a hostile writer can put any
number there. The commit itself is no later than the first tick that saw it, so that moment replaces a time in the
future; otherwise the group would look busy until that time. Expiry does not use these times: the broker applies its
rules to the stored field. Pure; the caller provides the time.

While the reader is behind, or an open transaction hides later records, a group looks silent although it commits. While
its coordinator is unavailable, a group cannot commit at all. Both follow from the end offsets of the offsets
partitions, tick after tick, and from the commits themselves: a partition is read in order, so the time of its newest
known commit is a lower bound for what has been read. Pure; the caller provides the time.
"""

import collections
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from stream.cluster.offsets_topic import NAME
from stream.groups.commits.runs import Spans
from stream.groups.commits.slots import Slots
from stream.groups.expiry.broker_rules import LATEST
from stream.groups.placement import partition_for
from stream.health.columns import Flags, Ints
from stream.health.inputs import NO_COMMIT, OffsetsOutage
from stream.tick.ends_index import EndsIndex
from stream.tick.inputs.rows import InputRows

AHEAD_MS: Final = 60_000
"""Accepted lead of a broker's clock over the clock of this host; a later time is in the future."""
_CARRIED: Final = 10_000
"""Limit of rows with a time in the future whose first sight is kept when rows are added or removed."""


def _latest(now: int) -> int:
    """Return the latest time that can be right at `now` (ms)."""
    return min(now + AHEAD_MS, LATEST)


def is_odd(time: Ints, now: int) -> Flags:
    """Return which times cannot be right at `now` (ms): those in the future and negative ones; -1 means no time."""
    return (time < NO_COMMIT) | (time > _latest(now))


class CommitTimes:
    """Replaces odd times in the spans of each tick."""

    def __init__(self) -> None:
        self._last = _FirstSeen()
        self._reached = _FirstSeen()

    def plausible(self, rows: InputRows, spans: Spans, now: int) -> tuple[Spans, Flags]:
        """Return the spans of these rows with times that can be right at `now` (ms), and which rows had an odd one."""
        odd = is_odd(spans.last_time, now) | is_odd(spans.reached_time, now)
        last = self._last.times(rows, spans.last_time, spans.last_position, now)
        reached = self._reached.times(rows, spans.reached_time, spans.reached_position, now)
        others = {"reached_time": reached, "first_time": spans.first_time, "rewind_time": spans.rewind_time}
        times: dict[str, Any] = {name: _at_most(time, last) for name, time in others.items()}
        return dataclasses.replace(spans, last_time=last, **times), odd


def _at_most(time: Ints, last: Ints) -> Ints:
    """Return the times, none of them negative or after `last`; usually that is the same array."""
    is_sound = time.min(initial=NO_COMMIT) >= NO_COMMIT and (time <= last).all()
    return time if is_sound else np.clip(time, NO_COMMIT, last)


def plausible_slots(slots: Slots, now: int) -> Slots:
    """Return the slots without those whose time cannot be right at `now` (ms)."""
    if slots.time.min(initial=0) >= 0 and slots.time.max(initial=0) <= _latest(now):
        return slots
    return slots.take((slots.time >= 0) & (slots.time <= _latest(now)))


class _FirstSeen:
    """Stores when commits with a time in the future were first seen, by row and log position; most rows have none."""

    def __init__(self) -> None:
        self._rows: InputRows | None = None
        self._at = self._position = self._seen = np.empty(0, np.int64)

    def times(self, rows: InputRows, time: Ints, position: Ints, now: int) -> Ints:
        """Return the times; one in the future is replaced by the tick that first saw that log position."""
        if self._rows is not rows:
            self._carry(rows)
        at = np.flatnonzero(time > _latest(now))
        position_then, seen_then = (np.full(len(at), NO_COMMIT, np.int64) for _ in range(2))
        if len(at) and len(self._at):
            known = np.minimum(np.searchsorted(self._at, at), len(self._at) - 1)
            is_known = self._at[known] == at
            position_then[is_known], seen_then[is_known] = self._position[known[is_known]], self._seen[known[is_known]]
        seen = np.where(position[at] == position_then, seen_then, now)
        self._rows, self._at, self._position, self._seen = rows, at, position[at], seen
        if not len(at) and time.min(initial=NO_COMMIT) >= NO_COMMIT:
            return time
        times = np.maximum(time, NO_COMMIT)
        times[at] = seen
        return times

    def _carry(self, rows: InputRows) -> None:
        """Renumber the stored rows by their place among other rows, and drop those that are gone."""
        previous, carried = self._rows, []
        if previous is not None and len(self._at):
            groups, topics = ({name: at for at, name in enumerate(names)} for names in (rows.groups, rows.topics))
            for number, row in enumerate(self._at[:_CARRIED].tolist()):
                group = groups.get(previous.groups[int(previous.group[row])])
                topic = topics.get(previous.topics[int(previous.topic[row])])
                at = rows.position(group, topic, int(previous.partition[row]))
                if at is not None:
                    carried.append((at, int(self._position[number]), int(self._seen[number])))
        table = np.array(sorted(carried), np.int64).reshape(-1, 3)
        self._at, self._position, self._seen = table[:, 0], table[:, 1], table[:, 2]


_TICKS_KEPT: Final = 64
"""End offsets of this many ticks are kept per partition; a reader further behind is dated by its commits alone."""
_PAUSE_TICKS: Final = 3
NEVER: Final = -1
_NO_REASON: Final = "other"


@dataclasses.dataclass(frozen=True, slots=True)
class ReadUntil:
    """The columns `read_until` and `answered_since` of `HealthInputs`: one element per row, in ms."""

    read_until: Ints
    """All commits of the row up to this time are known."""
    answered_since: Ints
    """Since when the offsets partition of the group answers again after an interruption; -1: it never stopped."""
    outage: OffsetsOutage | None
    """The offsets partitions without a known end now; None: all have one."""


class ReadPositionTracker:
    """Tracks positions and end offsets of the offsets partitions from tick to tick."""

    def __init__(self, tick: int) -> None:
        """Expect ticks every `tick` ms; a gap of more than three counts as an interruption."""
        self._longest_gap = _PAUSE_TICKS * tick
        self._unread_ends: dict[int, collections.deque[tuple[int, int]]] = {}
        self._read_until: dict[int, int] = {}
        self._last_answer: dict[int, int] = {}
        self._interrupted: set[int] = set()
        self._unanswered: dict[int, tuple[int, str]] = {}
        self._answered_since: dict[int, int] = {}
        self._partitions = 0
        self._groups: Sequence[str] = ()
        self._partition_of_group = np.empty(0, np.int64)

    def record_missed_tick(self) -> None:
        """Record a tick at which the cluster did not answer."""
        self._interrupted.update(self._last_answer)

    def update(self, ends: EndsIndex, positions: Mapping[int, int], now: int) -> None:
        """Record the end offsets read at `now` (ms), and the reader's positions from before that, by partition."""
        rows = ends.rows_of_topic(NAME)
        partitions = ends.partitions(rows).tolist()
        self._partitions = max([self._partitions, *(partition + 1 for partition in partitions)])
        errors = ends.column("error", rows).to_pylist()
        for partition in set(range(self._partitions)) - set(partitions):  # the topic could not be described
            self._record_no_answer(partition, ends.topic_error(NAME), now)
        for partition, end, error in zip(partitions, ends.high_watermark[rows].tolist(), errors, strict=True):
            if end < 0:
                self._record_no_answer(partition, error, now)
            else:
                self._unanswered.pop(partition, None)
                self._record_answer(partition, now)
                self._record_end(partition, positions.get(partition), end, now)

    def _record_no_answer(self, partition: int, error: str | None, now: int) -> None:
        self._interrupted.add(partition)
        since, _ = self._unanswered.get(partition, (now, ""))
        self._unanswered[partition] = since, error or _NO_REASON

    def _record_answer(self, partition: int, now: int) -> None:
        last = self._last_answer.get(partition)
        if last is not None and (partition in self._interrupted or now - last > self._longest_gap):
            self._answered_since[partition] = now
        self._interrupted.discard(partition)
        self._last_answer[partition] = now

    def _record_end(self, partition: int, position: int | None, end: int, now: int) -> None:
        # Compared with the high watermark: records behind an open transaction have not been read.
        ends = self._unread_ends.setdefault(partition, collections.deque(maxlen=_TICKS_KEPT))
        ends.append((now, end))
        while position is not None and ends and ends[0][1] <= position:
            self._read_until[partition] = ends.popleft()[0]

    def read_until(self, rows: InputRows, commit_time: Ints, hidden: Flags, now: int) -> ReadUntil:
        """Return how far the commits of each row are known.

        `commit_time` is the time (ms) of each row's last commit. `hidden` rows were read behind the last stable
        offset just before: they are known up to `now`, and their commit times say nothing about the job.
        """
        partitions = self._partitions
        if not partitions:
            return ReadUntil(np.full(len(rows), now, np.int64), np.full(len(rows), NEVER, np.int64), None)
        offsets_partition = self.offsets_partitions(rows.groups)[rows.group]
        newest_commit = np.full(partitions, NEVER, np.int64)
        is_logged = ~hidden
        np.maximum.at(newest_commit, offsets_partition[is_logged], commit_time[is_logged])
        until = np.maximum(newest_commit, _column(self._read_until, partitions))
        # Nothing is known of a partition without any read record; its groups are then taken to be silent themselves.
        until = np.where(until >= 0, np.minimum(until, now), now)[offsets_partition]
        return ReadUntil(
            np.where(hidden, now, until),
            _column(self._answered_since, partitions)[offsets_partition],
            self._outage(offsets_partition),
        )

    def offsets_partitions(self, groups: Sequence[str]) -> Ints:
        """Return the partition of `__consumer_offsets` of each group; -1 before its partitions are known."""
        if not self._partitions:
            return np.full(len(groups), NEVER, np.int64)
        if groups is not self._groups:
            self._groups = groups
            self._partition_of_group = np.array([partition_for(name, self._partitions) for name in groups], np.int64)
        return self._partition_of_group

    def _outage(self, offsets_partition: Ints) -> OffsetsOutage | None:
        if not self._unanswered:
            return None
        since = {partition: began for partition, (began, _) in self._unanswered.items()}
        reasons = {partition: reason for partition, (_, reason) in self._unanswered.items()}
        return OffsetsOutage(_column(since, self._partitions)[offsets_partition], offsets_partition, reasons)


def _column(by_partition: Mapping[int, int], partitions: int) -> Ints:
    return np.array([by_partition.get(number, NEVER) for number in range(partitions)], np.int64)
