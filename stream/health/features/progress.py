"""How fast the group of each row reads, for how long a row has made no progress, and whether that can be decided."""

import dataclasses
from typing import Final

import numpy as np

from stream.health.columns import Codes, Flags, Ints
from stream.health.features.commit_interval import slots_of_rows
from stream.health.features.idle_time import idle_times, idle_times_without_commit, restarting_rows, written_since
from stream.health.features.lag_trend import trend_of_rows
from stream.health.features.measurements import Measurements, RecordedTick
from stream.health.features.open_transaction import (
    MOST_MARKERS,
    rows_before_new_transaction,
    rows_before_transaction,
    rows_of_hanging_transactions,
)
from stream.health.features.patience import Patience, learn_patience, suspect_rows, transaction_patience
from stream.health.features.stuck import overdue_rows, paused_rows, readable_rows, stuck_rows, unowned_rows
from stream.health.features.time_lag import Rates, RisingSpan, produce_and_consume_rates, rising_span
from stream.health.features.undecided import (
    excused_rows,
    latest_outage_end,
    observed_since,
    outage_rows,
    undecided_rows,
    unheard_rows,
    young_rows,
    young_uncommitted_rows,
)

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
    suspects = suspect_rows(measured.unread, measured.time_lag.age, tick.limits.tick)
    slots = slots_of_rows(inputs.slots, suspects, len(inputs))  # once: selecting them is a tenth of a tick
    patience = learn_patience(inputs, past, tick.limits, row, suspects, slots, tick.observation.memory.longest_pause)
    trend = trend_of_rows(slots, suspects, past, row, lag=lag, end=end, window_start=span.start_time)
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

    outage_end = latest_outage_end(history.states.answered_since(row), inputs.answered_since)
    grace = np.maximum(patience.time, limits.restart_grace)
    excused = excused_rows(outage_end, settled_since[inputs.group], known_until, grace, limits.rebalance_limit)

    before_transaction = rows_before_transaction(measured.ends, measured.next_offset, measured.known)
    stable_since = history.states.stable_since(row)
    until_transaction_ends = transaction_patience(patience, history.states.stood_still(row), limits)
    allowed = np.where(before_transaction, until_transaction_ends, patience.longest_pause)
    is_endless = before_transaction & ~uncommitted & rows_of_hanging_transactions(inputs)
    allowed[is_endless] = np.minimum(allowed[is_endless], 2 * limits.tick)

    stuck = stuck_rows(
        unread,
        readable_rows(inputs.groups.stage[inputs.group], unowned_rows(inputs), excused),
        overdue_rows(idle, settled_time, allowed, limits.restart_grace),
        restarting,
        rows_before_new_transaction(before_transaction, stable_since, allowed, inputs.now),
    )
    paused = paused_rows(unread, idle, patience.time, stuck)
    return Progress(
        uncommitted, settled_time, idle, outage_end, excused, before_transaction, stable_since, stuck, paused
    )


def undecided(tick: RecordedTick, measured: Measurements, pace: Pace, progress: Progress) -> Flags:
    """Return the rows that cannot be evaluated yet, see `Window.undecided`."""
    inputs, limits = tick.inputs, tick.limits
    now, unread, patience, age = inputs.now, measured.unread, pace.patience.time, measured.time_lag.age
    observed = observed_since(tick.history.high_watermark, measured.history_row, now)
    needed_since = np.minimum(pace.span.start_time, now - patience)
    young = young_rows(unread, measured.time_lag, pace.trend, patience, needed_since, observed)
    empty = measured.ends.high_watermark <= measured.ends.log_start
    formed_since = now - progress.settled_time
    young |= young_uncommitted_rows(progress.uncommitted, empty, progress.stuck, formed_since, observed)
    outage = outage_rows(progress.outage_end, pace.span.start_time, age, limits.tick)
    unheard = unheard_rows(unread, measured.known_until, patience, outage, now)
    return undecided_rows(young, measured.tail.pending, progress.paused, unheard)
