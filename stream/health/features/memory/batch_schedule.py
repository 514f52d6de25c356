"""Batches: groups that repeatedly read a backlog in a short run and then pause.

The commit window does not contain the pause before a run that is longer than the window, and contains no pause of a new
group. So this module remembers the pauses, and a group that looks like a batch is not judged before they are known.

The *run* is the part of the commit window since the last gap of `LONG_PAUSE`. A row looks like a batch if it makes no
progress now, and its run has read a backlog of at least `LONG_PAUSE` at least twice as fast as records are written. A
row is *steady* if its run has read about as fast as records are written. If a steady row stops, it has failed and does
not pause: the time is not learned as a pause, and earlier pauses are dropped.
"""

import dataclasses
from typing import Final

import numpy as np

from stream.groups.commits.runs import Spans
from stream.groups.commits.slots import Slots, last_breaks, row_bounds
from stream.health.columns import (
    NOT_KNOWN,
    Flags,
    Ints,
    Reals,
    assigned,
    max_by_owner,
    once_each,
    replaced,
    sum_by_owner,
    uniform,
)
from stream.health.features.end_history import BracketQuality, EndHistory
from stream.health.features.lag import Lag
from stream.health.features.memory.columns import Changes, Memory
from stream.health.inputs import HealthInputs

OBSERVED: Final = 7_200_000
"""Time (ms) since its first tick, or since its first commit if that is later, in which a batch is not judged."""
LONG_PAUSE: Final = 600_000
"""The shortest pause between two runs, and the least backlog of a run (ms)."""
_LONGEST_RUN: Final = 1_800_000
"""The maximum length (ms) of a run of a batch."""
_STANDS_STILL: Final = 20_000
"""Time (ms) without progress after which a run is judged."""
_STEADY_RUN: Final = 120_000
"""The shortest run (ms) that shows a steady group; a batch may be seen in the middle of its first commits."""
_COLUMNS: Final = Memory.of_observations("habit_")
_KNOWN_PAUSES: Final = 2
"""Similar pauses in a row after which the schedule is known: the longer one is at most twice the shorter one."""


@dataclasses.dataclass(frozen=True, slots=True)
class _LastRuns:
    """The run of each of some rows, from the commit window."""

    span: Ints
    """Time (ms) from its first slot to its last one."""
    backlog: Ints
    """The least age (ms) of the records at its first slot; -1: not known."""
    gain: Ints
    """Time (ms) by which the records that it has passed were written over a longer time than it took; 0: not known."""
    rate: Reals
    """Mean rate since the first known record was written (offsets per ms); 0: not known."""
    is_whole: Flags
    """The run began with the first commit of all."""


def advance(memory: Memory, inputs: HealthInputs, lag: Lag, history: EndHistory, history_row: Ints) -> Changes:
    """Return the columns of the schedule after a tick."""
    reached = inputs.spans.reached_time
    after = dataclasses.replace(
        memory,
        first_seen=replaced(memory.first_seen, memory.first_seen < 0, inputs.now),
        first_lag=replaced(memory.first_lag, (memory.first_lag < 0) & lag.known, lag.lag),
        reached=reached,
    )
    resumed = np.flatnonzero(reached - memory.reached >= LONG_PAUSE)
    known = (memory.reached[resumed] >= 0) & (memory.known_committed[resumed] >= 0)
    resumed = resumed[known & (inputs.now - memory.known_tick[resumed] <= LONG_PAUSE)]
    if len(resumed):
        pause = _pauses(memory, reached, history, history_row, resumed)
        after = _with_pauses(after, resumed, pause)
    judged = np.flatnonzero((lag.lag > 0) & (reached >= 0) & (reached <= inputs.now - _STANDS_STILL))
    end = reached[judged]
    is_new = np.maximum(end, after.first_seen[judged]) >= inputs.now - LONG_PAUSE
    is_new &= (after.batch_end[judged] != end) & (after.steady_end[judged] != end)
    judged = judged[is_new & (history_row[judged] >= 0)]
    if len(judged):
        # Of other runs it is not known for how much time their records were written, see `_last_runs`.
        row, (_, rate) = history_row[judged], _mean_rates(history, history_row[judged], inputs.now)
        (oldest,) = once_each(row, len(history), lambda rows: (history.oldest_end(rows),))
        judged = judged[(rate > 0) | (inputs.spans.last_offset[judged] >= oldest)]
    if len(judged):
        after = _with_runs(after, inputs, history, history_row, judged)
    return {name: getattr(after, name) for name in _COLUMNS} | {"schedule_unknown_until": _unknown_until(after, inputs)}


