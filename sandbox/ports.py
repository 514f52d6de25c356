"""Free ports on the loopback address."""

from __future__ import annotations

import contextlib
import socket
from typing import Final

LOOPBACK: Final = "127.0.0.1"

_returned: Final[set[int]] = set()


def free_port() -> int:
    """Return a port without a listener, another one at each call in this process.

    The kernel chooses at random of some 14,000, so it repeats a port that is not bound yet, or not while its server
    restarts.
    """
    while True:
        with socket.socket() as chosen:
            chosen.bind((LOOPBACK, 0))
            port: int = chosen.getsockname()[1]
        if port not in _returned:
            _returned.add(port)
            return port


def free_port_pair() -> tuple[int, int]:
    """Return two different ports without a listener."""
    return free_port(), free_port()


def accepts(port: int, seconds: float = 0.2) -> bool:
    """Return whether a loopback port accepts connections."""
    with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), seconds):
        return True
    return False
