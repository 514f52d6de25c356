"""The table of what is remembered of each row: all columns, their meaning, and the names under which they are stored.

The first word of a stored name is the observation that the column belongs to; each has a function that returns its
columns after a tick. The stored names are older than the names of the fields, and stay as they are.

Subscriptions that differ: of the members of a group among each other, and of its last members from its commits.

During a rolling deploy the members of a group may subscribe to different topics. A topic that the members did not
subscribe to when the group last had members is one that the group has left.

Offsets that go back and forth: two clients commit the same partition, or one client reads records repeatedly.

If two clients commit alternately, each commit of the one behind goes back, and both positions advance: each *swing*
begins and ends at greater offsets than the previous one. A client that repeatedly seeks back by the same distance shows
the same pattern, so two more properties decide:

- With two clients the offset is always near one of the two positions, because the commit after a step back is that of
  the other client. With one client the offset is also seen between the two positions (a *climb*), while the client
  reads the records again.
- The positions of two clients overlap: a step back ends below the beginning of the step before it. A client that goes
  back by less than it has advanced since ends above.
"""

import dataclasses
from typing import Any, Final, TypeAlias

import numpy as np

from stream.groups.commits.runs import Spans
from stream.health.columns import NOT_KNOWN, Flags, Ints, assigned, uniform
from stream.health.inputs import GroupStage, HealthInputs
from stream.health.row_columns import RowColumns, column

Changes: TypeAlias = dict[str, Any]
"""Columns of `Memory` after a tick, by name."""