def _with_pauses(memory: Memory, rows: Ints, pause: Ints) -> Memory:
    """Return the memory after pauses of this length (ms) have ended in these rows; -1: no pause of a batch."""
    began, longest, pauses = memory.run_began.copy(), memory.longest_pause.copy(), memory.batch_pauses.copy()
    rows, pause = rows[pause >= LONG_PAUSE], pause[pause >= LONG_PAUSE]
    began[rows] = memory.reached[rows]
    earlier = longest[rows]
    similar = (2 * pause >= earlier) & (pause <= 2 * earlier)
    longest[rows] = np.where(similar, np.maximum(pause, earlier), pause)
    pauses[rows] = np.where(similar, pauses[rows], 0) + 1
    return dataclasses.replace(memory, run_began=began, longest_pause=longest, batch_pauses=pauses)


def _with_runs(memory: Memory, inputs: HealthInputs, history: EndHistory, history_row: Ints, rows: Ints) -> Memory:
    """Return the memory after the last runs of these rows have been judged."""
    runs = _last_runs(inputs, history, history_row, rows)
    reached, seen = memory.reached[rows], memory.first_seen[rows]
    began = np.maximum(memory.run_began[rows], np.maximum(seen, inputs.spans.first_time[rows]))
    is_short = reached - began <= _LONGEST_RUN
    # A run may be longer than the window: its backlog is that of the first tick, or the pause before it.
    after_pause = memory.run_began[rows] >= 0
    at_first = ~after_pause & (reached > seen) & (runs.rate > 0)
    at_first &= memory.first_lag[rows] >= LONG_PAUSE * runs.rate
    had_backlog = after_pause | at_first | (runs.backlog >= LONG_PAUSE)
    catches_up = 2 * runs.gain >= np.maximum(runs.span, 1)
    knows_begin = after_pause | at_first | runs.is_whole
    is_batch = (runs.backlog >= 0) & had_backlog & is_short & (catches_up | knows_begin)
    stays_steady = (runs.backlog >= 0) & (runs.span >= _STEADY_RUN) & ~catches_up & ~is_batch
    looks, stays = rows[is_batch], rows[stays_steady]
    return dataclasses.replace(
        memory,
        batch_end=assigned(memory.batch_end, looks, memory.reached[looks]),
        steady_end=assigned(memory.steady_end, stays, memory.reached[stays]),
        longest_pause=assigned(memory.longest_pause, stays, NOT_KNOWN),
        batch_pauses=assigned(memory.batch_pauses, stays, NOT_KNOWN),
    )


def _unknown_until(memory: Memory, inputs: HealthInputs) -> Ints:
    """Return the time (ms) until which each row is not judged; -1 for rows that are judged now.

    A group is not judged if at least one of its rows looks like a batch, the pauses of none of its rows are known, and
    at most as many of its rows are steady as look like a batch. The numbers are compared because some partitions of a
    batch have no backlog, and some partitions of a failed group had one.
    """
    groups = len(inputs.groups.names)
    looks = memory.batch_end >= 0
    if looks.any():
        looks &= (memory.batch_end == inputs.spans.reached_time) & (memory.steady_end < 0)
    if not looks.any():
        return uniform(NOT_KNOWN, looks)
    looking = sum_by_owner(looks.astype(np.int64), inputs.group, groups)
    steady = sum_by_owner((memory.steady_end >= 0).astype(np.int64), inputs.group, groups)
    pauses = max_by_owner(memory.batch_pauses, inputs.group, groups, NOT_KNOWN)
    since = np.maximum(memory.first_seen, inputs.spans.first_time)[looks]
    until = max_by_owner(since + OBSERVED, inputs.group[looks], groups, NOT_KNOWN)
    until[(steady > looking) | (pauses >= _KNOWN_PAUSES) | (until <= inputs.now)] = NOT_KNOWN
    return until[inputs.group]


