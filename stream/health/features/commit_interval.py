"""How long a group usually lets a record wait before it commits past it: its own patience, learned from its own slots.

The *wait* of a slot is the time from the moment when there was something to read (the record after the previous commit
had been written) to the commit that passed it. So an hourly batch has waits of an hour, a consumer that commits every
five seconds has waits of five, and a quiet topic that gets a record an hour, read at once, has waits of a moment,
though an hour lies between its commits. Commits that repeat an offset are no progress and do not count.

Slots keep only their last commit. Between neighbouring slots the silence is therefore taken from the mean distance of
the commits in it and from how long the earlier slot was silent at its end: a consumer that commits ten times at once
and then rests has a small mean, but is silent when its slot ends.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from stream.health.columns import NOT_KNOWN, max_by_owner
from stream.health.features.end_history import BracketQuality

if TYPE_CHECKING:
    from stream.groups.commits.runs import Spans
    from stream.groups.commits.slots import Slots
    from stream.health.columns import Ints
    from stream.health.features.end_history import EndHistory


def longest_wait(slots: Slots, rows: int, history: EndHistory, of_history: Ints, width: int) -> Ints:
    """Give the longest wait (ms) in each row's window, -1 where fewer than two slots show progress.

    Slots are sorted by row and number; `of_history` gives each row's row of the history (-1: none), `width` the time
    that a slot holds.
    """
    at, begin = _steps(slots)
    if not len(at):
        return np.full(rows, NOT_KNOWN, np.int64)
    before = at - 1
    ready = slots.time[begin]
    row = of_history[slots.row[at]]
    asked = np.flatnonzero(row >= 0)
    written, found = history.time_of(row[asked], slots.offset[before[asked]])
    known = found == BracketQuality.BETWEEN
    late = asked[known]
    ready[late] = np.maximum(ready[late], written[known])
    wait = np.maximum(slots.time[at] - ready, 0)
    neighbours = (slots.number[at] == slots.number[before] + 1) & (begin == before)
    silent_end = (slots.number[before] + 1) * width - slots.time[before]
    mean = (slots.time[at] - slots.time[before]) // np.maximum(slots.commits[at], 1)
    silence = np.maximum(mean, np.where(slots.commits[at] > 1, silent_end, 0))
    wait = np.where(neighbours, np.minimum(wait, silence), wait)
    return max_by_owner(wait, slots.row[at], rows, NOT_KNOWN)


def mean_interval(spans: Spans) -> Ints:
    """Give the mean time (ms) between the commits of each run, -1 if there are fewer than three: a first guess.

    None either where it has not moved since its first commit: who commits by the clock may move much more seldom.
    """
    gap = (spans.last_time - spans.first_time) // np.maximum(spans.commits - 1, 1)
    return np.where((spans.commits >= 3) & (spans.reached_time > spans.first_time), gap, NOT_KNOWN)


def slots_of_rows(slots: Slots, rows: Ints, count: int) -> Slots:
    """Give the slots of these rows only (ascending), numbered by their place in `rows`; `count` rows there are."""
    to = np.full(count, -1, np.int64)
    to[rows] = np.arange(len(rows))
    moved = to[slots.row]
    mine = moved >= 0
    return dataclasses.replace(slots.take(mine), row=moved[mine])


def _steps(slots: Slots) -> tuple[Ints, Ints]:
    """Give the slots that ended with another offset than the one before, and for each the slot that first had that."""
    if not len(slots):
        none = np.empty(0, np.int64)
        return none, none
    index = np.arange(len(slots))
    new = np.concatenate(([True], slots.row[1:] != slots.row[:-1]))
    moved = np.concatenate(([True], slots.offset[1:] != slots.offset[:-1]))
    first_with = np.maximum.accumulate(np.where(new | moved, index, 0))
    at = index[moved & ~new]
    return at, first_with[at - 1]
