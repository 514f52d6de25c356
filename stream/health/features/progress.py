"""The position of each row, and its progress: how fast it reads, for how long not at all, and if that can be decided.

Everything else in a window is derived from these columns.
"""

import dataclasses
from typing import Final

import numpy as np

from stream.health.columns import Codes, Flags, Ints, assigned, once_each, replaced, uniform
from stream.health.features import control_records, lag, offset_out_of_range, time_lag
from stream.health.features.control_records import TailState
from stream.health.features.end_history import EndHistory
from stream.health.features.lag import OffsetDistances
from stream.health.features.lag_trend import TOO_SHORT, stuck_rows, unowned_rows
from stream.health.features.open_transaction import (
    MOST_MARKERS,
    rows_before_new_transaction,
    rows_before_transaction,
    rows_of_hanging_transactions,
)
from stream.health.features.partition_history import Observation, PartitionHistory
from stream.health.features.patience import Patience, learn_patience, transaction_patience
from stream.health.features.time_lag import (
    Rates,
    RisingSpan,
    TimeLag,
    excused_rows,
    idle_times,
    idle_times_without_commit,
    produce_and_consume_rates,
    restarting_rows,
    rising_span,
    written_since,
    young_rows,
)
from stream.health.inputs import NO_COMMIT, GroupStage, HealthInputs
from stream.health.limits import HealthLimits


@dataclasses.dataclass(frozen=True, slots=True)
class RecordedTick:
    """The inputs of a tick, and what the history returned when it recorded them."""

    inputs: HealthInputs
    observation: Observation
    history: PartitionHistory
    limits: HealthLimits


@dataclasses.dataclass(frozen=True, slots=True)
class Measurements:
    """One element per row; the fields that `Window` has too mean the same there."""

    history_row: Ints
    """Row of the partition in the history of its ends; -1 where its ends are not known at this tick."""
    known: Flags
    out_of_range: Codes
    lag: Ints
    next_offset: Ints
    """The first offset that the group has not read."""
    tail: TailState
    ends: OffsetDistances
    time_lag: TimeLag
    known_until: Ints
    unread: Flags


def measure(tick: RecordedTick) -> Measurements:
    """Return the measurements of one tick."""
    inputs, observation, history = tick.inputs, tick.observation, tick.history
    committed, ends, tails = inputs.spans.last_offset, inputs.ends, inputs.tails
    places = lag.place(inputs.topic, inputs.partition)
    raw_lag, history_row = observation.lag, observation.history_row
    out_of_range = offset_out_of_range.classify(committed, raw_lag, ends, inputs.origins)
    truncated = history.states.is_truncated(history_row, inputs.now)
    out_of_range = offset_out_of_range.mark_truncated(out_of_range, truncated, inputs.origins)
    known = raw_lag.known & ~offset_out_of_range.is_unknown(out_of_range)
    distances = lag.distances(committed, raw_lag, ends)
    distances = offset_out_of_range.clear_distances_of_earlier_topics(distances, out_of_range)
    distances = dataclasses.replace(distances, lost=replaced(distances.lost, observation.memory.loss_unproven, 0))
    distances = control_records.remove_markers_from_lost(distances, committed, places, tails)
    end = distances.high_watermark
    next_offset = first_unread_offsets(inputs, history.high_watermark, history_row, known, distances.log_start)
    other = np.flatnonzero((committed == NO_COMMIT) | ~known)
    beyond_next = np.where(known[other], np.maximum(end[other] - next_offset[other], 0), 0)
    distance = assigned(raw_lag.lag, other, beyond_next)
    unread = control_records.remove_markers(distance, known, places, next_offset=next_offset, end=end, tails=tails)
    # The position of a group without a commit is an assumption: no verdict may rest on the tail of its partition.
    has_position = known & (committed != NO_COMMIT)
    at_rest = ends_at_rest(history.high_watermark, history_row, end, inputs.now - tick.limits.tick)
    tail = control_records.tail_state(unread, has_position, at_rest, next_offset, places, distances, tails)
    # A group that commits the last offset it has read has read the record at its next offset.
    last_read = observation.memory.last_read
    has_unread = unread.lag > 0
    has_unread[last_read] = unread.lag[last_read] > 1
    first, at = tail.first_unread, np.flatnonzero(last_read)
    first = assigned(first, at, np.minimum(first[at] + 1, np.maximum(end[at], first[at])))
    age = time_lag.time_lag(history.high_watermark, history_row, first, has_unread, known, inputs.now)
    return Measurements(
        history_row, known, out_of_range, unread.lag, next_offset, tail, distances, age, known_until(inputs), has_unread
    )


