"""Pulses: the driver hears its tasks, and is deaf to everything else."""

from __future__ import annotations

import contextlib
import queue
import socket
from typing import TYPE_CHECKING

from stream.spark.task_progress import Pulses

if TYPE_CHECKING:
    from collections.abc import Mapping


def test_positions_are_heard_and_noise_is_not() -> None:
    """Messages of tasks arrive as numbers; what is no such message is passed over and hurts nothing."""
    heard: queue.Queue[Mapping[int, int]] = queue.Queue()
    with (
        contextlib.closing(Pulses("127.0.0.1", heard.put)) as pulses,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as task,
    ):
        for message in (b'{"3": 17}', b"\xff\x00", b"[1, 2]", b'{"a": "b"}', b"", b'{"4": 18, "5": 2}'):
            task.sendto(message, pulses.address)
        assert [heard.get(timeout=5), heard.get(timeout=5)] == [{3: 17}, {4: 18, 5: 2}]
    assert heard.empty()