@dataclasses.dataclass(frozen=True, slots=True)
class Memory(RowColumns):
    """One element per row; -1: never, none, or not known. Times and durations in ms."""

    # Idle pauses, see `idle_pauses`.
    known_committed: Ints = column("rest_committed")
    """The committed offset at the last tick with a known lag, ..."""
    known_end: Ints = column("rest_end")
    """... the end at that tick, ..."""
    known_tick: Ints = column("rest_observed")
    """... and its time."""
    written_after: Ints = column("rest_end_after")
    """The last tick at which the end was lower: the last record was written later."""
    still_ticks: Ints = column("rest_still")
    """Ticks in a row in which neither the end nor the commit has moved."""
    idle_distance: Ints = column("rest_distance")
    """The distance from the end in the present idle pause, or in the last one while it is not judged yet."""
    ticks_since_idle: Ints = column("rest_left")
    """Ticks since new records ended that pause; 0: they have not."""
    usual_distance: Ints = column("rest_habit")
    """The distance of the last idle pauses."""
    idle_pauses: Ints = column("rest_rests")
    """The number of consecutive idle pauses at that distance that ended with progress."""
    last_read: Flags = column(None, 0, np.bool_)
    """The group commits the offset of the last record it has read."""

    # Skipped ranges, see `skipped_ranges`.
    last_committed: Ints = column("jump_committed")
    """The last committed offset, also after the broker has removed it."""
    last_commit_time: Ints = column("jump_commit_time")
    furthest: Ints = column("jump_furthest")
    """The greatest committed offset since a tool last set the group back."""
    last_end: Ints = column("jump_end")
    """The end at the last tick, and at the tick before."""
    end_before: Ints = column("jump_end_before")
    without_offset: Ints = column("jump_astray")
    """1: the group had no valid offset at the last tick: removed, or below the log start."""
    in_transaction: Ints = column("jump_held")
    """1: at the last tick the group waited for a transaction to end."""
    open_offsets: Ints = column("jump_open_offsets")
    """The number of offsets above the commit that belonged to open transactions, or lay behind them, at some tick."""
    open_to: Ints = column("jump_open_to")
    """The offset up to which they are counted."""
    backlog_ticks: Ints = column("jump_backlog_ticks")
    """The number of ticks with progress that began and ended with unread records, up to twice the needed number."""
    best_rate: Ints = column("jump_rate")
    """The best rate of the group (offsets per day)."""
    last_owner: Ints = column("jump_owner")
    """A checksum of the id of the member that owned the partition at the last commit."""
    skip_from: Ints = column("jump_jump_from")
    """The first and the last offset of the last skipped range, and the time of the commit that skipped it."""
    skip_to: Ints = column("jump_jump_to")
    skip_time: Ints = column("jump_jump_time")
    skip_planned: Ints = column("jump_planned")
    """1: it was made while the group had no members."""
    skip_written_from: Ints = column("jump_written_from")
    """When the first and the last record of the range were written."""
    skip_written_to: Ints = column("jump_written_to")

    # The last answer, see `row_memory`.
    end_known_at: Ints = column("answer_known_at")
    """When the end of the partition was last known, or when the row was first seen."""

    # Offset oscillation, see `advance_oscillation`.
    rewinds: Ints = column("turn_rewinds")
    """The number of steps back at the last tick."""
    back_from: Ints = column("turn_turn_from")
    """The first and the last offset of the last step back, and when it was committed."""
    back_to: Ints = column("turn_turn_to")
    back_time: Ints = column("turn_turn_time")
    swings: Ints = column("turn_turns")
    """The number of ticks with a step back at greater offsets than the last one, without interruption and climb."""
    swings_since: Ints = column("turn_began")
    """The time of the first of them."""
    back_interval: Ints = column("turn_interval")
    """The time between the last two ticks with a step back."""
    climbed: Ints = column("turn_climbed")
    """The last tick at which the offset was between the two positions."""
    steps_back: Ints = column("turn_steps")
    """The number of steps back, without interruption, of any kind."""
    steps_since: Ints = column("turn_first_step")
    """The time of the first of them."""

    # Split subscriptions, see `subscriptions`.
    split_since: Ints = column("split_since")
    """Since when the members of the group subscribe to different topics; -1: they do not."""

    # Removed offsets, see `row_memory`.
    removed_early: Ints = column("forgotten_removed")
    """When the broker last removed the offset before its time, while the group was alive."""
    removed: Ints = column("forgotten_gone")
    """When it was last removed in any way."""
    removed_by_expiry: Ints = column("forgotten_expired")
    """1: it expired then, 0: it was deleted before its time."""

    # The schedule of batches, see `batch_schedule`.
    first_seen: Ints = column("habit_seen")
    """The first tick of the row."""
    first_lag: Ints = column("habit_first_lag")
    """The lag at the first tick with a known lag, in offsets."""
    reached: Ints = column("habit_reached")
    """When the committed offset was first reached, as of the last tick."""
    run_began: Ints = column("habit_began")
    """When the present run began, or the last one: the first commit after a long pause with unread records."""
    batch_end: Ints = column("habit_batch")
    """The end of the last run that looks like that of a batch, a value of `reached`."""
    steady_end: Ints = column("habit_steady")
    """The end of the last run that was steady."""
    longest_pause: Ints = column("habit_longest")
    """The longest of the last similar pauses of a batch."""
    batch_pauses: Ints = column("habit_pauses")
    """The number of consecutive similar pauses."""
    schedule_unknown_until: Ints = column(None)
    """Until when the row is not judged, because it looks like a batch whose schedule is not known; -1: it is judged."""

    # Log starts that follow the commits, see `idle_pauses`.
    log_start: Ints = column("own_deletes_log_start")
    """At the last tick with a known value."""
    start_moves: Ints = column("own_deletes_moves")
    """The number of consecutive moves of the log start that followed the commits of the group."""
    deletes_own: Flags = column(None, 0, np.bool_)
    """The group deletes the records that it has read, as far as is known."""
    loss_unproven: Flags = column(None, 0, np.bool_)
    """Such a row may have a newer commit, which the log start has followed."""

    # Topics that the group has left, see `subscriptions`.
    unsubscribed_since: Ints = column("unsubscribed_since")
    """The first tick at which none of the members of the stable group subscribed to the topic, ..."""
    unsubscribed_until: Ints = column("unsubscribed_until")
    """... and the last one."""

    @classmethod
    def of_observations(cls, *words: str) -> list[str]:
        """Return the names of the columns whose stored names begin with one of these words."""
        return [name for name, each in cls.declared().items() if each.stored and each.stored.startswith(words)]


def advance_subscriptions(memory: Memory, inputs: HealthInputs) -> Changes:
    """Return the columns of subscriptions after a tick.

    Members that subscribe to a topic and a later commit of the group end the time for which the group has left it.
    """
    groups = inputs.groups
    is_split = np.zeros(len(groups.names), np.bool_)
    is_split[list(inputs.subscribers)] = True
    rows = np.flatnonzero(is_split[inputs.group]) if is_split.any() else np.empty(0, np.int64)
    before = memory.split_since[rows]
    none = uniform(NOT_KNOWN, inputs.group)
    changes = {"split_since": assigned(none, rows, np.where(before >= 0, before, inputs.now))}
    if inputs.subscribed is None:
        return changes
    is_stable = (groups.stage == GroupStage.STABLE) & (groups.members > 0)
    is_left = inputs.subscribed == 0
    is_left &= is_stable[inputs.group] if is_left.any() else False
    rows = np.flatnonzero(is_left | (memory.unsubscribed_until >= 0) | (memory.unsubscribed_since >= 0))
    left, since, until = is_left[rows], memory.unsubscribed_since[rows], memory.unsubscribed_until[rows]
    is_back = (inputs.subscribed[rows] == 1) | (~left & (inputs.spans.last_time[rows] > until))
    since = np.where(left & (since < 0), inputs.now, since)
    return changes | {
        "unsubscribed_since": assigned(none, rows, np.where(is_back, NOT_KNOWN, since)),
        "unsubscribed_until": assigned(none, rows, np.where(is_back, NOT_KNOWN, np.where(left, inputs.now, until))),
    }


