"""Committed offsets that a tombstone removed: before their time while the group was alive, or in another way."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from stream.health.features.memory.memory_columns import MemoryColumns

if TYPE_CHECKING:
    from stream.health.columns import Ints
    from stream.health.inputs import HealthInputs


@dataclasses.dataclass(frozen=True, slots=True)
class ForgottenMemory(MemoryColumns):
    """One element per row; -1: never. Times in ms."""

    removed: Ints
    """When the offset was last removed before its time, while the group was alive."""
    gone: Ints
    """When it was last removed in any way."""
    expired: Ints
    """1: it expired then, 0: it was deleted before its time, -1: not known."""


def advance(memory: ForgottenMemory, inputs: HealthInputs) -> ForgottenMemory:
    """Return the memory after a tick."""
    if inputs.removed is None:
        return memory
    is_new = inputs.removed.time > memory.gone
    return ForgottenMemory(
        np.maximum(memory.removed, inputs.removed.forgotten),
        np.where(is_new, inputs.removed.time, memory.gone),
        np.where(is_new, inputs.removed.expired, memory.expired),
    )
