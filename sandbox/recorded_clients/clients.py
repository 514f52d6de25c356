"""The recorded clients as a table, and the commands that run them.

Libraries that are no dependency of the project are installed into the cache folder, at the versions of the table.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from sandbox.cache import cache_folder
from sandbox.kafka.compiler import compile_java
from sandbox.kafka.jars import BROKER, broker_jars, jar_set, streams_jars
from sandbox.kafka.java import SMALL_JVM, class_path, find_java
from sandbox.ports import LOOPBACK, free_port
from sandbox.programs.go_program import built

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE: Final = Path(__file__).resolve().parent
CONFLUENT: Final = "2.16.1"
KAFKA_PYTHON: Final = "3.0.12"
CONNECT: Final = "org.apache.kafka.connect.cli.ConnectDistributed"


class Client(NamedTuple):
    """A client: its name in files, its title, version and language, and the names of its program and its package.

    `variant` is the first argument of the program.
    """

    name: str
    title: str
    version: str
    language: Literal["java", "connect", "python", "node", "go"]
    variant: str
    package: str = ""
    since: str = "1.1.1"
    """The first release of brokers whose groups it can join."""


CLIENTS: Final = (
    Client("java-classic", "Java consumer, classic", BROKER, "java", "classic"),
    Client("java-cooperative", "Java consumer, classic, cooperative", BROKER, "java", "cooperative"),
    Client("java-static", "Java consumer, classic, static", BROKER, "java", "static"),
    Client("java-consumer", "Java consumer, KIP-848", BROKER, "java", "consumer", since="4.0.2"),
    Client("java-static-consumer", "Java consumer, KIP-848, static", BROKER, "java", "static-consumer", since="4.0.2"),
    Client("java-share", "Java share consumer", BROKER, "java", "share", since="4.2.1"),
    Client("streams-classic", "Kafka Streams, classic", BROKER, "java", "streams-classic"),
    Client("streams", "Kafka Streams, KIP-1071", BROKER, "java", "streams", since="4.2.1"),
    Client("connect", "Kafka Connect, a worker without connectors", BROKER, "connect", ""),
    Client("confluent-kafka", "confluent-kafka (librdkafka), classic", CONFLUENT, "python", "confluent"),
    Client(
        "confluent-kafka-consumer", "confluent-kafka, KIP-848", CONFLUENT, "python", "confluent-consumer", since="4.0.2"
    ),
    Client("kafka-python", "kafka-python", KAFKA_PYTHON, "python", "kafka-python"),
    Client("aiokafka", "aiokafka", "0.14.0", "python", "aiokafka", "aiokafka"),
    Client("kafkajs", "KafkaJS", "2.2.4", "node", "kafkajs", "kafkajs"),
    Client("franz-go", "franz-go, classic", "1.22.3", "go", "franz-go"),
    Client("franz-go-consumer", "franz-go, KIP-848", "1.22.3", "go", "franz-go-next", since="4.0.2"),
    Client("sarama", "sarama", "1.61.1", "go", "sarama"),
    Client("kafka-go", "kafka-go", "0.4.51", "go", "kafka-go"),
)


def command(client: Client, bootstrap: str, number: int, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return the command that runs member `number` of the client's group, and additions to its environment.

    `folder` is for files that the member needs while it runs. Installs or builds what is missing. Raises
    CalledProcessError or the errors of Java and Go programs.
    """
    arguments = [bootstrap, client.name]
    match client.language:
        case "java":
            return [*_java(), client.variant, *arguments, str(number)], {}
        case "connect":
            jars = {jar.name: jar for jar in (*jar_set("connect"), *broker_jars())}
            config = _worker_properties(folder / f"{client.name}-{number}.properties", bootstrap, client.name)
            path = class_path([*jars.values()])
            return [str(find_java()), "-Xmx128m", *SMALL_JVM, "-cp", path, CONNECT, str(config)], {}
        case "python":
            added = {"PYTHONPATH": str(_installed(client))} if client.package else {}
            return [sys.executable, str(HERE / "consume.py"), client.variant, *arguments], added
        case "node":
            module = _installed(client) / "node_modules" / client.package
            return ["node", str(HERE / "consume.js"), str(module), *arguments], {}
        case "go":
            program = built(HERE / "module", "recorded-clients", "the clients for Go")
            return [str(program), client.variant, *arguments], {}


def _worker_properties(path: Path, bootstrap: str, group: str) -> Path:
    """Write the properties of a worker with a port of its own, and return their path."""
    topics = {
        f"{kind}.storage.{key}": value
        for kind in ("config", "offset", "status")
        for key, value in (("topic", f"{group}-{kind}s"), ("replication.factor", "1"))
    }
    converters = dict.fromkeys(("key.converter", "value.converter"), "org.apache.kafka.connect.storage.StringConverter")
    rows = {
        **topics,
        **converters,
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "session.timeout.ms": "6000",
        "heartbeat.interval.ms": "1000",
        "listeners": f"http://{LOOPBACK}:{free_port()}",
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
    }
    path.write_text("".join(f"{key}={value}\n" for key, value in rows.items()))
    return path


def _java() -> list[str]:
    folder, jars = cache_folder() / "programs" / f"Consume-{BROKER}", streams_jars()
    source = HERE / "Consume.java"
    compiled = folder / "Consume.class"
    if not compiled.exists() or compiled.stat().st_mtime < source.stat().st_mtime:
        folder.mkdir(parents=True, exist_ok=True)
        compile_java(source, jars, folder)
    return [str(find_java()), "-Xmx96m", *SMALL_JVM, "-cp", class_path([*jars, folder]), "Consume"]


def _installed(client: Client) -> Path:
    """Return the folder in which the package of a client is installed."""
    folder = cache_folder() / "clients" / f"{client.package}-{client.version}"
    if not folder.exists():
        _run(
            [
                "npm",
                "install",
                "--silent",
                "--no-fund",
                "--no-audit",
                "--prefix",
                f"{folder}",
                f"{client.package}@{client.version}",
            ]
            if client.language == "node"
            else [
                sys.executable,
                "-m",
                "pip",
                "install",
                "-q",
                "--target",
                f"{folder}",
                f"{client.package}=={client.version}",
            ]
        )
    return folder


def _run(words: Sequence[str]) -> None:
    subprocess.run(words, check=True)
