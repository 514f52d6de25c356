"""What the rules see: one window per (group, topic, partition), all of them side by side as columns.

A window joins what the group did (its run and its slots), where the partition stands (its ends and their history) and
where the group stands (its stage and members), and holds what all rules share: how long a record has been waiting
without anything happening, and how much waiting this group's own habits excuse.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from stream.health.columns import max_by_owner
from stream.health.features import commit_interval as cadence
from stream.health.features import control_records as tails
from stream.health.features import lag as lags
from stream.health.features import lag_trend as trends
from stream.health.features import offset_out_of_range as beyond
from stream.health.features import retention_loss as loss
from stream.health.features import time_lag as timelag
from stream.health.inputs import NO_COMMIT, NO_OWNER, NOT_KNOWN, GroupStage

if TYPE_CHECKING:
    from stream.health.columns import Codes, Flags, Ints
    from stream.health.features.control_records import TailState
    from stream.health.features.lag import OffsetDistances
    from stream.health.features.partition_history import PartitionHistory
    from stream.health.features.time_lag import Rates, TimeLag
    from stream.health.inputs import HealthInputs
    from stream.health.limits import HealthLimits


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """One element per row; moments and durations in ms. -1: not known, or none."""

    inputs: HealthInputs
    limits: HealthLimits
    now: int
    known_until: Ints
    """Until when all commits of the row are known (ms): a silence is measured up to then, not to the present."""
    committed_offset: Ints
    commit_time: Ints
    progress_time: Ints
    """When the committed offset was first reached."""
    known: Flags
    """The lag is known."""
    out_of_range: Codes
    """What happened to the partition, a code of `stream.health.features.offset_out_of_range.NAMES`."""
    lag: Ints
    """Unread offsets, without what is known to be no data; 0 where not known."""
    tail: TailState
    stuck_unproven: Flags
    """Stuck if any of what seems to be unread is a record, which cannot be proven (`TailState.unproven`)."""
    ends: OffsetDistances
    time_lag: TimeLag
    rates: Rates
    trend: Codes
    """Of the lag left after each commit, a code of `stream.health.features.lag_trend`."""
    idle_time: Ints
    """How long something has been unread without any progress, as far as is known; 0 where nothing is unread."""
    patience: Ints
    """How long this group may be idle by its own cadence."""
    stuck: Flags
    """Idle for longer than that, though its group is settled and there is somebody to read."""
    paused: Flags
    """As idle, and yet not stuck: it could not read, or may have been kept from it. Its pace says nothing."""
    excused: Flags
    """The group could not commit or its partition could not be read until a moment ago: whatever has not happened."""
    undecided: Flags
    """Cannot be judged yet: the history is too young to tell how long the record has waited, its tail is unread, or the
    group has just lost its members or rebalances. What was said of it before stands until this is over."""
    before_transaction: Flags
    """Stands where a transaction begins that is open: a consumer of committed records has read all that it can."""
    stable_since: Ints
    loss_in: Ints
    """How long until retention reaches the group's next record, as things go; -1: never, or not known."""
    losing: Flags
    """... and this is near."""
    stage: Codes
    settled_time: Ints
    """How long the group is in its stage; a very long time if that is not known."""
    members: Ints

    @property
    def unread(self) -> Flags:
        """Something is unread."""
        unread: Flags = self.lag > 0
        return unread

    @property
    def behind(self) -> Flags:
        """The oldest unread record is older than the group's cadence explains."""
        behind: Flags = self.unread & (self.time_lag.age - (self.now - self.known_until) > self.patience)
        return behind

    @property
    def silence(self) -> Ints:
        """How long there has been no commit, as far as is known."""
        silent: Ints = np.maximum(self.known_until - self.commit_time, 0)
        return silent

    def row_silence(self, row: int) -> int:
        """Give the same of one row, without looking at the others: words are made of row after row."""
        return max(int(self.known_until[row] - self.commit_time[row]), 0)

    @property
    def has_members(self) -> Flags:
        """There are members, as far as one can know."""
        manned: Flags = (self.members > 0) | (self.stage == GroupStage.STABLE)
        return manned

    def trim(self) -> Window:
        """Give what is still looked at after the judgement."""
        return dataclasses.replace(self, inputs=self.inputs.trim())

    def __len__(self) -> int:
        return len(self.lag)


_LONG_AGO = 1 << 50
_MARKERS = 3
"""Clients commit "last record + 1": between that and an open transaction stand the markers of those that ended before.
One per producer that ended there; more side by side are rare."""


