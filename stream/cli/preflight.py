"""The checks of `check-config --connect`: whether `lagwarden run` would start on this machine and cluster.

A check returns a sentence on success, a Caution if `run` would start and it needs a look. It raises Refusal
otherwise, with the text and the exit code of `run`.
"""

import errno
import os
import socket
from collections.abc import Callable, Iterator

from stream.checkpoint.lock import unusable
from stream.checkpoint.objects.path import ObjectPath
from stream.cluster.offsets_topic import NAME, describe
from stream.cluster.partition_offsets import read_ends
from stream.cluster.transport.client import Cluster
from stream.config.kafka_login import login_from_options
from stream.config.options import Config
from stream.config.values import is_loopback
from stream.errors import Caution, ExitCode, Refusal
from stream.service.wiring import checkpoint_root, object_storage, open_web_access
from stream.spark.executors.driver_machine import address_for, check_python, check_reachable
from stream.spark.java import find_java
from stream.spark.jvm_process import NO_JAVA, JvmStartError, start_refusal


def run_checks(config: Config) -> Iterator[str | Refusal]:
    """Run all checks in the order of `run`; yields a sentence or the Refusal of each."""
    checks: list[Callable[[Config], str]] = [_port, check_web_access, _java, _checkpoint]
    if config.job.master_url.has_executors:
        checks.append(_executors)
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
            return f"{host} port {port} is free"
    except OSError as error:
        reason = "address already in use" if error.errno == errno.EADDRINUSE else error.strerror
        raise Refusal(
            f"cannot listen on {host} port {port}: {reason}",
            "choose another http.port or http.host",
            ExitCode.PORT_IN_USE,
        ) from error


def check_web_access(config: Config) -> str:
    """Return how the HTTP server is protected, a Caution if it is not."""
    access = open_web_access(config.http)
    tls = "with TLS" if access.has_tls else "without TLS"
    if access.credentials().needed:
        return f"the HTTP server is {tls}, and needs a login"
    if is_loopback(config.http.host):
        return f"the HTTP server is {tls} and without a login, for this machine only"
    return Caution(
        f"the HTTP server is {tls}, and everybody who reaches {config.http.host} port {config.http.port} reads groups,"
        " members and hosts: set http.web_config or http.bearer_token_file (docs/http.md), or http.host=127.0.0.1"
    )


def _java(_: Config) -> str:
    java = find_java()
    if java is None:
        raise start_refusal(JvmStartError(NO_JAVA))
    return f"java is {java}"


def _checkpoint(config: Config) -> str:
    """Check the nearest existing directory, or the object store; the check creates nothing."""
    root = checkpoint_root(config)
    if isinstance(root, ObjectPath):
        return _object_store(config, root)
    checkpoint = root.absolute()
    nearest = next(folder for folder in (checkpoint, *checkpoint.parents) if folder.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise Refusal(
            f"cannot write the checkpoint {checkpoint}: {nearest} is not a writable directory",
            "set checkpoint.dir to a writable directory",
            ExitCode.CHECKPOINT_UNUSABLE,
        )
    return f"the checkpoint {checkpoint} {'exists' if nearest == checkpoint else 'will be created'}"


def _object_store(config: Config, checkpoint: ObjectPath) -> str:
    """Check the jars, and that the store answers and allows to list."""
    object_storage(config)
    try:
        exists = any(checkpoint.iterdir())
    except OSError as error:
        raise unusable(checkpoint, error) from error
    return f"the checkpoint {checkpoint} {'exists' if exists else 'will be created'}"


def _executors(config: Config) -> str:
    """Check what this machine needs for executors; only `run` asks for some, and checks them."""
    job = config.job
    check_python(job.executor_python)
    check_reachable(job.master_url)
    address = job.driver_host or address_for(job.master_url)
    return f"Spark's master is {job.master}, and this machine is {address} for executors"


def _cluster(config: Config) -> Iterator[str]:
    kafka = config.kafka
    with Cluster(kafka.bootstrap_servers, login_from_options(kafka), request_timeout=kafka.request_timeout) as cluster:
        cluster.metadata()
        login = f", logged in as {kafka.principal}" if kafka.principal else ""
        yield f"cluster {cluster.cluster_id} answers (brokers: {len(cluster.brokers)}){login}"
        topic = describe(cluster)
        if topic is None:
            yield f"{NAME} does not exist yet: no group has committed an offset; `run` would wait for the first commit"
            return
        yield f"{NAME} has {len(topic.partitions)} partitions and is readable"
        unknown = read_ends(cluster, [NAME]).column("error").drop_null().to_pylist()
        if unknown:
            yield f"{len(unknown)} of its partitions have no readable end offset now: {', '.join(sorted(set(unknown)))}"
