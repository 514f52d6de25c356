"""The clock of a run."""

from __future__ import annotations

import time


class RunClock:
    """Seconds since `begin` was called."""

    def __init__(self) -> None:
        self._zero = float("inf")

    def begin(self) -> None:
        """Start the clock at 0."""
        self._zero = time.monotonic()

    def now(self) -> float:
        """Return the seconds since `begin`; 0 before it."""
        return max(time.monotonic() - self._zero, 0.0)

    def wait(self, until: float) -> None:
        """Wait until a time of the run."""
        time.sleep(max(until - self.now(), 0.0))
