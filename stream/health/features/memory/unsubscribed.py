"""Topics that the members of a group did not subscribe to when it last had members: the group has left them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from stream.health.columns import NOT_KNOWN
from stream.health.features.memory.memory_columns import MemoryColumns
from stream.health.inputs import GroupStage

if TYPE_CHECKING:
    from stream.health.columns import Flags, Ints
    from stream.health.inputs import HealthInputs


@dataclasses.dataclass(frozen=True, slots=True)
class UnsubscribedMemory(MemoryColumns):
    """One element per row; times in ms. -1: the last known members subscribed to the topic, or none is known."""

    since: Ints
    """The first tick at which none of the members of the stable group subscribed to the topic, ..."""
    until: Ints
    """... and the last one."""


def advance(memory: UnsubscribedMemory, inputs: HealthInputs) -> UnsubscribedMemory:
    """Return the memory after a tick. Members that subscribe and a later commit of the group end it."""
    if inputs.subscribed is None:
        return memory
    groups = inputs.groups
    is_stable = (groups.stage[inputs.group] == GroupStage.STABLE) & (groups.members[inputs.group] > 0)
    is_left = is_stable & (inputs.subscribed == 0)
    is_back = (inputs.subscribed == 1) | (~is_left & (inputs.spans.last_time > memory.until))
    since = np.where(is_left & (memory.since < 0), inputs.now, memory.since)
    until = np.where(is_left, inputs.now, memory.until)
    return UnsubscribedMemory(np.where(is_back, NOT_KNOWN, since), np.where(is_back, NOT_KNOWN, until))


def left_rows(memory: UnsubscribedMemory, inputs: HealthInputs, settled: int) -> Flags:
    """Return the rows of groups without members that have left the topic for at least `settled` ms before."""
    lasted = (memory.since >= 0) & (memory.until - memory.since >= settled)
    left: Flags = lasted & (inputs.groups.stage[inputs.group] == GroupStage.EMPTY)
    return left
