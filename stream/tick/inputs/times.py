"""Times of commits that health can use: none is negative, none lies in the future.

A commit stores its time as a field, and nothing checks that field: a broken clock or a hostile writer can put any
number there. The commit itself is no later than the first tick that saw it, so that moment replaces a time in the
future; otherwise the group would look busy until that time. Expiry does not use these times: the broker applies its
rules to the stored field. Pure; the caller provides the time.
"""

import dataclasses
from typing import Final

import numpy as np

from stream.groups.commits.runs import Spans
from stream.groups.commits.slots import Slots
from stream.groups.expiry.broker_rules import LATEST
from stream.health.columns import Flags, Ints
from stream.health.inputs import NO_COMMIT
from stream.tick.inputs.rows import InputRows

AHEAD_MS: Final = 60_000
"""Accepted lead of a broker's clock over the clock of this host; a later time is in the future."""
_CARRIED: Final = 10_000
"""Limit of rows with a time in the future whose first sight is kept when rows are added or removed."""


def is_odd(time: Ints, now: int) -> Flags:
    """Return which times cannot be right at `now` (ms): those in the future and negative ones; -1 means no time."""
    odd: Flags = (time < NO_COMMIT) | (time > min(now + AHEAD_MS, LATEST))
    return odd


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
        times = {"last_time": last, "reached_time": np.minimum(reached, last)}
        for name in ("first_time", "rewind_time"):
            times[name] = np.clip(getattr(spans, name), NO_COMMIT, np.maximum(last, NO_COMMIT))
        return dataclasses.replace(spans, **times), odd


def plausible_slots(slots: Slots, now: int) -> Slots:
    """Return the slots without those whose time cannot be right at `now` (ms)."""
    odd = is_odd(slots.time, now) | (slots.time < 0)
    return slots.take(~odd) if odd.any() else slots


class _FirstSeen:
    """Stores when commits with a time in the future were first seen, by row and log position; most rows have none."""

    def __init__(self) -> None:
        self._rows: InputRows | None = None
        self._at = self._position = self._seen = np.empty(0, np.int64)

    def times(self, rows: InputRows, time: Ints, position: Ints, now: int) -> Ints:
        """Return the times; one in the future is replaced by the tick that first saw that log position."""
        if self._rows is not rows:
            self._carry(rows)
        at = np.flatnonzero(time > min(now + AHEAD_MS, LATEST))
        position_then, seen_then = (np.full(len(at), NO_COMMIT, np.int64) for _ in range(2))
        if len(at) and len(self._at):
            known = np.minimum(np.searchsorted(self._at, at), len(self._at) - 1)
            is_known = self._at[known] == at
            position_then[is_known], seen_then[is_known] = self._position[known[is_known]], self._seen[known[is_known]]
        seen = np.where(position[at] == position_then, seen_then, now)
        self._rows, self._at, self._position, self._seen = rows, at, position[at], seen
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
