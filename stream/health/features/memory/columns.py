"""The table of what is remembered of each row: all columns, their meaning, and the names under which they are stored.

The first word of a stored name is the observation that the column belongs to; each has a function that returns its
columns after a tick. The stored names are older than the names of the fields, and stay as they are.
"""

import dataclasses
from typing import Any, TypeAlias

import numpy as np

from stream.health.columns import Flags, Ints
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

    # Offset oscillation, see `offset_oscillation`.
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

    # Log starts that follow the commits, see `own_deletes`.
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