def build(seen: HealthInputs, memory: PartitionHistory, limits: HealthLimits) -> Window:
    """Look at one moment; the memory learns of it first."""
    of_ends = memory.observe(seen)
    places = lags.place(seen.topic, seen.partition)
    committed = seen.spans.last_offset
    found = lags.lag(committed, places, seen.ends) if seen.lag is None else seen.lag
    row = np.where(found.row >= 0, of_ends[found.row], -1) if len(of_ends) else found.row
    broken = beyond.classify(committed, found, seen.ends, seen.origins)
    broken = beyond.mark_truncated(broken, memory.is_truncated(row, seen.now), seen.origins)
    known = found.known & ~beyond.is_unknown(broken)
    ends = beyond.clear_foreign_distances(lags.distances(committed, found, seen.ends), broken)
    ends = tails.remove_markers_from_lost(ends, committed, places, seen.tails)
    next_offset = _next_offsets(seen, memory, row, known, ends.log_start)
    lag = np.where(known, np.maximum(ends.high_watermark - next_offset, 0), 0)
    unread = tails.remove_markers(
        lag, known, places, next_offset=next_offset, end=ends.high_watermark, tails=seen.tails
    )
    still = memory.high_watermark.end_at(np.maximum(row, 0), np.full(len(row), seen.now - limits.tick))
    # Where a group without any commit would begin to read is not known anyway.
    judged, at_rest = known & (committed != NO_COMMIT), (row >= 0) & (still == ends.high_watermark)
    tail = tails.tail_state(unread, judged, at_rest, next_offset, places, ends, seen.tails)
    time_lag = timelag.time_lag(memory.high_watermark, row, tail.first_unread, unread.lag > 0, known, seen.now)
    return _judged(
        seen,
        memory,
        limits,
        _Measured(row, known, broken, unread.lag, next_offset, tail, ends, time_lag),
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Measured:
    row: Ints
    known: Flags
    broken: Codes
    lag: Ints
    next_offset: Ints
    tail: TailState
    ends: OffsetDistances
    time_lag: TimeLag


def _next_offsets(seen: HealthInputs, memory: PartitionHistory, row: Ints, known: Flags, log_start: Ints) -> Ints:
    """Give the first offset each group has not read; without any commit, the end as it was when the group formed."""
    committed = seen.spans.last_offset
    next_offset = np.maximum(committed, log_start)
    fresh = np.flatnonzero((committed == NO_COMMIT) & known & (row >= 0))
    if len(fresh):
        formed = np.maximum(seen.groups.since[seen.group[fresh]], memory.high_watermark.oldest_time(row[fresh]))
        next_offset[fresh] = np.maximum(memory.high_watermark.end_at(row[fresh], formed), log_start[fresh])
    return next_offset


def _judged(seen: HealthInputs, memory: PartitionHistory, limits: HealthLimits, at: _Measured) -> Window:
    """Add what follows from the measurements: idleness, patience, trend, loss."""
    now, spans = seen.now, seen.spans
    stretch = timelag.rising_span(seen.slots, len(seen), now)
    rates = timelag.rates(
        stretch, spans.last_offset, at.lag, memory.high_watermark, at.row, end=at.ends.high_watermark, now=now
    )
    unread = at.lag > 0
    readable = memory.readable_since(at.row, at.next_offset + _MARKERS)
    waiting_since = np.maximum(np.maximum(at.time_lag.since, spans.reached_time), readable)
    heard = np.full(len(seen), now, np.int64) if seen.read_until is None else np.minimum(seen.read_until, now)
    idle = np.where(unread & (at.time_lag.since >= 0), np.maximum(heard - waiting_since, 0), 0)
    reread = _count_from_the_first(idle, seen, memory, limits, at, heard)
    suspects = np.flatnonzero(unread & (at.time_lag.age > 2 * limits.tick))
    patience, unlearned = _patience(seen, memory, limits, at.row, suspects)
    trend = _trend(seen, memory, at, suspects, stretch)
    stage = seen.groups.stage[seen.group]
    since = memory.settled_since(seen)
    settled = np.where(since >= 0, now - since, _LONG_AGO)[seen.group]
    able = (stage != GroupStage.EMPTY) & (stage != GroupStage.REBALANCING) & ~_nobodys(seen)
    back = memory.answered_since(at.row)
    back = back if seen.answered_since is None else np.maximum(back, seen.answered_since)
    grace = np.maximum(patience, limits.restart)
    excused = _excused(back, since[seen.group], heard, grace, limits.rebalance)
    before_transaction, opened = _before_transaction(at), memory.stable_since(at.row)
    waits = np.where(
        before_transaction, _until_held_back(patience, unlearned, memory.stood_still(at.row), limits), patience
    )
    stuck = unread & able & ~excused & (idle > waits) & (settled > np.minimum(waits, limits.restart))
    stuck &= ~reread
    # Until the transaction has been open for as long, it may be any other that ends in time.
    stuck &= ~before_transaction | ((opened >= 0) & (now - opened >= waits))
    start = (
        memory.high_watermark.oldest_time(np.maximum(at.row, 0))
        if len(memory.high_watermark)
        else np.full(len(seen), now)
    )
    uncovered = start > np.minimum(stretch.start_time, now - patience)
    young = unread & uncovered & (~at.time_lag.exact | ((at.time_lag.age > patience) & (trend == trends.TOO_SHORT)))
    has_records = at.ends.high_watermark > at.ends.log_start  # of an empty partition nothing is unread
    young |= (spans.last_offset == NO_COMMIT) & at.known & has_records & ~stuck & (start > now - settled)
    paused = unread & (idle > patience) & ~stuck
    # Fine it may be only as far as it has been heard of; nor does a window tell a pace that has an outage in it.
    outage = (back > stretch.start_time) & (at.time_lag.age > 2 * limits.tick)
    unheard = unread & ((now - heard > patience) | outage)
    loss_in, losing = loss.forecast(seen, memory.log_start, at.row, at.ends, at.time_lag, rates, trend, limits)
    return Window(
        inputs=seen,
        limits=limits,
        now=now,
        known_until=heard,
        committed_offset=spans.last_offset,
        commit_time=spans.last_time,
        progress_time=spans.reached_time,
        known=at.known,
        out_of_range=at.broken,
        lag=at.lag,
        tail=at.tail,
        stuck_unproven=stuck & at.tail.unproven,
        ends=at.ends,
        time_lag=at.time_lag,
        rates=rates,
        trend=trend,
        idle_time=idle,
        patience=patience,
        stuck=stuck & ~at.tail.pending & ~at.tail.unproven,
        paused=paused,
        excused=excused,
        undecided=young | at.tail.pending | paused | unheard,
        before_transaction=before_transaction,
        stable_since=opened,
        loss_in=loss_in,
        losing=losing & unread,
        stage=stage,
        settled_time=settled,
        members=seen.groups.members[seen.group],
    )


def _count_from_the_first(  # noqa: PLR0917 - what a window is built from
    idle: Ints, seen: HealthInputs, memory: PartitionHistory, limits: HealthLimits, at: _Measured, heard: Ints
) -> Flags:
    """Let what was never committed be idle since records came to it, and not since the last rebalance.

    Tells which rows may be read all the same: their records have not waited for longer, since then, than a process may
    take to come back.
    """
    fresh = np.flatnonzero((seen.spans.last_offset == NO_COMMIT) & at.known & (at.row >= 0))
    since = memory.uncommitted_since(seen, fresh, limits.first_commit)
    reread = np.zeros(len(seen), np.bool_)
    reread[fresh] = idle[fresh] <= limits.restart
    waits = idle[fresh] > 0
    rows, row, since = fresh[waits], at.row[fresh[waits]], since[waits]
    if len(rows):
        begin = memory.high_watermark.end_at(row, np.maximum(since, memory.high_watermark.oldest_time(row)))
        first, _ = memory.high_watermark.time_of(row, np.maximum(begin, 0))
        idle[rows] = np.maximum(idle[rows], heard[rows] - np.maximum(first, since))
    return reread


def _excused(back: Ints, settled: Ints, heard: Ints, grace: Ints, rebalance: int) -> Flags:
    """Tell who has just got `back` a coordinator or a leader (-1: never was without): clients need a while to see that.

    They often come back by a rebalance, which waits for the sessions of those that were lost: then it counts from when
    they `settled`.
    """
    again = np.where((settled >= back) & (settled - back <= rebalance + grace), settled, back)
    excused: Flags = (back >= 0) & (heard - again <= grace)
    return excused


def _before_transaction(at: _Measured) -> Flags:
    """Return the rows whose next record may be in an open transaction, or behind its first one.

    A row without a commit is one of them if nothing that came since its group formed is stable yet.
    """
    ends = at.ends
    open_ = (ends.last_stable >= 0) & (ends.last_stable < ends.high_watermark)
    # Whoever has committed more than that does not wait for the transaction.
    committed = (ends.stable_lag >= 0) & (ends.stable_lag <= _MARKERS) & (at.next_offset <= ends.last_stable)
    fresh = at.known & (ends.stable_lag < 0) & (ends.last_stable <= at.next_offset)
    before: Flags = open_ & (committed | fresh)
    return before


def _until_held_back(patience: Ints, unlearned: Flags, stood: Ints, limits: HealthLimits) -> Ints:
    """Return for how long a group may wait for a transaction to end until that is called a fault.

    How long transactions take is the producer's habit: it is taken from the transactions before this one, which `stood`
    open for so long. Only as long as nothing is known of the group's own habit, a default stands in for it.
    """
    usual = np.where(unlearned, np.minimum(patience, 2 * limits.transaction + limits.tick), patience)
    return np.maximum(usual, np.minimum(2 * stood + limits.tick, limits.unlearned))


def _nobodys(seen: HealthInputs) -> Flags:
    """Tell which partitions are surely nobody's to read: no member owns them, or none subscribes to the topic."""
    nobodys = np.zeros(len(seen), np.bool_)
    if seen.owner is not None:
        nobodys |= seen.owner == NO_OWNER
    if seen.subscribed is not None:
        nobodys |= (seen.subscribed == 0) & (seen.groups.members[seen.group] > 0)
    return nobodys


def _patience(
    seen: HealthInputs, memory: PartitionHistory, limits: HealthLimits, row: Ints, suspects: Ints
) -> tuple[Ints, Flags]:
    """Learn how long each suspect may be idle: twice its longest wait, and a tick to look again.

    All others are within two ticks of the end, and nothing shorter than that is ever judged. One that has not moved
    since its first commit has no wait of its own: it may be idle as long as the slowest of its siblings that move, for
    the same members read them.
    """
    patience = np.full(len(seen), 2 * limits.tick, np.int64)
    mine = cadence.slots_of_rows(seen.slots, suspects, len(seen))
    wait = cadence.longest_wait(mine, len(suspects), memory.high_watermark, row[suspects], limits.slot)
    guess = cadence.mean_interval(seen.spans)[suspects]
    wait = np.where(wait == NOT_KNOWN, guess, wait)
    learned = np.maximum(2 * wait + limits.tick, 2 * limits.tick)
    patience[suspects] = np.where(wait == NOT_KNOWN, NOT_KNOWN, learned)
    unlearned = np.zeros(len(seen), np.bool_)
    unlearned[suspects] = (wait == NOT_KNOWN) & (seen.spans.last_offset[suspects] != NO_COMMIT)
    strangers = suspects[wait == NOT_KNOWN]
    if len(strangers):
        patience[strangers] = _of_siblings(seen, patience, limits)[strangers]
    learned = np.where(seen.spans.last_offset[suspects] == NO_COMMIT, limits.first_commit, patience[suspects])
    static = seen.groups.static[seen.group[suspects]]
    patience[suspects] = np.where(static, np.maximum(learned, limits.static_restart), learned)
    return patience, unlearned


def _of_siblings(seen: HealthInputs, patience: Ints, limits: HealthLimits) -> Ints:
    """Give each row the longest patience among the partitions of its topic that its group moves on, where it is known.

    At least as much as a process may take to come back, at most what is granted to a group of which nothing is known.
    """
    moves = (seen.spans.reached_time > seen.spans.first_time) & (patience != NOT_KNOWN)
    pair = np.cumsum((np.diff(seen.group, prepend=-1) != 0) | (np.diff(seen.topic, prepend=-1) != 0)) - 1
    longest = max_by_owner(patience[moves], pair[moves], int(pair[-1]) + 1 if len(pair) else 0, NOT_KNOWN)[pair]
    return np.where(longest == NOT_KNOWN, limits.unlearned, np.clip(longest, limits.restart, limits.unlearned))


def _trend(
    seen: HealthInputs, memory: PartitionHistory, at: _Measured, suspects: Ints, stretch: timelag.RisingSpan
) -> Codes:
    code = np.full(len(seen), trends.TOO_SHORT, np.int8)
    if not len(suspects):
        return code
    mine = cadence.slots_of_rows(seen.slots, suspects, len(seen))
    row = at.row[suspects]
    begin = memory.high_watermark.end_at(np.maximum(row, 0), stretch.start_time[suspects])
    written = np.where(begin >= 0, at.ends.high_watermark[suspects] - begin, 0)
    code[suspects] = trends.classify_trend(mine, len(suspects), memory.high_watermark, row, at.lag[suspects], written)
    return code
