"""Offsets that go back and forth: two clients commit the same partition, or one client reads records repeatedly.

If two clients commit alternately, each commit of the one behind goes back, and both positions advance: each *swing*
begins and ends at greater offsets than the previous one. A client that repeatedly seeks back by the same distance shows
the same pattern, so two more properties decide:

- With two clients the offset is always near one of the two positions, because the commit after a step back is that of
  the other client. With one client the offset is also seen between the two positions (a *climb*), while the client
  reads the records again.
- The positions of two clients overlap: a step back ends below the beginning of the step before it. A client that goes
  back by less than it has advanced since ends above.
"""

from typing import Final

import numpy as np

from stream.health.columns import NOT_KNOWN, Flags, Ints
from stream.health.features.memory.columns import Changes, Memory
from stream.health.inputs import HealthInputs

LONGEST_SWING: Final = 300_000
"""Time (ms) after which another step back does not belong to the same swings, and a climb is forgotten."""
_NEAR: Final = 4
"""An offset is near one of two positions if its distance is at most this part of the distance between them."""


def advance(memory: Memory, inputs: HealthInputs) -> Changes:
    """Return the columns of the oscillation after a tick."""
    spans = inputs.spans
    new_steps = np.where(memory.rewinds >= 0, spans.rewinds - memory.rewinds, 0)
    went_back = new_steps > 0
    climbed = np.where(_climbs(memory, inputs, went_back), inputs.now, memory.climbed)
    if not went_back.any():
        swings = np.where(climbed == inputs.now, np.minimum(memory.swings, 1), memory.swings)
        return {"rewinds": spans.rewinds, "climbed": climbed, "swings": swings}
    interval = spans.rewind_time - memory.back_time
    follows = went_back & (memory.back_time >= 0) & (interval <= LONGEST_SWING)
    leaps = (climbed < 0) | (inputs.now - climbed > LONGEST_SWING)
    continues = follows & leaps & _advances(memory, inputs, new_steps)
    swings = np.where(continues, np.maximum(memory.swings, 1) + 1, np.where(went_back, 1, memory.swings))
    more_steps = np.maximum(memory.steps_back, 0) + new_steps
    return {
        "rewinds": spans.rewinds,
        "back_from": np.where(went_back, spans.rewind_from, memory.back_from),
        "back_to": np.where(went_back, spans.rewind_to, memory.back_to),
        "back_time": np.where(went_back, spans.rewind_time, memory.back_time),
        "swings": np.where(climbed == inputs.now, np.minimum(swings, 1), swings),
        "swings_since": np.where(went_back & ~continues, spans.rewind_time, memory.swings_since),
        "back_interval": np.where(follows, interval, np.where(went_back, NOT_KNOWN, memory.back_interval)),
        "climbed": climbed,
        "steps_back": np.where(follows, more_steps, np.where(went_back, 1, memory.steps_back)),
        "steps_since": np.where(went_back & ~follows, spans.rewind_time, memory.steps_since),
    }


def _advances(memory: Memory, inputs: HealthInputs, new_steps: Ints) -> Flags:
    """Return the rows whose step back advances in both positions, and overlaps with the step before it.

    Of several steps between two ticks, only the last one is known; the offset has then advanced by as much from one to
    the next on average.
    """
    spans = inputs.spans
    advanced = spans.rewind_from - memory.back_from
    depth = spans.rewind_from - spans.rewind_to
    advances: Flags = (advanced > 0) & (spans.rewind_to > memory.back_to) & (depth * new_steps > advanced)
    return advances


def _climbs(memory: Memory, inputs: HealthInputs, went_back: Flags) -> Flags:
    """Return the rows whose offset is between the two positions of the last step back, and near neither."""
    spans = inputs.spans
    high = np.where(went_back, spans.rewind_from, memory.back_from)
    low = np.where(went_back, spans.rewind_to, memory.back_to)
    offset = spans.last_offset
    depth = high - low
    climbs: Flags = (high >= 0) & (_NEAR * (offset - low) > depth) & (_NEAR * (high - offset) > depth)
    return climbs
