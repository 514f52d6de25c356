"""The properties of a sandbox broker, each with its reason, and its log directory, which is formatted only once."""

import base64
import contextlib
import dataclasses
import subprocess
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sandbox.cache import cache_folder
from sandbox.kafka.jars import broker_jars
from sandbox.kafka.java import SMALL_JVM, class_path, find_java
from sandbox.ports import LOOPBACK

CLUSTER_ID: Final = "bGFnd2FyZGVuc2FuZGJveA"
"""The cluster id of every sandbox broker, 16 bytes in base64; the formatted log directory contains it."""

SMALL: Final[dict[str, str]] = {
    # One broker cannot replicate.
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # By default fifty partitions each are created and loaded at first use, which takes a second or two.
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "4",
    # Tests wait for groups to form; there is no rolling deployment to wait for.
    "group.initial.rebalance.delay.ms": "0",
    # The cleaner's buffer is 128 MB and an index 10 MB per segment by default.
    "log.cleaner.dedupe.buffer.size": "2097152",
    "log.index.size.max.bytes": "1048576",
    # A topic that was not created is an error that must show.
    "auto.create.topics.enable": "false",
    # A killed broker can register again only when the session of its previous process has ended: 9 s by default.
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
    # Few threads for few clients.
    "num.network.threads": "2",
    "num.io.threads": "4",
}

SETTINGS_OF_RELEASES: Final[dict[str, dict[str, str]]] = {
    # Consumer groups of KIP-848 are a preview there. With them, offsets are written by the coordinator of Kafka 4.
    "3.7.2": {
        "group.coordinator.rebalance.protocols": "classic,consumer",
        "unstable.api.versions.enable": "true",
        # That coordinator refuses offsets of transactions otherwise, with INVALID_TXN_STATE.
        "transaction.partition.verification.enable": "false",
    },
    "3.8.1": {"group.coordinator.rebalance.protocols": "classic,consumer"},
    "3.9.2": {"group.coordinator.rebalance.protocols": "classic,consumer"},
}
"""Properties of brokers of a release with KRaft, in addition to SMALL.

A release ignores properties that it does not know.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Joining:
    """A broker without a controller that joins the cluster of another one as node number `node` (2 or more)."""

    node: int
    controller_port: int


@dataclasses.dataclass(frozen=True, slots=True)
class Voting:
    """A broker and controller that is node number `node` of a quorum of several.

    `ports` are those of all its nodes by number: of brokers' listeners and of controllers' listeners.
    """

    node: int
    ports: Mapping[int, tuple[int, int]]

    def rows(self) -> dict[str, str]:
        """Return the properties by which the node differs from a single one."""
        voters = (f"{node}@{LOOPBACK}:{port}" for node, (_, port) in self.ports.items())
        return {"node.id": str(self.node), "controller.quorum.voters": ",".join(voters)}


@dataclasses.dataclass(frozen=True, slots=True)
class ZooKeeperAt:
    """The only broker of a cluster whose metadata are in the ZooKeeper server at this port; Kafka 3 only."""

    port: int

    def rows(self) -> dict[str, str]:
        """Return the properties in place of those of a controller."""
        return {"broker.id": "1", "zookeeper.connect": f"{LOOPBACK}:{self.port}"}


def properties_text(
    data: Path,
    ports: tuple[int, int],
    properties: Mapping[str, str],
    joining: Joining | Voting | ZooKeeperAt | None = None,
) -> str:
    """Return the text of a `server.properties`; `properties` win over the sandbox's own.

    The process is broker and controller, or only a broker when it joins another one or has ZooKeeper.
    """
    port, controller_port = ports
    if isinstance(joining, ZooKeeperAt):
        listener = {"listeners": f"PLAINTEXT://{LOOPBACK}:{port}", "log.dirs": str(data)}
        return _text({**joining.rows(), **listener, **SMALL, **properties})
    rows = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller_port}",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{port},CONTROLLER://{LOOPBACK}:{controller_port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(data),
        **SMALL,
        **({} if joining is None else joining.rows() if isinstance(joining, Voting) else _joining_rows(port, joining)),
        **properties,
    }
    return _text(rows)


def _text(rows: Mapping[str, str]) -> str:
    return "".join(f"{key}={value}\n" for key, value in rows.items())


def _joining_rows(port: int, joining: Joining) -> dict[str, str]:
    return {
        "process.roles": "broker",
        "node.id": str(joining.node),
        "controller.quorum.voters": f"1@{LOOPBACK}:{joining.controller_port}",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{port}",
    }


def renumber(data: Path, node: int) -> None:
    """Set the node number of a copied log directory, and a new directory id."""
    meta = data / "meta.properties"
    rows = dict(line.split("=", 1) for line in meta.read_text().splitlines() if line and not line.startswith("#"))
    rows |= {"node.id": str(node), "directory.id": base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")}
    meta.write_text("".join(f"{key}={value}\n" for key, value in rows.items()))


def formatted_folder(version: str) -> Path:
    """Return a formatted log directory to copy; the first call formats it with a JVM start, then it is cached."""
    folder = cache_folder() / "formatted" / version
    if (folder / "meta.properties").exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        fresh = Path(scratch) / "data"
        config = Path(scratch) / "server.properties"
        config.write_text(properties_text(fresh, (9092, 9093), {}))
        _storage_tool(version, config)
        # When two processes format at the same time, the second one finds a finished folder and uses that.
        with contextlib.suppress(OSError):
            fresh.rename(folder)
    return folder


def _storage_tool(version: str, config: Path) -> None:
    command = [
        *(str(find_java()), *SMALL_JVM, "-cp", class_path(broker_jars(version)), "kafka.tools.StorageTool"),
        *("format", "-t", CLUSTER_ID, "-c", str(config)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"kafka-storage format failed: {(done.stderr or done.stdout).strip()}")
