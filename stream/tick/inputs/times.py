"""Times of commits that health can use: none is negative, none lies in the future.

A commit stores its time as a field, and nothing checks that field: a broken clock or a hostile writer can put any
number there. The commit itself is no later than the first tick that saw it, so that moment replaces a time in the
future; otherwise the group would look busy until that time. Expiry does not use these times: the broker applies its
rules to the stored field. Pure; the caller provides the time.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.groups.expiry.broker_rules import LATEST
from stream.health.inputs import NO_COMMIT

if TYPE_CHECKING:
    from stream.groups.commits.runs import Spans
    from stream.groups.commits.slots import Slots
    from stream.health.columns import Flags, Ints
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
    """Stores when commits with a time in the future were first seen, by row and log position."""

    def __init__(self) -> None:
        self._rows: InputRows | None = None
        self._position = self._seen = np.empty(0, np.int64)

    def times(self, rows: InputRows, time: Ints, position: Ints, now: int) -> Ints:
        """Return the times; one in the future is replaced by the tick that first saw that log position."""
        ahead = time > min(now + AHEAD_MS, LATEST)
        if self._rows is not rows:
            self._carry(rows)
        seen = np.where(ahead & (position == self._position), self._seen, now)
        self._rows = rows
        self._position, self._seen = np.where(ahead, position, NO_COMMIT), np.where(ahead, seen, NO_COMMIT)
        return np.where(ahead, seen, np.maximum(time, NO_COMMIT))

    def _carry(self, rows: InputRows) -> None:
        """Reorder the stored positions and times to match other rows."""
        previous, odd = self._rows, np.flatnonzero(self._seen >= 0)[:_CARRIED].tolist()
        position, seen = (np.full(len(rows), NO_COMMIT, np.int64) for _ in range(2))
        if previous is not None and odd:
            groups, topics = ({name: at for at, name in enumerate(names)} for names in (rows.groups, rows.topics))
            for row in odd:
                group = groups.get(previous.groups[int(previous.group[row])])
                topic = topics.get(previous.topics[int(previous.topic[row])])
                at = rows.position(group, topic, int(previous.partition[row]))
                if at is not None:
                    position[at], seen[at] = self._position[row], self._seen[row]
        self._position, self._seen = position, seen
