"""The window: all columns that the rules read, one row per (group, topic, partition).

A window joins the commits of a group (its run and its slots), the ends of the partition with their history, and the
state of the group. Each derived column has a function of its own in one of the modules of this package; `build` calls
them in the order in which they depend on each other. Nothing here changes the history: the evaluator records a tick
first (`PartitionHistory.record`).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.health.features import retention_loss
from stream.health.features.commit_interval import slots_of_rows
from stream.health.features.excused import excused_rows, latest_outage_end
from stream.health.features.idle_time import idle_times, idle_times_without_commit, restarting_rows, written_since
from stream.health.features.lag_trend import trend_of_rows
from stream.health.features.measurements import Measurements, measure
from stream.health.features.memory.subscriptions import left_rows
from stream.health.features.open_transaction import (
    MOST_MARKERS,
    rows_before_new_transaction,
    rows_before_transaction,
    rows_of_hanging_transactions,
)
from stream.health.features.partition_history import PartitionHistory
from stream.health.features.patience import Patience, learn_patience, suspect_rows, transaction_patience
from stream.health.features.stuck import (
    overdue_rows,
    paused_rows,
    proven_stuck_rows,
    readable_rows,
    stuck_rows,
    unowned_rows,
)
from stream.health.features.time_lag import produce_and_consume_rates, rising_span
from stream.health.features.undecided import (
    observed_since,
    outage_rows,
    undecided_rows,
    unheard_rows,
    young_rows,
    young_uncommitted_rows,
)
from stream.health.inputs import GroupStage

if TYPE_CHECKING:
    from stream.health.columns import Codes, Flags, Ints
    from stream.health.features.control_records import TailState
    from stream.health.features.lag import OffsetDistances
    from stream.health.features.memory.columns import Memory
    from stream.health.features.partition_history import Observation
    from stream.health.features.time_lag import Rates, RisingSpan, TimeLag
    from stream.health.inputs import HealthInputs
    from stream.health.limits import HealthLimits

_LONG_AGO: Final = 1 << 50


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """One element per row; times and durations in ms. -1: not known, or none."""

    inputs: HealthInputs
    limits: HealthLimits
    known_until: Ints
    """All commits of the row up to this time are known: silence is measured up to here, not up to `now`."""
    known: Flags
    """The lag is known."""
    out_of_range: Codes
    """Why the commit does not fit the log, a code of `stream.health.features.offset_out_of_range.NAMES`."""
    lag: Ints
    """Uncommitted offsets without those that are known to hold no data; 0 where not known."""
    unread: Flags
    """Something is unread: the lag, without the last record of groups that commit the last offset they have read."""
    memory: Memory
    """What the group did at earlier ticks."""
    tail: TailState
    stuck_unproven: Flags
    """Stuck if any of the unread offsets holds a record, which cannot be proven (`TailState.unproven`)."""
    ends: OffsetDistances
    time_lag: TimeLag
    rates: Rates
    trend: Codes
    """Of the lag left after each commit, a code of `stream.health.features.lag_trend`."""
    idle_time: Ints
    """Time for which something has been unread without progress, as far as is known; 0 where nothing is unread."""
    patience: Ints
    """Time that a record may usually wait, learned from the commits of the group."""
    longest_pause: Ints
    """Time that the row may be idle before that is a fault: its patience, but at least `HealthLimits.pause`."""
    stuck: Flags
    """Idle for longer than its longest pause although the group has settled and a member can read the partition."""
    paused: Flags
    """Idle for longer than its patience but not stuck. The rates of the row do not show how the group reads."""
    excused: Flags
    """The group could not commit, or its partition could not be read, until recently."""
    undecided: Flags
    """Cannot be evaluated yet: the history is too short to know how long the record has waited, the tail has not been
    read, or the group has just lost its members or rebalances. The previous verdict stands until then."""
    before_transaction: Flags
    """At the first offset of an open transaction: a consumer of committed records has read all that it can read."""
    stable_since: Ints
    """Since when the last stable offset has not moved; -1 where no transaction is open."""
    loss_in: Ints
    """Time until retention reaches the group's next record; -1: never, or not known."""
    losing: Flags
    """`loss_in` is within the limit for a verdict."""
    stage: Codes
    settled_time: Ints
    """Time for which the group has been in its stage; `1 << 50` if that is not known."""
    members: Ints

    @property
    def now(self) -> int:
        """When the ends had been read."""
        return self.inputs.now

    @property
    def committed_offset(self) -> Ints:
        """`Spans.last_offset`."""
        return self.inputs.spans.last_offset

    @property
    def commit_time(self) -> Ints:
        """`Spans.last_time`."""
        return self.inputs.spans.last_time

    @property
    def progress_time(self) -> Ints:
        """`Spans.reached_time`: when the committed offset was first reached."""
        return self.inputs.spans.reached_time

    @property
    def behind(self) -> Flags:
        """Rows whose oldest unread record is older than the patience of the group explains."""
        behind: Flags = self.unread & (self.time_lag.age - (self.now - self.known_until) > self.patience)
        return behind

    @property
    def habit_unknown(self) -> Flags:
        """Rows of groups that look like a batch whose pauses are not known yet."""
        unknown: Flags = self.memory.schedule_unknown_until > self.now
        return unknown

    @property
    def left(self) -> Flags:
        """Rows of groups without members that had left the topic before."""
        return left_rows(self.memory, self.inputs, self.limits.restart_grace)

    @property
    def silence(self) -> Ints:
        """Time since the last commit of each row, as far as commits are known."""
        silence: Ints = np.maximum(self.known_until - self.commit_time, 0)
        return silence

    def row_silence(self, row: int) -> int:
        """Return the silence of one row without computing the column: sentences are made row by row."""
        return max(int(self.known_until[row] - self.commit_time[row]), 0)

    @property
    def has_members(self) -> Flags:
        """Rows of groups that have members, as far as is known."""
        has_members: Flags = (self.members > 0) | (self.stage == GroupStage.STABLE)
        return has_members

    def trim(self) -> Window:
        """Return the window without the inputs that only the evaluation needs."""
        return dataclasses.replace(self, inputs=self.inputs.trim())

    def __len__(self) -> int:
        return len(self.lag)


