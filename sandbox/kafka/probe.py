"""Asks a broker as a new client does, to tell a broker that does not answer from a client that does not read."""

import socket
import struct
from pathlib import Path
from typing import Final

LIMIT: Final = 5.0
"""Seconds."""
_API_VERSIONS: Final = struct.pack(">ihhih", 10, 18, 0, 1, -1)
"""An ApiVersions request of version 0 without a client id."""
_LISTENING: Final = "0A"


def answer_to_new_client(bootstrap: str, limit: float = LIMIT) -> str:
    """Return what a new connection to the first address gets, in a few words for the message of a failed wait."""
    host, _, port = bootstrap.partition(",")[0].rpartition(":")
    try:
        with socket.create_connection((host, int(port)), limit) as connection:
            connection.sendall(_API_VERSIONS)
            received = connection.recv(4)
    except OSError as error:
        return f"no answer ({error}), {_not_accepted(int(port))} connections not accepted"
    return "an answer" if received else "no answer (connection closed)"


def _not_accepted(port: int) -> int:
    """Return how many connections wait in the accept queues of the listeners on a port (proc(5), /proc/net/tcp)."""
    waiting = 0
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, _, state, queues, *_ = line.split()
        if state == _LISTENING and int(local.rpartition(":")[2], 16) == port:
            waiting += int(queues.rpartition(":")[2], 16)
    return waiting
