"""Retries while a broker is not ready: after a start it answers NOT_COORDINATOR and similar errors.

Waits whose limit depends on the load of the machine.
"""

import os
import time
from collections.abc import Callable
from typing import Final, TypeVar

from confluent_kafka import KafkaException

T = TypeVar("T")
LIMIT: Final = 30.0
"""Seconds."""
_SLOWEST: Final = 20.0
"""How many times its limit a wait may take at most."""


class LoadedLimit:
    """A limit in seconds of a quiet machine: where processes wait for a core, each second counts for less."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._began = self._seen = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the start, as a clock shows them."""
        return time.monotonic() - self._began

    def reached(self) -> bool:
        """Count the time since the last call; return whether the limit is reached."""
        now = time.monotonic()
        self._left -= (now - self._seen) / min(max(load_per_core(), 1.0), _SLOWEST)
        self._seen = now
        return self._left < 0


def load_per_core() -> float:
    """Return how many processes ran or waited per core of this machine in the last minute."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


def eventually(call: Callable[[], T], *, limit: float = LIMIT, pause: float = 0.1) -> T:
    """Return the result of `call`, which is repeated on a KafkaException; after `limit` s the last one is raised."""
    deadline = time.monotonic() + limit
    while True:
        try:
            return call()
        except KafkaException:
            if time.monotonic() > deadline:
                raise
        time.sleep(pause)


def wait_until(condition: Callable[[], bool], what: str, *, limit: float = LIMIT, pause: float = 0.1) -> None:
    """Wait until the condition is true. After `limit` s raises TimeoutError with the text `what`."""
    deadline = time.monotonic() + limit
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {limit:.0f} s for {what}")
        time.sleep(pause)
