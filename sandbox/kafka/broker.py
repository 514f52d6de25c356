"""A real KRaft broker from cached jars on free loopback ports: starts in about a second and leaves nothing behind.

`Broker` owns the folder and the process of one broker. What makes it fast (a class archive, a log directory that is
formatted once and copied) is cached under `sandbox.cache`. It always listens on 127.0.0.1, unsecured.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from confluent_kafka.admin import AdminClient, NewTopic

from sandbox.kafka.broker_properties import (
    SETTINGS_OF_RELEASES,
    Joining,
    Voting,
    ZooKeeperAt,
    formatted_folder,
    properties_text,
    renumber,
)
from sandbox.kafka.jars import BROKER, broker_jars
from sandbox.kafka.java import SMALL_JVM, ClassArchive, class_path, find_java
from sandbox.ports import LOOPBACK, accepts, free_port_pair
from sandbox.process import GuardedProcess
from sandbox.waiting import LIMIT, LoadedLimit, wait_until

START_LIMIT: Final = 60.0
"""Seconds of a quiet machine in which a broker must open its port; a kill with many partitions makes it a quarter."""
STOP_LIMIT: Final = 30.0
LOG_FLAGS: Final = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
)


class BrokerError(RuntimeError):
    """The broker did not start, or its log reports a missing class. The message quotes the log."""


class Broker:
    """One broker: `with Broker() as broker: ... broker.bootstrap`. After `stop` or `kill`, `start` restarts it.

    It keeps its ports and its data over restarts. `folder` contains data, properties and log; without one `close`
    removes the temporary folder. `properties` are Kafka's and win over the sandbox's. A broker that `joins` another
    one, which must be running, is node number `node` of its cluster and must be stopped first. `voting` makes it one of
    several controllers, which start only together (`sandbox.kafka.quorum`). With `zookeeper_port` its cluster has
    ZooKeeper (`sandbox.kafka.zookeeper`), which needs a version before 4. `jars` replace those of the version; `jvm`
    are additional flags.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        version: str = BROKER,
        offsets_partitions: int = 4,
        heap: str = "256m",
        properties: Mapping[str, str] | None = None,
        joins: Broker | None = None,
        node: int = 2,
        voting: Voting | None = None,
        zookeeper_port: int | None = None,
        jars: Sequence[Path] | None = None,
        jvm: Sequence[str] = (),
    ) -> None:
        self._joining: Joining | Voting | ZooKeeperAt | None = voting
        if joins is not None:
            self._joining = Joining(node, joins.controller_port)
        elif zookeeper_port is not None:
            self._joining = ZooKeeperAt(zookeeper_port)
        self._version = version
        self._own_folder = folder is None
        self.folder: Final = folder or Path(tempfile.mkdtemp(prefix="lagwarden-broker-"))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log: Final = self.folder / "broker.log"
        self.properties = {"offsets.topic.num.partitions": str(offsets_partitions), **(properties or {})}
        self._heap = heap
        self._jars = jars
        self._jvm = tuple(jvm)
        self._process: GuardedProcess | None = None
        self._draft: Path | None = None
        self._ports: tuple[int, int] | None = None if voting is None else voting.ports[voting.node]
        atexit.register(self.close)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def version(self) -> str:
        """The release of Kafka whose jars the broker runs."""
        return self._version

    @property
    def bootstrap(self) -> str:
        """The address for clients, the same over restarts. Known once the broker was started."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def port(self) -> int:
        """The port of the listener. Raises BrokerError before the first start."""
        if self._ports is None:
            raise BrokerError("a broker has no port before its first start")
        return self._ports[0]

    @property
    def controller_port(self) -> int:
        """The port of the controller's listener. Raises BrokerError before the first start."""
        if self._ports is None:
            raise BrokerError("a controller has no port before its first start")
        return self._ports[1]

    @property
    def data(self) -> Path:
        """The broker's log directory: a folder per partition with its segments."""
        return self.folder / "data"

    @property
    def pid(self) -> int | None:
        """The broker's process id; None while it does not run."""
        return self._process.pid if self._process and self._process.running else None

    @property
    def running(self) -> bool:
        """True while the broker's process exists, also while it is paused."""
        return self.pid is not None

    def start(self) -> Self:
        """Start the broker unless it runs, and wait until it accepts connections. Raises BrokerError."""
        if self.running:
            return self
        first = self._ports is None
        for attempt in range(3):
            if first:
                self._ports = free_port_pair()
            if self._launch():
                return self
            if not (first and attempt < 2 and "Address already in use" in self.log_tail(200)):
                break
        self.kill()
        raise BrokerError(f"the broker did not start; its log {self.log} ends:\n{self.log_tail(15)}")

    def stop(self) -> None:
        """Stop the broker with SIGTERM; its data stay. Raises BrokerError when its log reports a missing class."""
        if self._process is None:
            return
        self._process.terminate(STOP_LIMIT)
        self._process = None
        self._keep_archive()
        self.check_log()

    def restart_as(self, version: str) -> Self:
        """Stop the broker and start it with the jars of another release over the same data. Raises BrokerError."""
        self.stop()
        self._version = version
        return self.start()

    def kill(self) -> None:
        """Kill the broker with SIGKILL, as a power failure would; its data stay."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def pause(self) -> None:
        """Freeze the broker (SIGSTOP): connections stay open, nothing is answered."""
        if self._process is not None:
            self._process.pause()

    def resume(self) -> None:
        """Continue a paused broker."""
        if self._process is not None:
            self._process.resume()

    def close(self) -> None:
        """Stop the broker if it runs, and remove its temporary folder."""
        atexit.unregister(self.close)
        try:
            self.stop()
        finally:
            if self._own_folder:
                shutil.rmtree(self.folder, ignore_errors=True)

    def check_log(self) -> None:
        """Raise BrokerError when the log reports a missing class: a broker fails only when it needs the jar."""
        for line in self.log.read_text(errors="replace").splitlines():
            if "NoClassDefFoundError" in line or "ClassNotFoundException" in line:
                raise BrokerError(f"a jar is missing in the jar set of the broker: {line.strip()}")

    def log_tail(self, lines: int) -> str:
        """Return the last lines of the broker's log."""
        if not self.log.exists():
            return "(no log)"
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def _launch(self) -> bool:
        """Start the process once; returns whether it opened its port."""
        if not self.data.exists() and not isinstance(self._joining, ZooKeeperAt):
            shutil.copytree(formatted_folder(self.version), self.data)
            if self._joining is not None:
                renumber(self.data, self._joining.node)
        config = self.folder / "server.properties"
        config.write_text(self._properties_text())
        jars = self._used_jars()
        archive = ClassArchive.build(f"broker-{self.version}", jars, SMALL_JVM)
        self._draft = None if archive.exists else archive.draft(str(self.port))
        sharing = archive.flags_to_use() if self._draft is None else archive.flags_to_write(self._draft)
        self._process = GuardedProcess(
            [
                *(str(find_java()), f"-Xmx{self._heap}", *SMALL_JVM, *LOG_FLAGS, *self._jvm, *sharing),
                *("-cp", class_path(jars), "kafka.Kafka", str(config)),
            ],
            self.log,
        )
        return self._is_listening()

    def _properties_text(self) -> str:
        of_release = {} if isinstance(self._joining, ZooKeeperAt) else SETTINGS_OF_RELEASES.get(self.version, {})
        properties = {**of_release, **self.properties}
        return properties_text(self.data, self._ports or free_port_pair(), properties, self._joining)

    def _is_listening(self) -> bool:
        """Wait until the port is open, the process has ended, or the limit has passed; returns whether it is open."""
        limit = LoadedLimit(START_LIMIT)
        while self.running and not limit.reached():
            if accepts(self.port):
                return True
            time.sleep(0.02)
        return False

    def _keep_archive(self) -> None:
        """Move the class archive that a first run wrote at its end to its path."""
        if self._draft is not None:
            ClassArchive.build(f"broker-{self.version}", self._used_jars(), SMALL_JVM).adopt(self._draft)
            self._draft = None

    def _used_jars(self) -> Sequence[Path]:
        return broker_jars(self.version) if self._jars is None else self._jars


