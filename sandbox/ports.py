"""Free ports on the loopback address, and an HTTP server there."""

import contextlib
import http.server
import secrets
import socket
import sys
from typing import Any, Final

LOOPBACK: Final = "127.0.0.1"
_LOWEST: Final = 10_000
_FIRST_OF_CONNECTIONS: Final = 32_768

_returned: Final[set[int]] = set()


def free_port() -> int:
    """Return a port without a listener, another one at each call in this process.

    None that the kernel gives to connections (net.ipv4.ip_local_port_range): one of them may have it before its server
    is there, or while that restarts.
    """
    while True:
        port = _LOWEST + secrets.randbelow(_FIRST_OF_CONNECTIONS - _LOWEST)
        with contextlib.suppress(OSError), socket.socket() as chosen:
            chosen.bind((LOOPBACK, port))
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


class LoopbackHttpServer(http.server.ThreadingHTTPServer):
    """Answers each request in a thread; a client that did not wait for its answer is no error."""

    daemon_threads = True

    def __init__(self, port: int, handler: type[http.server.BaseHTTPRequestHandler]) -> None:
        super().__init__((LOOPBACK, port), handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the error that is handled, unless the client has gone."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)