def build(inputs: HealthInputs, observation: Observation, history: PartitionHistory, limits: HealthLimits) -> Window:
    """Return the window of one tick; `observation` is what `history` returned when it recorded these inputs."""
    measured = measure(inputs, observation, history, limits.tick)
    pace = _pace(inputs, observation, measured, history, limits)
    progress = _progress(inputs, observation, measured, history, pace.patience, limits)
    loss_in, losing = retention_loss.forecast(
        inputs,
        history.log_start,
        measured.history_row,
        measured.ends,
        measured.time_lag,
        pace.rates,
        pace.trend,
        observation.memory.deletes_own,
        limits,
    )
    return Window(
        inputs=inputs,
        limits=limits,
        known_until=measured.known_until,
        known=measured.known,
        out_of_range=measured.out_of_range,
        lag=measured.lag,
        unread=measured.unread,
        memory=observation.memory,
        tail=measured.tail,
        stuck_unproven=progress.stuck & measured.tail.unproven,
        ends=measured.ends,
        time_lag=measured.time_lag,
        rates=pace.rates,
        trend=pace.trend,
        idle_time=progress.idle_time,
        patience=pace.patience.time,
        longest_pause=pace.patience.longest_pause,
        stuck=proven_stuck_rows(progress.stuck, measured.tail),
        paused=progress.paused,
        excused=progress.excused,
        undecided=_undecided(inputs, measured, history, pace, progress, limits),
        before_transaction=progress.before_transaction,
        stable_since=progress.stable_since,
        loss_in=loss_in,
        losing=losing & measured.unread,
        stage=inputs.groups.stage[inputs.group],
        members=inputs.groups.members[inputs.group],
        settled_time=progress.settled_time,
    )


def build_without_history(inputs: HealthInputs, limits: HealthLimits) -> Window:
    """Return the window of one tick without any earlier tick."""
    history = PartitionHistory(tick=limits.tick)
    return build(inputs, history.record(inputs, limits.first_commit_grace), history, limits)


@dataclasses.dataclass(frozen=True, slots=True)
class _Pace:
    """The rates of each row, and what its commits show about the group."""

    span: RisingSpan
    rates: Rates
    patience: Patience
    trend: Codes


def _pace(
    inputs: HealthInputs,
    observation: Observation,
    measured: Measurements,
    history: PartitionHistory,
    limits: HealthLimits,
) -> _Pace:
    past, row, lag, end = history.high_watermark, measured.history_row, measured.lag, measured.ends.high_watermark
    span = rising_span(inputs.slots, measured.known_until, inputs.now)
    rates = produce_and_consume_rates(span, inputs.spans.last_offset, lag, past, row, end=end, now=inputs.now)
    suspects = suspect_rows(measured.unread, measured.time_lag.age, limits.tick)
    slots = slots_of_rows(inputs.slots, suspects, len(inputs))  # once: selecting them is a tenth of a tick
    patience = learn_patience(inputs, past, limits, row, suspects, slots, observation.memory.longest_pause)
    trend = trend_of_rows(slots, suspects, past, row, lag=lag, end=end, window_start=span.start_time)
    return _Pace(span, rates, patience, trend)


@dataclasses.dataclass(frozen=True, slots=True)
class _Progress:
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


def _progress(  # noqa: PLR0917 - the stages of one pipeline
    inputs: HealthInputs,
    observation: Observation,
    measured: Measurements,
    history: PartitionHistory,
    patience: Patience,
    limits: HealthLimits,
) -> _Progress:
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
    return _Progress(
        uncommitted, settled_time, idle, outage_end, excused, before_transaction, stable_since, stuck, paused
    )


def _undecided(  # noqa: PLR0917 - the stages of one pipeline
    inputs: HealthInputs,
    measured: Measurements,
    history: PartitionHistory,
    pace: _Pace,
    progress: _Progress,
    limits: HealthLimits,
) -> Flags:
    now, unread, patience, age = inputs.now, measured.unread, pace.patience.time, measured.time_lag.age
    observed = observed_since(history.high_watermark, measured.history_row, now)
    needed_since = np.minimum(pace.span.start_time, now - patience)
    young = young_rows(unread, measured.time_lag, pace.trend, patience, needed_since, observed)
    empty = measured.ends.high_watermark <= measured.ends.log_start
    formed_since = now - progress.settled_time
    young |= young_uncommitted_rows(progress.uncommitted, empty, progress.stuck, formed_since, observed)
    outage = outage_rows(progress.outage_end, pace.span.start_time, age, limits.tick)
    unheard = unheard_rows(unread, measured.known_until, patience, outage, now)
    return undecided_rows(young, measured.tail.pending, progress.paused, unheard)
