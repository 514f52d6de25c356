"""When the end of the partition of each row was last known: a missing leader is a fault only if it lasts."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from stream.health.features.memory.memory_columns import MemoryColumns

if TYPE_CHECKING:
    from stream.health.columns import Flags, Ints


@dataclasses.dataclass(frozen=True, slots=True)
class AnswerMemory(MemoryColumns):
    """One element per row; times in ms."""

    known_at: Ints
    """The last tick at which the end was known, or the first tick of the row; -1 before that."""


def advance(memory: AnswerMemory, answered: Flags, now: int) -> AnswerMemory:
    """Return the memory after a tick at which the ends of the `answered` rows are known."""
    return AnswerMemory(np.where(answered | (memory.known_at < 0), now, memory.known_at))
