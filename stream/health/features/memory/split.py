"""Since when the members of a group subscribe to different topics: during a rolling deploy they may."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from stream.health.columns import NOT_KNOWN
from stream.health.features.memory.memory_columns import MemoryColumns

if TYPE_CHECKING:
    from stream.health.columns import Ints
    from stream.health.inputs import HealthInputs


@dataclasses.dataclass(frozen=True, slots=True)
class SplitMemory(MemoryColumns):
    """One element per row; times in ms."""

    since: Ints
    """Since when the subscriptions in the group of the row differ; -1: they do not."""


def advance(memory: SplitMemory, inputs: HealthInputs) -> SplitMemory:
    """Return the memory after a tick."""
    is_split = np.zeros(len(inputs.groups.names), np.bool_)
    is_split[list(inputs.subscribers)] = True
    since = np.where(memory.since >= 0, memory.since, inputs.now)
    return SplitMemory(np.where(is_split[inputs.group], since, NOT_KNOWN))