def _pauses(memory: Memory, reached: Ints, history: EndHistory, history_row: Ints, rows: Ints) -> Ints:
    """Return how long these rows paused before their last commit (ms), at least; -1 where they had failed.

    A pause begins when there was something to read: after the last commit, and not before the next record was
    written.
    """
    begin = memory.reached[rows]
    observed = np.flatnonzero(history_row[rows] >= 0)
    written, quality = history.time_of(history_row[rows[observed]], memory.known_committed[rows[observed]])
    known = (quality == BracketQuality.BETWEEN) | (quality == BracketQuality.OLDER)
    at = observed[known]
    begin[at] = np.maximum(begin[at], written[known])
    failed = memory.steady_end[rows] == memory.reached[rows]
    return np.where(failed, NOT_KNOWN, reached[rows] - begin)


def _last_runs(inputs: HealthInputs, history: EndHistory, history_row: Ints, rows: Ints) -> _LastRuns:
    """Return the last run of each of these rows.

    How much time the records of a run stand for is known where the history of ends reaches back to its first one; else
    they have been written at the mean rate of the history, from its first record on.
    """
    first_time, first_offset, is_whole = _first_of_runs(inputs.slots, inputs.spans, rows)
    last_time, last_offset = inputs.spans.reached_time[rows], inputs.spans.last_offset[rows]
    row = history_row[rows]
    written_first, quality = history.time_of(row, first_offset)
    moved = np.flatnonzero(last_offset != first_offset)
    written_last = assigned(written_first, moved, history.time_of(row[moved], last_offset[moved])[0])
    exact = quality == BracketQuality.BETWEEN
    oldest, rate = _mean_rates(history, row, inputs.now)
    has_rate = rate > 0
    by_rate = ((last_offset - first_offset) / np.where(has_rate, rate, 1.0)).astype(np.int64)
    worth = np.where(exact, written_last - written_first, by_rate)
    went_back = inputs.spans.rewind_time[rows] >= first_time - LONG_PAUSE
    known = (first_time >= 0) & (first_time <= last_time) & (exact | has_rate) & ~went_back
    span = last_time - first_time
    gain = np.where(known, worth - span, 0)
    backlog = np.where(exact, first_time - written_first, np.maximum(gain, first_time - oldest))
    return _LastRuns(
        np.where(known, span, 0), np.where(known, np.maximum(backlog, 0), NOT_KNOWN), gain, rate, is_whole & known
    )


def _mean_rates(history: EndHistory, rows: Ints, now: int) -> tuple[Ints, Reals]:
    """Return the oldest time and the mean rate of partitions since their first record (offsets per ms; 0: unknown)."""

    def of_partitions(row: Ints) -> tuple[Ints, Reals]:
        oldest, end = history.oldest_time(row), history.end_at(row, np.full(len(row), now))
        # A topic may be younger than its history, which then begins with a long time without a record.
        started, _ = history.time_of(row, history.oldest_end(row))
        written, over = end - history.oldest_end(row), now - np.maximum(oldest, started)
        has_rate = (oldest >= 0) & (over >= _STANDS_STILL) & (written > 0)
        return oldest, np.where(has_rate, written / np.maximum(over, 1), 0.0)

    oldest, rate = once_each(rows, len(history), of_partitions)
    return oldest, rate


def _first_of_runs(slots: Slots, spans: Spans, rows: Ints) -> tuple[Ints, Ints, Flags]:
    """Return time and offset of the first known commit of each run (-1: none), and where it is the first one of all."""
    time, offset = (np.full(len(rows), NOT_KNOWN, np.int64) for _ in range(2))
    is_whole = spans.reached_time[rows] - spans.first_time[rows] <= _LONGEST_RUN
    time[is_whole], offset[is_whole] = spans.first_time[rows[is_whole]], spans.first_offset[rows[is_whole]]
    if not len(slots):
        return time, offset, is_whole
    row, first, _ = row_bounds(slots.row)
    begins = last_breaks(slots, slots.time[1:] - slots.time[:-1] >= LONG_PAUSE)
    if begins is first and is_whole.all():
        return time, offset, is_whole
    if len(row) < len(spans.last_time):
        begins, first = (assigned(uniform(NOT_KNOWN, spans.last_time), row, column) for column in (begins, first))
    begin = begins[rows]
    # Commits that repeat the offset after a long pause are no run.
    is_run = (begin >= 0) & (slots.time[begin] <= spans.reached_time[rows]) & (~is_whole | (begin != first[rows]))
    begin = begin[is_run]
    time[is_run], offset[is_run], is_whole[is_run] = slots.time[begin], slots.offset[begin], False
    return time, offset, is_whole
