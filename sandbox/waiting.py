"""Trying again while a broker is not ready yet: just started, it answers NOT_COORDINATOR and the like."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypeVar

from confluent_kafka import KafkaException

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
LIMIT: Final = 30.0


def eventually(call: Callable[[], T], *, limit: float = LIMIT, pause: float = 0.1) -> T:
    """Give what `call` gives, calling again on a KafkaException; the last one is raised after `limit` s."""
    deadline = time.monotonic() + limit
    while True:
        try:
            return call()
        except KafkaException:
            if time.monotonic() > deadline:
                raise
        time.sleep(pause)


def wait_until(fact: Callable[[], bool], what: str, *, limit: float = LIMIT, pause: float = 0.1) -> None:
    """Wait until `fact` is true. Raises TimeoutError that names `what` was waited for."""
    deadline = time.monotonic() + limit
    while not fact():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {limit:.0f} s for {what}")
        time.sleep(pause)
