"""The recorded clients as a table, and the commands that run them.

Libraries that are no dependency of the project are installed into the cache folder, at the versions of the table.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from sandbox.cache import cache_folder
from sandbox.clients.java_clients import compiled
from sandbox.collector.program import build
from sandbox.kafka.jars import BROKER, broker_jars, jar_set, streams_jars
from sandbox.kafka.java import SMALL_JVM, class_path, find_java
from sandbox.ports import free_port
from sandbox.programs.go_program import built

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HERE: Final = Path(__file__).resolve().parent
CONFLUENT: Final = "2.16.1"
CONFLUENT_JS: Final = "@confluentinc/kafka-javascript"
KAFKA_PYTHON: Final = "3.0.12"


class Client(NamedTuple):
    """A client: its name in files, its title, version and language, and the names of its program and its package.

    `variant` is the first argument of the program.
    """

    name: str
    title: str
    version: str
    language: Literal["java", "connect", "python", "node", "go", "collector", "rust"]
    variant: str
    package: str = ""
    since: str = "1.1.1"
    """The first release of brokers whose groups it can join."""
    members: bool = True
    """False for a client that assigns partitions to itself: it joins no group."""


CLIENTS: Final = (
    Client("java-classic", "Java consumer, classic", BROKER, "java", "classic"),
    Client("java-cooperative", "Java consumer, classic, cooperative", BROKER, "java", "cooperative"),
    Client("java-static", "Java consumer, classic, static", BROKER, "java", "static"),
    Client("java-consumer", "Java consumer, KIP-848", BROKER, "java", "consumer", since="4.0.2"),
    Client("java-static-consumer", "Java consumer, KIP-848, static", BROKER, "java", "static-consumer", since="4.0.2"),
    Client("java-share", "Java share consumer", BROKER, "java", "share", since="4.2.1"),
    Client("streams-classic", "Kafka Streams, classic", BROKER, "java", "streams-classic"),
    Client("streams", "Kafka Streams, KIP-1071", BROKER, "java", "streams", since="4.2.1"),
    Client("connect", "Kafka Connect, a worker without connectors", BROKER, "connect", "cli.ConnectDistributed worker"),
    Client("connect-sink", "Kafka Connect, a sink", BROKER, "connect", "cli.ConnectStandalone worker sink"),
    Client("mirror-mm2", "MirrorMaker 2, at the target", BROKER, "connect", "mirror.MirrorMaker mirror"),
    Client("spring", "Spring Kafka", "4.1.2", "java", "", "spring"),
    Client("flink", "Flink's Kafka source", "5.0.0-2.2", "java", "", "flink", members=False),
    Client("spark", "Spark's Kafka source", "4.2.0", "python", "spark", members=False),
    Client("confluent-kafka", "confluent-kafka (librdkafka), classic", CONFLUENT, "python", "confluent"),
    Client(
        "confluent-kafka-consumer", "confluent-kafka, KIP-848", CONFLUENT, "python", "confluent consumer", since="4.0.2"
    ),
    Client("kafka-python", "kafka-python", KAFKA_PYTHON, "python", "kafka-python"),
    Client("aiokafka", "aiokafka", "0.14.0", "python", "aiokafka", "aiokafka"),
    Client("rdkafka", "rdkafka for Rust", "0.39.0", "rust", ""),
    Client("confluent-kafka-javascript", "@confluentinc/kafka-javascript", "1.10.1", "node", "", CONFLUENT_JS),
    Client("kafkajs", "KafkaJS", "2.2.4", "node", "kafkajs", "kafkajs"),
    Client("franz-go", "franz-go, classic", "1.22.3", "go", "franz-go"),
    Client("franz-go-consumer", "franz-go, KIP-848", "1.22.3", "go", "franz-go-next", since="4.0.2"),
    Client("collector", "OpenTelemetry collector, Kafka receiver", "0.165.0", "collector", ""),
    Client("sarama", "sarama", "1.61.1", "go", "sarama"),
    Client("kafka-go", "kafka-go", "0.4.51", "go", "kafka-go"),
)


def command(client: Client, bootstrap: str, number: int, folder: Path, source: str = "") -> list[str]:
    """Return the command that runs member `number` of the client's group.

    `folder` is for files that the member needs while it runs; `source` is the bootstrap of the cluster that is
    mirrored. Installs or builds what is missing. Raises CalledProcessError or the errors of Java and Go programs.
    """
    arguments = [bootstrap, client.name]
    values = {"bootstrap": bootstrap, "group": client.name, "number": number, "source": source, "folder": folder}
    match client.language:
        case "java":
            jars = jar_set(client.package) if client.package else streams_jars()
            program = HERE / f"{client.package.title() or 'Consume'}.java"
            return [*_java([*jars, compiled(program, jars)]), program.stem, client.variant, *arguments, str(number)]
        case "connect":
            main, *names = client.variant.split()
            # A distributed worker takes it for a setting of its topic of offsets, which is then refused.
            own = f"offset.storage.file.filename={folder}/{client.name}-{number}.offsets" if "sink" in names else ""
            files = [
                _configured(f"{name}.properties", values | {"port": free_port(), "offsets": own}) for name in names
            ]
            jars = [*{jar.name: jar for jar in (*jar_set("connect"), *broker_jars())}.values()]
            return [*_java(jars), f"org.apache.kafka.connect.{main}", *files]
        case "python":
            added = f"PYTHONPATH={_installed(client)}" if client.package else "_="
            if client.variant == "spark":
                added = f"PYSPARK_SUBMIT_ARGS=--jars {','.join(map(str, jar_set('spark')))} pyspark-shell"
            return ["env", added, sys.executable, str(HERE / "consume.py"), client.variant, *arguments]
        case "node":
            module = _installed(client) / "node_modules" / client.package
            return ["node", str(HERE / "consume.js"), str(module), *arguments]
        case "go":
            words = [str(built(HERE / "module", "recorded-clients", "the clients for Go")), client.variant, *arguments]
        case "rust":
            target = cache_folder() / "programs" / f"rust-{client.version}"
            manifest = ["--manifest-path", str(HERE / "rust" / "Cargo.toml"), "--target-dir", str(target)]
            subprocess.run(["cargo", "build", "--quiet", "--release", *manifest], check=True)
            words = [str(target / "release" / "recorded-clients"), *arguments]
        case "collector":
            words = [str(build()), "--config", _configured("collector.yaml", values)]
    return words


def _java(jars: Sequence[Path]) -> list[str]:
    return [str(find_java()), "-Xmx256m", *SMALL_JVM, "-cp", class_path(jars)]


def _configured(name: str, values: Mapping[str, object]) -> str:
    """Write the configuration `name` of this folder with the values of a member, and return its path."""
    path = Path(f"{values['folder']}/{values['group']}-{values['number']}-{name}")
    path.write_text((HERE / name).read_text().format_map(values))
    return str(path)


def _installed(client: Client) -> Path:
    """Return the folder in which the package of a client is installed."""
    folder = cache_folder() / "clients" / f"{client.package.replace('/', '-')}-{client.version}"
    # Confluent's client is built against the libraries of the machine, where its binary cannot be downloaded.
    npm = ["env", "CKJS_LINKING=dynamic", "npm", "install", "--silent", "--no-audit", f"--prefix={folder}"]
    pip = [sys.executable, "-m", "pip", "install", "-q", "--target", str(folder)]
    if not folder.exists():
        node = client.language == "node"
        words = [*npm, f"{client.package}@{client.version}"] if node else [*pip, f"{client.package}=={client.version}"]
        subprocess.run(words, check=True)
    return folder
