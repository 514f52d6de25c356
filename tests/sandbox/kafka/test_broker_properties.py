"""What a broker that joins another one is configured with. No JVM: `tests/stream` runs two of them."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from sandbox.kafka.broker import Broker, BrokerError
from sandbox.kafka.broker_properties import Joining, properties_text, renumber

if TYPE_CHECKING:
    from pathlib import Path


def rows(text: str) -> dict[str, str]:
    """Read a file of properties."""
    return dict(line.split("=", 1) for line in text.splitlines())


def test_one_that_joins_is_no_controller(tmp_path: Path) -> None:
    """It has its own number and listener, and asks the controller of the other; what a test sets wins."""
    joining = Joining(node=3, controller_port=5555)
    told = rows(properties_text(tmp_path, (1111, 2222), {"broker.rack": "b"}, joining))
    assert (told["process.roles"], told["node.id"], told["broker.rack"]) == ("broker", "3", "b")
    assert told["controller.quorum.voters"] == "1@127.0.0.1:5555"
    assert told["listeners"] == "PLAINTEXT://127.0.0.1:1111"
    assert "CONTROLLER" in told["listener.security.protocol.map"]


def test_a_copied_folder_becomes_that_of_another_node(tmp_path: Path) -> None:
    """Its number and its directory's id are its own, the cluster's id is kept."""
    meta = tmp_path / "meta.properties"
    meta.write_text("#a remark\nversion=1\ncluster.id=c\nnode.id=1\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAA\n")
    renumber(tmp_path, 2)
    told = rows(meta.read_text())
    assert (told["version"], told["cluster.id"], told["node.id"]) == ("1", "c", "2")
    assert told["directory.id"] != "AAAAAAAAAAAAAAAAAAAAAA"
    assert len(base64.urlsafe_b64decode(told["directory.id"] + "==")) == 16


def test_nobody_joins_a_broker_that_was_never_started(tmp_path: Path) -> None:
    """Its controller has no port yet."""
    with pytest.raises(BrokerError, match="no port before its first start"):
        Broker(tmp_path / "two", joins=Broker(tmp_path / "one"))