def known_until(inputs: HealthInputs) -> Ints:
    """Return the time (ms) up to which all commits of each row are known, never later than the tick."""
    now = uniform(inputs.now, inputs.group)
    return now if inputs.read_until is None else replaced(now, inputs.read_until < inputs.now, inputs.read_until)


def first_unread_offsets(
    inputs: HealthInputs, history: EndHistory, history_row: Ints, known: Flags, log_start: Ints
) -> Ints:
    """Return the first offset that each group has not read: its committed offset, but not below the log start.

    A group without a commit is assumed to begin at the end offset that the partition had when the group formed.
    """
    committed = inputs.spans.last_offset
    next_offset = np.maximum(committed, log_start)
    rows = np.flatnonzero((committed == NO_COMMIT) & known & (history_row >= 0))
    if len(rows):
        formed = np.maximum(inputs.groups.since[inputs.group[rows]], history.oldest_time(history_row[rows]))
        next_offset[rows] = np.maximum(history.end_at(history_row[rows], formed), log_start[rows])
    return next_offset


def ends_at_rest(history: EndHistory, history_row: Ints, end: Ints, since: int) -> Flags:
    """Return the rows whose partition has had the same end offset since a time (ms)."""
    rows = np.maximum(history_row, 0)
    (earlier,) = once_each(rows, len(history), lambda rows: (history.end_at(rows, np.full(len(rows), since)),))
    at_rest: Flags = (history_row >= 0) & (earlier == end)
    return at_rest


_LONG_AGO: Final = 1 << 50


@dataclasses.dataclass(frozen=True, slots=True)
class Pace:
    """The rates of each row, and what its commits show about the group."""

    span: RisingSpan
    rates: Rates
    patience: Patience
    trend: Codes


def measure_pace(tick: RecordedTick, measured: Measurements) -> Pace:
    """Return the rates of the rows, and how long a record may wait in each."""
    inputs = tick.inputs
    past, row, lag, end = tick.history.high_watermark, measured.history_row, measured.lag, measured.ends.high_watermark
    span = rising_span(inputs.slots, measured.known_until, inputs.now)
    rates = produce_and_consume_rates(span, inputs.spans.last_offset, lag, past, row, end=end, now=inputs.now)
    # Nothing shorter than two ticks is ever a fault: the expensive columns are computed for these rows only.
    suspects = np.flatnonzero(measured.unread & (measured.time_lag.age > 2 * tick.limits.tick))
    windows = tick.history.commit_windows.read(
        inputs,
        tick.history.memory.keys,
        past,
        row,
        suspects,
        lag=lag,
        end=end,
        window_start=span.start_time,
        width=tick.limits.slot,
    )
    pauses = tick.observation.memory.longest_pause
    patience = learn_patience(inputs, past, tick.limits, row, suspects, windows.wait[suspects], pauses)
    trend = np.full(len(inputs), TOO_SHORT, np.int8)
    trend[suspects] = windows.trend[suspects]
    return Pace(span, rates, patience, trend)


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """The idle time of each row and its explanations; see the fields of `Window`."""

    uncommitted: Flags
    settled_time: Ints
    idle_time: Ints
    outage_end: Ints
    excused: Flags
    before_transaction: Flags
    stable_since: Ints
    stuck: Flags
    paused: Flags