def create_topics(bootstrap: str, partitions: Mapping[str, int], config: Mapping[str, str] | None = None) -> None:
    """Create topics (name -> number of partitions) and wait until every partition has a leader.

    Raises KafkaException when a topic exists already, and TimeoutError when a partition has no leader in time.
    """
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    new_topics = [
        NewTopic(name, count, replication_factor=1, config=dict(config or {})) for name, count in partitions.items()
    ]
    for done in admin.create_topics(new_topics).values():
        done.result(LIMIT)
    wait_until(lambda: _have_leaders(admin, partitions), f"leaders of {', '.join(partitions)}")


def create_topic_led_by(bootstrap: str, topic: str, *, leader: int, followers: Sequence[int] = ()) -> None:
    """Create a topic with one partition on these brokers, given by node number, and wait until all are in sync.

    Raises KafkaException, or TimeoutError when the replicas are not in sync in time.
    """
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    replicas = [leader, *followers]
    admin.create_topics([NewTopic(topic, num_partitions=1, replica_assignment=[replicas])])[topic].result(LIMIT)

    def in_sync() -> bool:
        found = admin.list_topics(topic, timeout=LIMIT).topics[topic].partitions.get(0)
        return found is not None and found.leader == leader and set(found.isrs) == set(replicas)

    wait_until(in_sync, f"broker {leader} to lead {topic}")


def _have_leaders(admin: AdminClient, partitions: Mapping[str, int]) -> bool:
    topics = admin.list_topics(timeout=LIMIT).topics
    return all(
        name in topics and [each.leader >= 0 for each in topics[name].partitions.values()] == [True] * count
        for name, count in partitions.items()
    )
