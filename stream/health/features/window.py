"""The window: all columns that the rules read, one row per (group, topic, partition).

*Theory of operation.* A tick has been recorded (`PartitionHistory.record`); nothing here changes the history. The
columns follow from it in stages, each a value with columns that are complete when it is made:

| Stage | Says of each row | From |
|---|---|---|
| `Observation` (`partition_history`) | lag, row of the history, memory of earlier ticks | the inputs |
| `Measurements` (`progress`) | what is unread, since when, and whether that is known | commits, ends, tails |
| `Pace` (`progress`) | rates, trend, and how long a record may wait | the commit window, the history |
| `Progress` (`progress`) | for how long nothing moved, and what excuses that | pace, transactions, outages |
| `Window` | all of it, undecided rows, and losses to come | the stages |

Unknown is -1 in numbers and false in flags, and a rule that needs it does not match. What cannot be decided yet is
`undecided`: the verdict that is shown stays.

When retention will reach the first record that a group has not read: a forecast from the log start and from ages.

There are two estimates; the earlier one counts. The log start moves by whole segments. Once it has moved in both halves
of its history it has a rate, and a group that reads more slowly is overtaken after margin / difference. It has no rate
if it follows the commits of the group itself (`memory.idle_pauses`). And where the retention time is known,
the oldest unread record may be removed when it reaches that age.
"""

from __future__ import annotations

import dataclasses
from typing import Final, cast

import numpy as np

from stream.health.columns import Codes, Flags, Ints, Reals, once_each
from stream.health.features import lag_trend as trends
from stream.health.features.control_records import TailState
from stream.health.features.end_history import EndHistory
from stream.health.features.lag import OffsetDistances
from stream.health.features.memory.columns import Memory, left_rows
from stream.health.features.partition_history import Observation, PartitionHistory
from stream.health.features.progress import RecordedTick, measure, measure_pace, measure_progress, undecided
from stream.health.features.time_lag import Rates, TimeLag
from stream.health.inputs import GroupStage, HealthInputs
from stream.health.limits import HealthLimits
from stream.health.packed_columns import PackedTable

NEVER: Final = -1
_SHARE_OF_RETENTION: Final = 4
"""By age a loss is near when less than a quarter of the retention time is left."""


def forecast(  # noqa: PLR0917 - columns of one table
    inputs: HealthInputs,
    log_start: EndHistory,
    rows: Ints,
    ends: OffsetDistances,
    age: TimeLag,
    rates: Rates,
    trend: Codes,
    deletes_own: Flags,
    limits: HealthLimits,
) -> tuple[Ints, Flags]:
    """Return the time (ms) until retention removes the next record of each row, and the rows where that is near.

    `NEVER`: no forecast is possible, or the lag falls. No loss is near that is further away than `limits.loss_notice`
    or than the length of the history behind the forecast. `rows` are the rows in the history of log starts, -1: none.
    """
    loss_in = np.full(len(rows), NEVER, np.int64)
    near = np.zeros(len(rows), np.bool_)
    at_risk = np.flatnonzero((rows >= 0) & (age.age > 2 * limits.tick) & (trend != trends.FALLS) & (ends.margin >= 0))
    if not len(at_risk):
        return loss_in, near
    rate, span = once_each(rows[at_risk], len(log_start), lambda rows: _log_start_rate(log_start, rows, inputs.now))
    rate = np.where(deletes_own[at_risk], 0.0, rate)
    may_lose = rate > 0 if inputs.retention is None else (rate > 0) | (inputs.retention[at_risk] > 0)
    at_risk, rate, span = at_risk[may_lose], rate[may_lose], span[may_lose]
    slower = rate - np.nan_to_num(rates.consume[at_risk])
    left = np.where(slower > 0, ends.margin[at_risk] / np.where(slower > 0, slower, 1.0) * 1_000, np.inf)
    close = left < np.minimum(limits.loss_notice, span)
    if inputs.retention is not None:
        retention = inputs.retention[at_risk]
        by_age = np.where(retention > 0, np.maximum(retention - age.age[at_risk], 0), np.inf)
        close |= by_age < np.minimum(limits.loss_notice, retention / _SHARE_OF_RETENTION)
        left = np.minimum(left, by_age)
    finite = np.isfinite(left)
    loss_in[at_risk[finite]] = np.minimum(left[finite], 1e15).astype(np.int64)
    near[at_risk] = close
    return loss_in, near


def _log_start_rate(log_start: EndHistory, rows: Ints, now: int) -> tuple[Reals, Ints]:
    """Return the rate of each log start (offsets per second; 0: not known yet) and its measuring time (ms)."""
    first_time, first = log_start.oldest_time(rows), log_start.oldest_end(rows)
    span = now - first_time
    middle = log_start.end_at(rows, first_time + span // 2)
    last = log_start.end_at(rows, np.full(len(rows), now))
    moved = (first >= 0) & (middle > first) & (last > middle) & (span > 0)
    rate: Reals = np.where(moved, (last - first) * 1_000.0 / np.maximum(span, 1), 0.0)
    return rate, span


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
    behind: Flags
    """The oldest unread record is older than the patience of the group explains. Only the rules need it."""
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
    def habit_unknown(self) -> Flags:
        """Rows of groups that look like a batch whose pauses are not known yet."""
        return self.memory.schedule_unknown_until[:] > self.now

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

    def trim(self, memory: PackedTable[Memory]) -> Window:
        """Return the window without the inputs that only the evaluation needs, and with the memory as it is kept.

        The packed columns of the memory can only be indexed, by rows.
        """
        none = np.broadcast_to(np.False_, self.behind.shape)
        return dataclasses.replace(self, inputs=self.inputs.trim(), memory=cast("Memory", memory), behind=none)

    def __len__(self) -> int:
        return len(self.lag)


def build(inputs: HealthInputs, observation: Observation, history: PartitionHistory, limits: HealthLimits) -> Window:
    """Return the window of one tick; `observation` is what `history` returned when it recorded these inputs."""
    tick = RecordedTick(inputs, observation, history, limits)
    measured = measure(tick)
    pace = measure_pace(tick, measured)
    progress = measure_progress(tick, measured, pace)
    loss_in, losing = forecast(
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
        behind=measured.unread & (measured.time_lag.age > pace.patience.time + (inputs.now - measured.known_until)),
        patience=pace.patience.time,
        longest_pause=pace.patience.longest_pause,
        stuck=progress.stuck & ~measured.tail.pending & ~measured.tail.unproven,
        paused=progress.paused,
        excused=progress.excused,
        undecided=undecided(tick, measured, pace, progress),
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
