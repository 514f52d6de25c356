"""The clock of a run, which may be slower than the wall clock."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sandbox.verdict_scenarios.pace import RunPace


class RunClock:
    """Seconds of the run since `begin` was called."""

    def __init__(self, pace: RunPace) -> None:
        self._pace: Final = pace
        self._zero = float("inf")

    def begin(self) -> None:
        """Start the clock at 0."""
        self._zero = time.monotonic()

    def now(self) -> float:
        """Return the seconds of the run since `begin`; 0 before it."""
        return max(self._pace.run(time.monotonic() - self._zero), 0.0)

    def wait(self, until: float) -> None:
        """Wait until a time of the run."""
        time.sleep(self._pace.wall(max(until - self.now(), 0.0)))