def left_rows(memory: Memory, inputs: HealthInputs, settled: int) -> Flags:
    """Return the rows of groups without members that have left the topic for at least `settled` ms before."""
    since = memory.unsubscribed_since[:]
    left: Flags = since >= 0
    if left.any():
        left &= memory.unsubscribed_until[:] - since >= settled
        left &= (inputs.groups.stage == GroupStage.EMPTY)[inputs.group]
    return left


LONGEST_SWING: Final = 300_000
"""Time (ms) after which another step back does not belong to the same swings, and a climb is forgotten."""
_OSCILLATION: Final = Memory.of_observations("turn_")
_NEAR: Final = 4
"""An offset is near one of two positions if its distance is at most this part of the distance between them."""


def advance_oscillation(memory: Memory, inputs: HealthInputs) -> Changes:
    """Return the columns of the oscillation after a tick."""
    went_back = (inputs.spans.rewinds > memory.rewinds) & (memory.rewinds >= 0)
    rows = np.flatnonzero(went_back | (memory.back_from >= 0))
    changes: Changes = {"rewinds": inputs.spans.rewinds}
    if not len(rows):
        return changes
    before = dataclasses.replace(memory, **{name: getattr(memory, name)[rows] for name in _OSCILLATION})
    after = _turned(before, inputs.spans.take(rows), inputs.now)
    return changes | {name: assigned(getattr(memory, name), rows, values) for name, values in after.items()}


def _turned(memory: Memory, spans: Spans, now: int) -> Changes:
    """Return the columns of the oscillation of rows that have gone back at least once."""
    new_steps = np.where(memory.rewinds >= 0, spans.rewinds - memory.rewinds, 0)
    went_back = new_steps > 0
    climbed = np.where(_climbs(memory, spans, went_back), now, memory.climbed)
    interval = spans.rewind_time - memory.back_time
    follows = went_back & (memory.back_time >= 0) & (interval <= LONGEST_SWING)
    leaps = (climbed < 0) | (now - climbed > LONGEST_SWING)
    continues = follows & leaps & _advances(memory, spans, new_steps)
    swings = np.where(continues, np.maximum(memory.swings, 1) + 1, np.where(went_back, 1, memory.swings))
    more_steps = np.maximum(memory.steps_back, 0) + new_steps
    return {
        "back_from": np.where(went_back, spans.rewind_from, memory.back_from),
        "back_to": np.where(went_back, spans.rewind_to, memory.back_to),
        "back_time": np.where(went_back, spans.rewind_time, memory.back_time),
        "swings": np.where(climbed == now, np.minimum(swings, 1), swings),
        "swings_since": np.where(went_back & ~continues, spans.rewind_time, memory.swings_since),
        "back_interval": np.where(follows, interval, np.where(went_back, NOT_KNOWN, memory.back_interval)),
        "climbed": climbed,
        "steps_back": np.where(follows, more_steps, np.where(went_back, 1, memory.steps_back)),
        "steps_since": np.where(went_back & ~follows, spans.rewind_time, memory.steps_since),
    }


def _advances(memory: Memory, spans: Spans, new_steps: Ints) -> Flags:
    """Return the rows whose step back advances in both positions, and overlaps with the step before it.

    Of several steps between two ticks, only the last one is known; the offset has then advanced by as much from one to
    the next on average.
    """
    advanced = spans.rewind_from - memory.back_from
    depth = spans.rewind_from - spans.rewind_to
    return (advanced > 0) & (spans.rewind_to > memory.back_to) & (depth * new_steps > advanced)


def _climbs(memory: Memory, spans: Spans, went_back: Flags) -> Flags:
    """Return the rows whose offset is between the two positions of the last step back, and near neither."""
    high = np.where(went_back, spans.rewind_from, memory.back_from)
    low = np.where(went_back, spans.rewind_to, memory.back_to)
    offset = spans.last_offset
    depth = high - low
    return (high >= 0) & (_NEAR * (offset - low) > depth) & (_NEAR * (high - offset) > depth)