def measure_progress(tick: RecordedTick, measured: Measurements, pace: Pace) -> Progress:
    """Return for how long nothing has moved, what excuses it, and which rows are stuck."""
    inputs, observation, history, limits = tick.inputs, tick.observation, tick.history, tick.limits
    patience = pace.patience
    row, unread, known_until = measured.history_row, measured.unread, measured.known_until
    uncommitted, settled_since = observation.uncommitted & measured.known, observation.settled_since
    settled_time = np.where(settled_since >= 0, inputs.now - settled_since, _LONG_AGO)[inputs.group]

    readable_since = history.states.readable_since(row, measured.next_offset + MOST_MARKERS)
    since = written_since(measured.time_lag, history.high_watermark, row, inputs.spans.last_offset, measured.ends.lost)
    idle = idle_times(since, unread, inputs.spans.reached_time, readable_since, known_until)
    restarting = restarting_rows(idle, uncommitted, limits.restart_grace)
    idle = idle_times_without_commit(
        idle, history.high_watermark, row, uncommitted, observation.uncommitted_since, known_until
    )

    outage_end = history.states.answered_since(row)
    if inputs.answered_since is not None:
        outage_end = np.maximum(outage_end, inputs.answered_since)
    grace = np.maximum(patience.time, limits.restart_grace)
    excused = excused_rows(outage_end, settled_since[inputs.group], known_until, grace, limits.rebalance_limit)

    before_transaction = rows_before_transaction(measured.ends, measured.next_offset, measured.known)
    stable_since = history.states.stable_since(row)
    until_transaction_ends = patience.longest_pause
    if before_transaction.any():
        until_transaction_ends = transaction_patience(patience, history.states.stood_still(row), limits)
    allowed = replaced(patience.longest_pause, before_transaction, until_transaction_ends)
    is_endless = np.flatnonzero(before_transaction & ~uncommitted & rows_of_hanging_transactions(inputs))
    allowed = assigned(allowed, is_endless, np.minimum(allowed[is_endless], 2 * limits.tick))

    has_readers = ~np.isin(inputs.groups.stage, (GroupStage.EMPTY, GroupStage.REBALANCING))[inputs.group]
    stuck = stuck_rows(
        unread,
        has_readers & ~unowned_rows(inputs) & ~excused,
        (idle > allowed) & (settled_time > np.minimum(allowed, limits.restart_grace)),
        restarting,
        rows_before_new_transaction(before_transaction, stable_since, allowed, inputs.now),
    )
    paused = unread & (idle > patience.time) & ~stuck
    return Progress(
        uncommitted, settled_time, idle, outage_end, excused, before_transaction, stable_since, stuck, paused
    )


def undecided(tick: RecordedTick, measured: Measurements, pace: Pace, progress: Progress) -> Flags:
    """Return the rows that cannot be evaluated yet, see `Window.undecided`."""
    inputs, limits = tick.inputs, tick.limits
    now, unread, patience, age = inputs.now, measured.unread, pace.patience.time, measured.time_lag.age
    ends, row = tick.history.high_watermark, np.maximum(measured.history_row, 0)
    observed = uniform(now, row)
    if len(ends):
        (observed,) = once_each(row, len(ends), lambda rows: (ends.oldest_time(rows),))
    needed_since = np.minimum(pace.span.start_time, now - patience)
    young = young_rows(unread, measured.time_lag, pace.trend, patience, needed_since, observed)
    # What was written before a partition without a commit was first observed, after its group formed, is not known.
    at = np.flatnonzero(progress.uncommitted & ~progress.stuck)
    empty = measured.ends.high_watermark[at] <= measured.ends.log_start[at]
    young[at] |= ~empty & (observed[at] > now - progress.settled_time[at])
    # The commit window of a late row with an outage in it shows no usual pace.
    outage = (progress.outage_end > pace.span.start_time) & (age > 2 * limits.tick)
    # Commits that are not known yet may have read everything.
    unheard = unread & ((now - measured.known_until > patience) | outage)
    return young | measured.tail.pending | progress.paused | unheard
