"""Offsets that go back and forth: two clients commit the same partition, or one client reads records repeatedly.

If two clients take turns, each commit of the one behind goes back, and both positions advance: each turn begins and
ends at greater offsets than the previous one. A client that repeatedly seeks back by the same distance shows the same
pattern, so two more properties decide:

- With two clients the offset is always near one of the two positions, because the commit after a step back is that of
  the other client. With one client the offset is also seen between the two positions (a *climb*), while the client
  reads the records again.
- The positions of two clients overlap: a step back ends below the beginning of the step before it. A client that goes
  back by less than it has advanced since ends above.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.health.columns import NOT_KNOWN
from stream.health.features.memory.memory_columns import MemoryColumns

if TYPE_CHECKING:
    from stream.health.columns import Flags, Ints
    from stream.health.inputs import HealthInputs

LONGEST_TURN: Final = 300_000
"""Time (ms) after which another step back does not belong to the same turns, and a climb is forgotten."""
_NEAR: Final = 4
"""An offset is near one of two positions if its distance is at most this part of the distance between them."""


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
    """The number of ticks with a step back at greater offsets than the last one, without interruption and climb."""
    began: Ints
    """The time of the first of them."""
    interval: Ints
    """The time between the last two ticks with a step back."""
    climbed: Ints
    """The last tick at which the offset was between the two positions."""
    steps: Ints
    """The number of steps back, without interruption, of any kind."""
    first_step: Ints
    """The time of the first of them."""


def advance(memory: TurnMemory, inputs: HealthInputs) -> TurnMemory:
    """Return the memory after a tick."""
    spans = inputs.spans
    new_steps = np.where(memory.rewinds >= 0, spans.rewinds - memory.rewinds, 0)
    went_back = new_steps > 0
    climbed = np.where(_climbs(memory, inputs, went_back), inputs.now, memory.climbed)
    if not went_back.any():
        turns = np.where(climbed == inputs.now, np.minimum(memory.turns, 1), memory.turns)
        return dataclasses.replace(memory, rewinds=spans.rewinds, climbed=climbed, turns=turns)
    interval = spans.rewind_time - memory.turn_time
    goes_on = went_back & (memory.turn_time >= 0) & (interval <= LONGEST_TURN)
    leaps = (climbed < 0) | (inputs.now - climbed > LONGEST_TURN)
    continues = goes_on & leaps & _advances(memory, inputs, new_steps)
    turns = np.where(continues, np.maximum(memory.turns, 1) + 1, np.where(went_back, 1, memory.turns))
    return TurnMemory(
        rewinds=spans.rewinds,
        turn_from=np.where(went_back, spans.rewind_from, memory.turn_from),
        turn_to=np.where(went_back, spans.rewind_to, memory.turn_to),
        turn_time=np.where(went_back, spans.rewind_time, memory.turn_time),
        turns=np.where(climbed == inputs.now, np.minimum(turns, 1), turns),
        began=np.where(went_back & ~continues, spans.rewind_time, memory.began),
        interval=np.where(goes_on, interval, np.where(went_back, NOT_KNOWN, memory.interval)),
        climbed=climbed,
        steps=np.where(goes_on, np.maximum(memory.steps, 0) + new_steps, np.where(went_back, 1, memory.steps)),
        first_step=np.where(went_back & ~goes_on, spans.rewind_time, memory.first_step),
    )


def _advances(memory: TurnMemory, inputs: HealthInputs, new_steps: Ints) -> Flags:
    """Return the rows whose step back advances in both positions, and overlaps with the step before it.

    Of several steps between two ticks, only the last one is known; the offset has then advanced by as much from one to
    the next on average.
    """
    spans = inputs.spans
    advanced = spans.rewind_from - memory.turn_from
    depth = spans.rewind_from - spans.rewind_to
    advances: Flags = (advanced > 0) & (spans.rewind_to > memory.turn_to) & (depth * new_steps > advanced)
    return advances


def _climbs(memory: TurnMemory, inputs: HealthInputs, went_back: Flags) -> Flags:
    """Return the rows whose offset is between the two positions of the last step back, and near neither."""
    spans = inputs.spans
    high = np.where(went_back, spans.rewind_from, memory.turn_from)
    low = np.where(went_back, spans.rewind_to, memory.turn_to)
    offset = spans.last_offset
    depth = high - low
    climbs: Flags = (high >= 0) & (_NEAR * (offset - low) > depth) & (_NEAR * (high - offset) > depth)
    return climbs
