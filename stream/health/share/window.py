"""The columns that the rules for share groups read, one row per group and partition with known progress."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from stream.health.columns import NOT_KNOWN, Codes, Flags, Ints
from stream.health.inputs import GroupStage, HealthInputs
from stream.health.limits import HealthLimits
from stream.health.row_columns import RowColumns, column
from stream.health.share.progress import SharePartitionProgress

LONGEST_HABIT: Final = 900_000
"""A longer pause (ms) while records wait is a fault and not a habit: nothing is learned from it."""
_POLLED: Final = SharePartitionProgress._fields[2:-1]
"""What is known of the last poll: all but the place of the partition and its end."""


@dataclasses.dataclass(frozen=True, slots=True)
class ShareMemory(RowColumns):
    """One element per partition of a group, after a poll. Times and durations in ms; -1: never, or not known."""

    # `SharePartitionProgress` at the last poll.
    start_offset: Ints = column("start_offset")
    lag: Ints = column("lag")
    finished: Ints = column("finished")
    returned: Ints = column("returned")
    most_deliveries: Ints = column("most_deliveries")
    acknowledged: Ints = column("acknowledged")
    archived: Ints = column("archived")
    returns: Ints = column("returns")

    changed_at: Ints = column("changed_at")
    """The last poll that found a change; the first poll, until there was one."""
    moved: Flags = column("moved", 0, np.bool_)
    """A change was seen."""
    waiting_since: Ints = column("waiting_since")
    """The first of the polls in a row that found unfinished records; -1 if the last known lag was 0."""
    longest_pause: Ints = column("longest_pause", 0)
    """The longest time without a change while records waited, of those that ended and were a habit."""
    fruitless_since: Ints = column("fruitless_since")
    """The first of the polls at which deliveries ended, but none since the last accepted record was accepted."""
    fruitless_polls: Ints = column("fruitless_polls", 0)
    """The number of these polls."""
    archiving_polls: Ints = column("archiving_polls", 0)
    """The number of these polls that found archived records."""
    archived_since: Ints = column("archived_since", 0)
    """The number of records that were archived since the last accepted record."""

    def idle_time(self, now: int) -> Ints:
        """Return for how long nothing has changed while records waited; 0 if none wait."""
        since = np.maximum(self.changed_at, self.waiting_since)
        return np.where(self.waiting_since == NOT_KNOWN, 0, now - since)


def remember(before: ShareMemory, progress: Sequence[SharePartitionProgress], now: int) -> ShareMemory:
    """Return the memory after a poll, at `now`, that found this progress of its rows."""
    polled = {name: _numbers([getattr(each, name) for each in progress]) for name in _POLLED}
    accepted, archived, returns = _increases(before, polled)
    is_new = before.changed_at == NOT_KNOWN
    moved = (polled["start_offset"] != before.start_offset) | (polled["finished"] != before.finished)
    is_change = ~is_new & (moved | (accepted > 0) | (archived > 0) | (returns > 0))
    pause = before.idle_time(now)
    is_habit = is_change & before.moved & (pause <= LONGEST_HABIT)
    # A poll that does not know the lag changes nothing.
    waits = (polled["lag"] > 0) & (before.waiting_since == NOT_KNOWN)
    waiting_since = np.where(waits, now, np.where(polled["lag"] == 0, NOT_KNOWN, before.waiting_since))
    is_accepted = accepted > 0
    is_fruitless = is_change & ~is_accepted & ((archived > 0) | (returns > 0))
    begins = is_fruitless & (before.fruitless_since == NOT_KNOWN)
    return ShareMemory(
        **polled,
        changed_at=np.where(is_new | is_change, now, before.changed_at),
        moved=before.moved | is_change,
        waiting_since=waiting_since,
        longest_pause=np.where(is_habit, np.maximum(before.longest_pause, pause), before.longest_pause),
        fruitless_since=np.where(is_accepted, NOT_KNOWN, np.where(begins, now, before.fruitless_since)),
        fruitless_polls=np.where(is_accepted, 0, before.fruitless_polls + is_fruitless),
        archiving_polls=np.where(is_accepted, 0, before.archiving_polls + (is_fruitless & (archived > 0))),
        archived_since=np.where(is_accepted, 0, before.archived_since + np.where(is_fruitless, archived, 0)),
    )


def _numbers(values: Sequence[int | None]) -> Ints:
    return np.array([NOT_KNOWN if value is None else value for value in values], np.int64)


def _increases(before: ShareMemory, polled: Mapping[str, Ints]) -> tuple[Ints, ...]:
    """Return how many records were acknowledged, archived and returned since the last poll.

    Counts that are lower than before began again with their reader: what they counted until now is new.
    """
    names = ("acknowledged", "archived", "returns")
    began_again = np.any([polled[name] < getattr(before, name) for name in names], axis=0)
    return tuple(polled[name] - np.where(began_again, 0, getattr(before, name)) for name in names)


@dataclasses.dataclass(frozen=True, slots=True)
class ShareWindow:
    """One element per row. Times and durations in ms; -1: not known, or none."""

    inputs: HealthInputs
    """The rows, and the share groups that have some, as of the poll."""
    limits: HealthLimits
    memory: ShareMemory

    @property
    def now(self) -> int:
        """When the brokers were polled."""
        return self.inputs.now

    @property
    def lag(self) -> Ints:
        """The number of records that are not finished; -1: not known."""
        return self.memory.lag

    @property
    def stage(self) -> Codes:
        """The stage of the group of each row."""
        return self.inputs.groups.stage[self.inputs.group]

    @property
    def members(self) -> Ints:
        """The number of members of the group of each row."""
        return self.inputs.groups.members[self.inputs.group]

    @property
    def empty_since(self) -> Ints:
        """When the group became empty; -1 also if it has members."""
        return np.where(self.stage == GroupStage.EMPTY, self.inputs.groups.since[self.inputs.group], -1)

    @property
    def patience(self) -> Ints:
        """The time without a change that is no fault: at least `share_pause`, and twice the longest pause."""
        return np.maximum(self.limits.share_pause, 2 * self.memory.longest_pause)

    @property
    def longest_idle(self) -> Ints:
        """The idle time that is no fault: half of `share_pause` if records came back and none was accepted."""
        pause = np.where(self.only_returned, self.limits.share_pause // 2, self.limits.share_pause)
        return np.maximum(pause, 2 * self.memory.longest_pause)

    @property
    def only_returned(self) -> Flags:
        """Rows whose records came back and wait, and of which none was accepted since."""
        return (self.memory.fruitless_polls > 0) & (self.memory.returned > 0)

    @property
    def idle_time(self) -> Ints:
        """The time without a change while records waited."""
        return self.memory.idle_time(self.now)

    @property
    def fruitless_time(self) -> Ints:
        """The time from the first to the last poll of the fruitless ones; 0 without any."""
        memory = self.memory
        return np.where(memory.fruitless_polls > 0, memory.changed_at - memory.fruitless_since, 0)

    def __len__(self) -> int:
        return len(self.inputs)
