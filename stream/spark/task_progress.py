"""Progress of tasks within a micro-batch, sent to the driver as datagrams. Best effort: losses are harmless.

A datagram begins with the token of the receiver, which is new at each start: other users of the machine can send too.

Reason: docs/internals/decisions/0007-progress-of-tasks-by-datagrams.md.
"""

import contextlib
import hmac
import json
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

_LARGEST_DATAGRAM: Final = 65_535
_CLOSE_SECONDS: Final = 1.0
SEND_INTERVAL: Final = 0.5
"""Seconds between two reports of a task."""


class ProgressReceiver:
    """Receives progress datagrams from running tasks on a port of `host`, in a thread of its own."""

    def __init__(self, host: str, port: int, on_positions: Callable[[Mapping[int, int]], None]) -> None:
        """Call `on_positions` with the next position per offsets partition for each datagram; port 0: a free one.

        Raises OSError if the port is in use, or the host is not this machine.
        """
        self._on_positions = on_positions
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        self._socket.bind(address)
        self._closing = False
        self.token: Final = secrets.token_hex(16)
        """What each datagram begins with."""
        self._thread = threading.Thread(target=self._receive, name="task-progress", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that tasks send to."""
        port: int = self._socket.getsockname()[1]
        return port

    def close(self) -> None:
        """Stop receiving and release the port."""
        self._closing = True
        # A socket that is closed while a thread reads from it keeps its port. The shutdown ends the reading, although
        # the system answers that the socket has no peer.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(_CLOSE_SECONDS)
        self._socket.close()

    def _receive(self) -> None:
        while not self._closing:
            try:
                positions = _parse(self._socket.recv(_LARGEST_DATAGRAM), self.token.encode())
            except (OSError, ValueError):
                continue  # closed, or not a progress datagram
            self._on_positions(positions)


class ProgressSender:
    """Sends the next position of each partition that a task reads, at most once per SEND_INTERVAL."""

    def __init__(self, host: str, port: int, token: str) -> None:
        self._address = host, port
        self._token = token.encode()
        self._socket = socket.socket(_family(self._address), socket.SOCK_DGRAM)
        self._next_send = time.monotonic() + SEND_INTERVAL
        self._positions: dict[int, int] = {}

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def add(self, positions: Mapping[int, int]) -> None:
        """Record the next position per partition, and send all positions when it is time. Never raises OSError."""
        self._positions |= positions
        if time.monotonic() < self._next_send:
            return
        self._next_send = time.monotonic() + SEND_INTERVAL
        message = self._token + json.dumps(self._positions).encode()
        self._positions = {}
        try:
            self._socket.sendto(message, self._address)
        except OSError:
            return  # a progress report must not fail a task


def _parse(message: bytes, token: bytes) -> dict[int, int]:
    """Return the position per partition of a datagram. Raises ValueError if no task can have sent it."""
    if not hmac.compare_digest(message[: len(token)], token):
        raise ValueError("a progress datagram has another token")
    try:
        content = json.loads(message[len(token) :])
    except RecursionError as error:
        raise ValueError("a progress datagram is nested too deeply") from error
    if not isinstance(content, dict):
        raise ValueError("a progress datagram is no JSON object")  # noqa: TRY004 -- of data, not of the caller
    if not all(type(position) is int and 0 <= position < 1 << 63 for position in content.values()):
        raise ValueError("a position is no offset")
    return {int(partition): position for partition, position in content.items()}


def _family(address: tuple[str, int]) -> socket.AddressFamily:
    """Return the address family of a host; IPv4 if it cannot be resolved now."""
    try:
        return socket.getaddrinfo(*address, type=socket.SOCK_DGRAM)[0][0]
    except OSError:
        return socket.AF_INET
