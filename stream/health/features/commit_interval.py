"""The time that a group usually lets a record wait before it commits past it, learned from its commit window.

The *wait* of a slot is the time from when there was something to read (the record after the previous commit had been
written) to the commit that passed it. So an hourly batch has waits of an hour and a consumer that commits every five
seconds has waits of five seconds. A consumer that reads one record an hour at once has short waits, although an hour
lies between its commits. Commits that repeat an offset are no progress and do not count.

A slot keeps only its last commit. Between neighbouring slots the silence is therefore computed from the mean interval
of the commits in the later slot and from the silence at the end of the earlier one: a consumer that commits ten times
at once and then rests has a small mean interval, but its slot ends with silence.
"""

import dataclasses

import numpy as np

from stream.groups.commits.runs import Spans
from stream.groups.commits.slots import Slots
from stream.health.columns import NOT_KNOWN, Ints, max_by_owner
from stream.health.features.end_history import BracketQuality, EndHistory


def longest_wait(slots: Slots, rows: int, history: EndHistory, history_row: Ints, width: int) -> Ints:
    """Return the longest wait (ms) in each row's window, -1 where fewer than two slots show progress.

    Slots are sorted by row and number; `history_row` is the row of each row in the history (-1: none), `width` the time
    (ms) that a slot covers.
    """
    at, begin = _slots_with_progress(slots)
    if not len(at):
        return np.full(rows, NOT_KNOWN, np.int64)
    previous = at - 1
    ready = slots.time[begin]
    row = history_row[slots.row[at]]
    observed = np.flatnonzero(row >= 0)
    written, quality = history.time_of(row[observed], slots.offset[previous[observed]])
    known = quality == BracketQuality.BETWEEN
    written_at = observed[known]
    ready[written_at] = np.maximum(ready[written_at], written[known])
    wait = np.maximum(slots.time[at] - ready, 0)
    neighbours = (slots.number[at] == slots.number[previous] + 1) & (begin == previous)
    silent_end = (slots.number[previous] + 1) * width - slots.time[previous]
    mean = (slots.time[at] - slots.time[previous]) // np.maximum(slots.commits[at], 1)
    silence = np.maximum(mean, np.where(slots.commits[at] > 1, silent_end, 0))
    wait = np.where(neighbours, np.minimum(wait, silence), wait)
    return max_by_owner(wait, slots.row[at], rows, NOT_KNOWN)


def mean_interval(spans: Spans) -> Ints:
    """Return the mean time (ms) between the commits of each run, a first estimate of the wait; -1 where not known.

    It is not known with fewer than three commits, nor where the offset has not moved since the first one: a consumer
    that commits on a timer may advance much more rarely.
    """
    interval = (spans.last_time - spans.first_time) // np.maximum(spans.commits - 1, 1)
    return np.where((spans.commits >= 3) & (spans.reached_time > spans.first_time), interval, NOT_KNOWN)


def slots_of_rows(slots: Slots, rows: Ints, count: int) -> Slots:
    """Return the slots of these rows (ascending) out of `count`, numbered by their position in `rows`."""
    position = np.full(count, -1, np.int64)
    position[rows] = np.arange(len(rows))
    row = position[slots.row]
    chosen = row >= 0
    return dataclasses.replace(slots.take(chosen), row=row[chosen])


def _slots_with_progress(slots: Slots) -> tuple[Ints, Ints]:
    """Return the slots with a new offset, and for each the first slot that had the offset of the slot before it."""
    if not len(slots):
        none = np.empty(0, np.int64)
        return none, none
    index = np.arange(len(slots))
    is_first = np.concatenate(([True], slots.row[1:] != slots.row[:-1]))
    moved = np.concatenate(([True], slots.offset[1:] != slots.offset[:-1]))
    first_with = np.maximum.accumulate(np.where(is_first | moved, index, 0))
    at = index[moved & ~is_first]
    return at, first_with[at - 1]
