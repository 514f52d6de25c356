"""The columns that the rules for share groups read, one row per group and partition with known progress."""

import dataclasses

import numpy as np

from stream.health.columns import Codes, Flags, Ints
from stream.health.inputs import GroupStage, HealthInputs
from stream.health.limits import HealthLimits
from stream.health.share.memory import ShareMemory


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
        returned: Flags = (self.memory.fruitless_polls > 0) & (self.memory.returned > 0)
        return returned

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
