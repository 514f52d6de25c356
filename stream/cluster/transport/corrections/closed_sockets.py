"""Closes the socket of a connection that was refused.

Symptom: kafka-python leaves such sockets to the garbage collector ("ResourceWarning: unclosed socket"), which is late
in a process that collects seldom.
"""

import socket
from collections.abc import Sequence
from typing import Any

from kafka.errors import KafkaConnectionError
from kafka.net.inet import KafkaNetSocket


async def open_socket(
    net: Any, host: str, port: int, options: Sequence[tuple[int, int, int]], deadline: float | None
) -> socket.socket:
    """Connect to the first address of a host that accepts. Raises the error of the last address if none does."""
    network = KafkaNetSocket()
    problem: Exception = KafkaConnectionError("DNS Resolution failure")
    for family, kind, protocol, _, address in network.dns_lookup(host, port):
        candidate = socket.socket(family, kind, protocol)
        try:
            candidate.setblocking(False)
            for option in options:
                candidate.setsockopt(*option)
            await network.sock_connect(net, candidate, address, timeout_at=deadline)
        except Exception as error:  # noqa: BLE001 -- the next address may work, and the last error is raised
            candidate.close()
            problem = error
        else:
            return candidate
    raise problem
