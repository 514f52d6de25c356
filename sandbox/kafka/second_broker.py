"""A second broker beside the first, for one topic whose leader is to die. It has no controller of its own.

Topics and the transaction log are made before it starts, so that it holds nothing but what is put there by name.
"""

from __future__ import annotations

import base64
import shutil
import uuid
from typing import TYPE_CHECKING, Final

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined] # its stubs do not re-export it

from sandbox.clients.members import client_config
from sandbox.kafka.broker import Broker
from sandbox.kafka.broker_properties import formatted_folder
from sandbox.ports import LOOPBACK, free_port_pair
from sandbox.waiting import LIMIT, wait_until

if TYPE_CHECKING:
    from pathlib import Path

FIRST: Final = 1
SECOND: Final = 2
VOTERS: Final = "controller.quorum.voters"


class SecondBroker(Broker):
    """Joins the cluster of a broker that runs."""

    def __init__(self, first: Broker, folder: Path) -> None:
        super().__init__(folder)
        self._ports = free_port_pair()
        self._properties |= {
            "process.roles": "broker",
            "node.id": str(SECOND),
            VOTERS: _voters(first),
            "listeners": f"PLAINTEXT://{LOOPBACK}:{self.port}",
        }
        shutil.copytree(formatted_folder(self.version), self.data)
        meta = self.data / "meta.properties"
        kept = [line for line in meta.read_text().splitlines() if not line.startswith(("node.id=", "directory.id="))]
        # Two brokers must not claim the same directory.
        directory = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        meta.write_text("\n".join([*kept, f"node.id={SECOND}", f"directory.id={directory}", ""]))

    def lead(self, topic: str, first: Broker) -> None:
        """Make a topic of one partition that this broker leads and the first one follows."""
        admin = AdminClient(client_config(first.bootstrap))
        wanted = NewTopic(topic, num_partitions=1, replica_assignment=[[SECOND, FIRST]])
        admin.create_topics([wanted])[topic].result(LIMIT)

        def in_sync() -> bool:
            found = admin.list_topics(topic, timeout=LIMIT).topics[topic].partitions.get(0)
            return found is not None and found.leader == SECOND and set(found.isrs) == {FIRST, SECOND}

        wait_until(in_sync, f"{topic} to be led by the second broker")


def _voters(first: Broker) -> str:
    rows = (first.folder / "server.properties").read_text().splitlines()
    return next(row.partition("=")[2] for row in rows if row.startswith(VOTERS))
