"""Offsets that go to and fro: two clients commit the same partition, each its own position.

A client that reads records again goes back once, or each time to the same offset. Where two clients take turns, each
commit of the one behind goes back, and both positions advance: each turn begins and ends at greater offsets than the
one before it.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.health.columns import NOT_KNOWN
from stream.health.features.memory.memory_columns import MemoryColumns

if TYPE_CHECKING:
    from stream.health.columns import Ints
    from stream.health.inputs import HealthInputs

_LONGEST_TURN: Final = 300_000
"""Time (ms) after which another step back does not belong to the same turns."""


@dataclasses.dataclass(frozen=True, slots=True)
class TurnMemory(MemoryColumns):
    """One element per row; -1 where there is none, or it is not known. Times in ms."""

    rewinds: Ints
    """The number of steps back at the last tick."""
    turn_from: Ints
    """The first and the last offset of the last step back, and when it was committed."""
    turn_to: Ints
    turn_time: Ints
    turns: Ints
    """The number of ticks with a step back at greater offsets than the last one, without interruption."""
    began: Ints
    """The time of the first of them."""
    interval: Ints
    """The time between the last two."""


def advance(memory: TurnMemory, inputs: HealthInputs) -> TurnMemory:
    """Return the memory after a tick."""
    spans = inputs.spans
    went_back = (memory.rewinds >= 0) & (spans.rewinds > memory.rewinds)
    if not went_back.any():
        return dataclasses.replace(memory, rewinds=spans.rewinds)
    advances = (spans.rewind_from > memory.turn_from) & (spans.rewind_to > memory.turn_to)
    interval = spans.rewind_time - memory.turn_time
    continues = went_back & advances & (memory.turn_time >= 0) & (interval <= _LONGEST_TURN)
    turns = np.where(continues, np.maximum(memory.turns, 1) + 1, np.where(went_back, 1, memory.turns))
    return TurnMemory(
        rewinds=spans.rewinds,
        turn_from=np.where(went_back, spans.rewind_from, memory.turn_from),
        turn_to=np.where(went_back, spans.rewind_to, memory.turn_to),
        turn_time=np.where(went_back, spans.rewind_time, memory.turn_time),
        turns=turns,
        began=np.where(went_back & ~continues, spans.rewind_time, memory.began),
        interval=np.where(continues, interval, np.where(went_back, NOT_KNOWN, memory.interval)),
    )
