"""Offsets that the broker removed before their time, while the group was alive."""

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
    """When the offset was removed last."""


def advance(memory: ForgottenMemory, inputs: HealthInputs) -> ForgottenMemory:
    """Return the memory after a tick."""
    if inputs.forgotten is None:
        return memory
    return ForgottenMemory(np.maximum(memory.removed, inputs.forgotten))
