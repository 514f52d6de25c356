"""A ZooKeeper server on a free loopback port, for clusters of Kafka before 4.0 without controllers of their own."""

import shutil
import tempfile
from pathlib import Path
from typing import Final, Self

from sandbox.kafka.jars import broker_jars
from sandbox.kafka.java import SMALL_JVM, class_path, find_java
from sandbox.ports import LOOPBACK, accepts, free_port
from sandbox.process import GuardedProcess
from sandbox.waiting import wait_until

KAFKA: Final = "3.9.2"
"""The newest release of Kafka that can use ZooKeeper; its jar set has the server."""
MAIN: Final = "org.apache.zookeeper.server.ZooKeeperServerMain"
START_LIMIT: Final = 60.0
"""Seconds in which the server must open its port."""


class ZooKeeper:
    """`with ZooKeeper() as zookeeper: Broker(version=KAFKA, zookeeper_port=zookeeper.port)`. Its data end with it."""

    def __init__(self) -> None:
        self.port: Final = free_port()
        self._folder: Final = Path(tempfile.mkdtemp(prefix="lagwarden-zookeeper-"))
        self._process: GuardedProcess | None = None

    def __enter__(self) -> Self:
        config = self._folder / "zoo.cfg"
        rows = {
            "dataDir": self._folder / "data",
            "clientPort": self.port,
            "clientPortAddress": LOOPBACK,
            # The server for administrators needs libraries that nothing else needs.
            "admin.enableServer": "false",
        }
        config.write_text("".join(f"{key}={value}\n" for key, value in rows.items()))
        command = [str(find_java()), "-Xmx64m", *SMALL_JVM, "-cp", class_path(broker_jars(KAFKA)), MAIN, str(config)]
        self._process = GuardedProcess(command, self._folder / "zookeeper.log")
        wait_until(lambda: accepts(self.port), "the ZooKeeper server", limit=START_LIMIT)
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
        shutil.rmtree(self._folder, ignore_errors=True)
