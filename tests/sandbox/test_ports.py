"""Tests of the ports for servers of tests."""

from __future__ import annotations

import socket

from sandbox.ports import LOOPBACK, accepts, free_port, free_port_pair


def test_no_port_is_returned_twice() -> None:
    """A server that has not started yet, or that restarts, keeps its port."""
    ports = [free_port() for _ in range(1_000)] + [port for _ in range(500) for port in free_port_pair()]
    assert len(set(ports)) == len(ports)


def test_a_port_accepts_connections_while_a_server_listens() -> None:
    """A port accepts connections after its server has begun to listen, and no longer after its end."""
    port = free_port()
    assert not accepts(port)
    with socket.create_server((LOOPBACK, port)):
        assert accepts(port)
    assert not accepts(port)
