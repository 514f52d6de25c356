"""What `lagwarden run` would meet here and on the cluster, found out without starting it: `check-config --connect`.

Owns the list of checks. Each is a function that gives a sentence on success and raises Refusal otherwise, with the
words and the exit code that `run` would have.
"""

from __future__ import annotations

import errno
import os
import shutil
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from stream.cluster.offsets_topic import NAME, describe
from stream.cluster.partition_offsets import read_ends
from stream.cluster.transport.client import Cluster
from stream.config import kafka_login as security
from stream.errors import ExitCode, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stream.config.options import Config


def run_checks(config: Config) -> Iterator[str | Refusal]:
    """Make all checks, in the order in which `run` would meet them; a refusal is a value here."""
    checks: list[Callable[[Config], str]] = [_port, _java, _jars, _checkpoint]
    for check in checks:
        try:
            yield check(config)
        except Refusal as refusal:
            yield refusal
    try:
        yield from _cluster(config)
    except Refusal as refusal:
        yield refusal


def _port(config: Config) -> str:
    host, port = config.http.host, config.http.port
    try:
        with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET):
            return f"{host} port {port} can be listened on"
    except OSError as error:
        reason = "it is in use" if error.errno == errno.EADDRINUSE else error.strerror
        raise Refusal(
            f"cannot listen on {host} port {port}: {reason}",
            "choose another http.port or http.host",
            ExitCode.PORT_IN_USE,
        ) from error


def _java(_: Config) -> str:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    if java is None:
        where = f"JAVA_HOME ({home})" if home else "PATH"
        raise Refusal(f"no java in {where}", "install a Java 17 runtime", ExitCode.SPARK_UNAVAILABLE)
    return f"java is {java}"


def _jars(config: Config) -> str:
    folder = config.job.connector_jars
    count = len(list(folder.glob("*.jar")))
    if not count:
        raise Refusal(
            f"no jars of Spark's Kafka connector in {folder}",
            "set job.connector_jars to the folder that holds them (`make setup` fills one)",
            ExitCode.SPARK_UNAVAILABLE,
        )
    return f"{count} jars of the Kafka connector in {folder}"


def _checkpoint(config: Config) -> str:
    """Check the nearest folder that exists: nothing is created by looking."""
    wanted = config.checkpoint.dir.absolute()
    near = next(folder for folder in (wanted, *wanted.parents) if folder.exists())
    if not near.is_dir() or not os.access(near, os.W_OK | os.X_OK):
        raise Refusal(
            f"the checkpoint {wanted} cannot be written: {near} is not a writable folder",
            "set checkpoint.dir to a folder that lagwarden may write",
            ExitCode.CHECKPOINT_UNUSABLE,
        )
    return f"the checkpoint {wanted} {'exists' if near == wanted else 'will be created'}"


def _cluster(config: Config) -> Iterator[str]:
    kafka = config.kafka
    options = security.client_options(kafka)
    with Cluster(kafka.bootstrap_servers, options, request_timeout=kafka.request_timeout) as cluster:
        cluster.metadata()
        login = f", logged in as {kafka.sasl_username}" if kafka.sasl_username else ""
        yield f"cluster {cluster.cluster_id} answers (brokers: {len(cluster.brokers)}){login}"
        topic = describe(cluster)
        if topic is None:
            yield f"{NAME} does not exist yet: no group has ever committed, and `run` would wait for the first"
            return
        yield f"{NAME} has {len(topic.partitions)} partitions and may be read"
        unknown = read_ends(cluster, [NAME]).column("error").drop_null().to_pylist()
        if unknown:
            yield f"{len(unknown)} of its partitions do not answer now: {', '.join(sorted(set(unknown)))}"
