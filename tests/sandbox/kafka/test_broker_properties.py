"""The properties of a broker that joins another one. These tests start no JVM: `tests/stream` starts two brokers."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from sandbox.kafka.broker import Broker, BrokerError
from sandbox.kafka.broker_properties import Joining, ZooKeeperAt, properties_text, renumber

if TYPE_CHECKING:
    from pathlib import Path


def rows(text: str) -> dict[str, str]:
    """Parse a text of properties."""
    return dict(line.split("=", 1) for line in text.splitlines())


def test_joining_broker_is_no_controller(tmp_path: Path) -> None:
    """The broker has its own node and listener, and the other one's controller. Given properties have precedence."""
    joining = Joining(node=3, controller_port=5555)
    found = rows(properties_text(tmp_path, (1111, 2222), {"broker.rack": "b"}, joining))
    assert (found["process.roles"], found["node.id"], found["broker.rack"]) == ("broker", "3", "b")
    assert found["controller.quorum.voters"] == "1@127.0.0.1:5555"
    assert found["listeners"] == "PLAINTEXT://127.0.0.1:1111"
    assert "CONTROLLER" in found["listener.security.protocol.map"]


def test_broker_with_zookeeper_has_no_controller(tmp_path: Path) -> None:
    """The broker has one listener and no property of KRaft, which Kafka would refuse."""
    found = rows(properties_text(tmp_path, (1111, 2222), {}, ZooKeeperAt(3333)))
    assert (found["zookeeper.connect"], found["listeners"]) == ("127.0.0.1:3333", "PLAINTEXT://127.0.0.1:1111")
    assert not found.keys() & {"process.roles", "node.id", "controller.quorum.voters", "controller.listener.names"}


def test_copied_log_directory_gets_another_node(tmp_path: Path) -> None:
    """Node number and directory id change, the cluster id is kept."""
    meta = tmp_path / "meta.properties"
    meta.write_text("#a remark\nversion=1\ncluster.id=c\nnode.id=1\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAA\n")
    renumber(tmp_path, 2)
    found = rows(meta.read_text())
    assert (found["version"], found["cluster.id"], found["node.id"]) == ("1", "c", "2")
    assert found["directory.id"] != "AAAAAAAAAAAAAAAAAAAAAA"
    assert len(base64.urlsafe_b64decode(found["directory.id"] + "==")) == 16


def test_joining_a_broker_that_was_not_started_is_an_error(tmp_path: Path) -> None:
    """A broker cannot join a broker that was never started and so has no controller port."""
    with pytest.raises(BrokerError, match="no port before its first start"):
        Broker(tmp_path / "two", joins=Broker(tmp_path / "one"))
