"""Fixtures of the tests with a broker of their own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.kafka.broker import Broker


@pytest.fixture
def freeze() -> Callable[[Broker], None]:
    """Return a function that pauses a broker and waits until all its threads have stopped."""

    def freeze_it(broker: Broker) -> None:
        broker.pause()
        tasks = Path(f"/proc/{broker.pid}/task")
        deadline = time.monotonic() + 10
        while any((task / "stat").read_text().rpartition(")")[2].split()[0] != "T" for task in tasks.iterdir()):
            assert time.monotonic() < deadline, "the broker does not stand still"
            time.sleep(0.01)

    return freeze_it
