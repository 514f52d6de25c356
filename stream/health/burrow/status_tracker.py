"""The status of every partition by Burrow's rules, tick after tick, whatever rules decide the verdicts."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from stream.health.burrow import rules as burrow
from stream.health.burrow.rules import INTERVALS, BurrowStatus
from stream.health.burrow.window import RingTracker
from stream.health.features import lag as lags

if TYPE_CHECKING:
    from stream.health.burrow.rules import Rings
    from stream.health.columns import Codes, Flags
    from stream.health.features.partition_history import PartitionHistory
    from stream.health.features.window import Window


@dataclasses.dataclass(frozen=True, slots=True)
class BurrowStatuses:
    """Burrow's view of one tick, one element per row."""

    rings: Rings
    status: Codes
    """`BurrowStatus`; NOTFOUND for a row without a commit."""

    @property
    def complete(self) -> Flags:
        """True where every slot of the window is filled (Burrow's `complete` is 1.0)."""
        is_complete: Flags = self.rings.count == INTERVALS
        return is_complete


class BurrowStatusTracker:
    """Updates the windows of all rows from tick to tick and applies Burrow's rules. Not thread-safe."""

    def __init__(self) -> None:
        self._rings = RingTracker()

    def update(self, window: Window, history: PartitionHistory, tick: int) -> BurrowStatuses:
        """Return the statuses of one tick. `window` is complete (not trimmed), `tick` in ms. Once per tick."""
        inputs = window.inputs
        keys = history.memory.keys
        history_row = history.find_rows(inputs, lags.place(inputs.topic, inputs.partition))
        rings = self._rings.update(window, keys, history_row, history.high_watermark, tick)
        status = burrow.evaluate(rings, inputs.now)
        status[rings.count == 0] = BurrowStatus.NOTFOUND
        return BurrowStatuses(rings, status)
