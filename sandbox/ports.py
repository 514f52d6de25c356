"""Free ports on the loopback address."""

from __future__ import annotations

import contextlib
import socket
from typing import Final

LOOPBACK: Final = "127.0.0.1"


def free_port() -> int:
    """Give a port that nobody listens on at this moment."""
    return free_port_pair()[0]


def free_port_pair() -> tuple[int, int]:
    """Give two different ports that nobody listens on at this moment."""
    with socket.socket() as one, socket.socket() as other:
        one.bind((LOOPBACK, 0))
        other.bind((LOOPBACK, 0))
        return one.getsockname()[1], other.getsockname()[1]


def accepts(port: int, seconds: float = 0.2) -> bool:
    """Tell whether somebody accepts connections on a loopback port."""
    with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), seconds):
        return True
    return False
