"""The time that each group may leave records unread before that is a fault, learned from its own commits.

The time that a group usually lets a record wait before it commits past it, learned from its commit window.

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
from stream.health.columns import NOT_KNOWN, Flags, Ints, assigned, consecutive_pairs, max_by_owner, replaced, uniform
from stream.health.features.end_history import BracketQuality, EndHistory
from stream.health.inputs import NO_COMMIT, GroupStage, HealthInputs
from stream.health.limits import HealthLimits


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
    silent_end = width - slots.time[previous] % width
    mean = (slots.time[at] - slots.time[previous]) // np.maximum(slots.commits[at], 1)
    silence = np.maximum(mean, np.where(slots.commits[at] > 1, silent_end, 0))
    wait = np.where(neighbours, np.minimum(wait, silence), wait)
    return max_by_owner(wait, slots.row[at], rows, NOT_KNOWN)


def mean_interval(spans: Spans) -> Ints:
    """Return the mean time (ms) between the commits of each run, a first estimate of the wait; -1 where not known.

    It is not known with fewer than three commits, nor where the offset has not moved since the first one: a consumer
    that commits on a timer may advance much more rarely.
    """
    rows = np.flatnonzero((spans.commits >= 3) & (spans.reached_time > spans.first_time))
    interval = (spans.last_time[rows] - spans.first_time[rows]) // (spans.commits[rows] - 1)
    return assigned(uniform(NOT_KNOWN, spans.commits), rows, interval)


def _slots_with_progress(slots: Slots) -> tuple[Ints, Ints]:
    """Return the slots with a new offset, and for each the first slot that had the offset of the slot before it."""
    if not len(slots):
        none = np.empty(0, np.int64)
        return none, none
    is_first = np.concatenate(([True], slots.row[1:] != slots.row[:-1]))
    moved = is_first | np.concatenate(([True], slots.offset[1:] != slots.offset[:-1]))
    at = np.flatnonzero(moved & ~is_first)
    return at, np.flatnonzero(moved)[np.cumsum(moved)[at - 1] - 1]


@dataclasses.dataclass(frozen=True, slots=True)
class Patience:
    """One element per row."""

    time: Ints
    """Time (ms) that a record may usually wait: one that waits longer is late."""
    is_default: Flags
    """The row has commits, but its commit interval is not known: `time` comes from its siblings or from a default."""
    longest_pause: Ints
    """Time (ms) that the row may be without progress before that is a fault: `time`, or that of a first pause."""


def learn_patience(  # noqa: PLR0917 - columns of one table
    inputs: HealthInputs,
    history: EndHistory,
    limits: HealthLimits,
    history_row: Ints,
    suspects: Ints,
    wait: Ints,
    remembered_pause: Ints | None = None,
) -> Patience:
    """Return the patience of each row: for suspects twice their longest wait plus one tick, for others two ticks.

    `wait` has the `longest_wait` of each suspect. `remembered_pause` has for each row the longest pause of a batch (ms,
    -1: none), which its commit window may have forgotten.
    A suspect without progress since its first commit has no wait of its own. It gets the longest patience of its
    siblings with progress, because the same members read them. A row without a commit gets
    `limits.first_commit_grace`; or that patience if the group, without membership, is younger than the partition, see
    `_left_out_rows`. Of groups with static members no patience is below `limits.static_restart_grace`.

    Any group may pause once for `limits.pause`, which begins up to its longest wait after its last commit.
    """
    patience, is_default = np.full(len(inputs), 2 * limits.tick, np.int64), np.zeros(len(inputs), np.bool_)
    wait = replaced(wait, wait == NOT_KNOWN, mean_interval(inputs.spans)[suspects])
    if remembered_pause is not None and (remembered_pause >= 0).any():
        wait = np.maximum(wait, remembered_pause[suspects])
    known = wait != NOT_KNOWN
    unlearned, uncommitted = suspects[~known], suspects[inputs.spans.last_offset[suspects] == NO_COMMIT]
    patience[suspects[known]] = np.maximum(2 * wait[known] + limits.tick, 2 * limits.tick)
    if len(unlearned):
        patience[unlearned] = NOT_KNOWN
        patience[unlearned] = sibling_patience(inputs, patience, limits)[unlearned]
        is_default[unlearned] = True
    is_default[uncommitted] = False
    left_out = _left_out_rows(inputs, history, history_row, uncommitted, limits)
    of_siblings = sibling_patience(inputs, patience, limits)[left_out] if len(left_out) else left_out
    patience[uncommitted] = limits.first_commit_grace
    patience[left_out] = np.clip(of_siblings, limits.restart_grace * 2, limits.first_commit_grace)
    static = suspects[inputs.groups.static[inputs.group[suspects]]]
    patience[static] = np.maximum(patience[static], limits.static_restart_grace)
    longest_pause, pauses = np.maximum(patience, limits.pause), suspects[wait > 0]
    longest_pause[pauses] = np.maximum(patience[pauses], limits.pause + wait[wait > 0])
    return Patience(patience, is_default, longest_pause)


def _left_out_rows(
    inputs: HealthInputs, history: EndHistory, history_row: Ints, rows: Ints, limits: HealthLimits
) -> Ints:
    """Return which of these rows without a commit had records when their group began to commit their siblings.

    A consumer that assigns partitions to itself looks for new partitions every few minutes, but it has known these.
    """
    rows = rows[(inputs.groups.stage[inputs.group[rows]] == GroupStage.OFFSETS_ONLY) & (history_row[rows] >= 0)]
    if not len(rows):
        return rows
    pair, first = consecutive_pairs(inputs.group, inputs.topic)
    has_commit = inputs.spans.last_offset != NO_COMMIT
    began = np.full(len(first), np.iinfo(np.int64).max)
    np.minimum.at(began, pair[has_commit], inputs.spans.first_time[has_commit])
    at = np.maximum(began[pair[rows]], inputs.now - limits.first_commit_grace)
    is_older: Flags = (at <= inputs.now) & (history.end_at(history_row[rows], np.minimum(at, inputs.now)) > 0)
    return rows[is_older]


def sibling_patience(inputs: HealthInputs, patience: Ints, limits: HealthLimits) -> Ints:
    """Return for each row the longest known patience of the partitions of its topic on which its group makes progress.

    The result lies between `limits.restart_grace` and `limits.unlearned`; it is `limits.unlearned` where no sibling
    has a known patience.
    """
    has_progress = (inputs.spans.reached_time > inputs.spans.first_time) & (patience != NOT_KNOWN)
    pair, first = consecutive_pairs(inputs.group, inputs.topic)
    longest = np.maximum.reduceat(np.where(has_progress, patience, NOT_KNOWN), first)
    longest = np.where(longest == NOT_KNOWN, limits.unlearned, np.clip(longest, limits.restart_grace, limits.unlearned))
    return longest[pair]


def transaction_patience(patience: Patience, longest_earlier: Ints, limits: HealthLimits) -> Ints:
    """Return how long (ms) each group may wait for an open transaction to end.

    How long transactions stay open is a property of the producer, so it is taken from the earlier transactions of the
    partition, the longest of which stayed open for `longest_earlier` ms (0: not known). Only where the group's own
    commit interval is not known either, a default (`limits.transaction`) limits the patience: coordinators look every
    ten seconds for transactions that have exceeded it (transaction.abort.timed.out.transaction.cleanup.interval.ms).
    """
    default = limits.transaction + limits.tick
    pause = patience.longest_pause
    usual = np.where(patience.is_default, np.minimum(pause, default), pause)
    return np.maximum(usual, np.minimum(2 * longest_earlier + limits.tick, limits.unlearned))
