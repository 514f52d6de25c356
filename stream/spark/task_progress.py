"""The driver's ear for its tasks: datagrams that say how far a running batch has come. Lost ones are not missed."""

from __future__ import annotations

import json
import socket
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LARGEST: Final = 65_535


class Pulses:
    """Listens on a free port of `host` and hands each message to `heard`, on a thread of its own."""

    def __init__(self, host: str, heard: Callable[[Mapping[int, int]], None]) -> None:
        self._heard = heard
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((host, 0))
        self._closing = False
        threading.Thread(target=self._listen, name="pulses", daemon=True).start()

    @property
    def address(self) -> tuple[str, int]:
        """Where tasks send to."""
        host, port = self._socket.getsockname()
        return host, port

    def close(self) -> None:
        """Stop listening."""
        self._closing = True
        self._socket.close()

    def _listen(self) -> None:
        while not self._closing:
            try:
                message = self._socket.recv(_LARGEST)
                positions = {int(partition): int(position) for partition, position in json.loads(message).items()}
            except (OSError, ValueError, AttributeError):
                continue  # closed, or not ours
            self._heard(positions)
