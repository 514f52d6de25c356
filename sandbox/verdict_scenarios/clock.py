"""The time of the play."""

from __future__ import annotations

import time


class RunClock:
    """The seconds of the play; 0 is when `begin` is called."""

    def __init__(self) -> None:
        self._zero = float("inf")

    def begin(self) -> None:
        """Let the play begin."""
        self._zero = time.monotonic()

    def now(self) -> float:
        """Give the seconds since it began; none before."""
        return max(time.monotonic() - self._zero, 0.0)

    def wait(self, until: float) -> None:
        """Wait for a moment of the play."""
        time.sleep(max(until - self.now(), 0.0))
