"""Retries while a broker is not ready: after a start it answers NOT_COORDINATOR and similar errors."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypeVar

from confluent_kafka import KafkaException

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
LIMIT: Final = 30.0
"""Seconds."""


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
