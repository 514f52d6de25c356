"""Free ports on the loopback address."""

from __future__ import annotations

import contextlib
import socket
from typing import Final

LOOPBACK: Final = "127.0.0.1"


def free_port() -> int:
    """Return a port without a listener."""
    return free_port_pair()[0]


def free_port_pair() -> tuple[int, int]:
    """Return two different ports without a listener."""
    with socket.socket() as one, socket.socket() as other:
        one.bind((LOOPBACK, 0))
        other.bind((LOOPBACK, 0))
        return one.getsockname()[1], other.getsockname()[1]


def accepts(port: int, seconds: float = 0.2) -> bool:
    """Return whether a loopback port accepts connections."""
    with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), seconds):
        return True
    return False
