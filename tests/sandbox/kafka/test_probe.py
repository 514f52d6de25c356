"""Tests of the probe with a broker, and with listeners that do not answer."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from sandbox.kafka.probe import answer_to_new_client
from sandbox.ports import LOOPBACK, free_port

if TYPE_CHECKING:
    from sandbox.kafka.broker import Broker


@pytest.mark.kafka
def test_a_broker_answers(broker: Broker) -> None:
    """A broker answers the first request of a connection."""
    assert answer_to_new_client(broker.bootstrap) == "an answer"


def test_connections_that_a_process_does_not_accept_are_counted() -> None:
    """The kernel opens the connection, and the process neither accepts it nor answers."""
    with socket.create_server((LOOPBACK, 0)) as server:
        found = answer_to_new_client(f"{LOOPBACK}:{server.getsockname()[1]}", 0.1)
    assert found == "no answer (timed out), 1 connections not accepted"


def test_a_free_port_refuses() -> None:
    """Nothing listens: the reason is the error of the connection."""
    assert answer_to_new_client(f"{LOOPBACK}:{free_port()}").startswith("no answer ([Errno 111] Connection refused)")
