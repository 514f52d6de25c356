"""Programs of other exporters, if variables name their binaries (`VARIABLES`).

These programs are not part of this project, and no package registry has them as binaries. Each is built from its
repository with `go build`; burrow_exporter needs a `go.mod` first, and the present path of its logging module.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import yaml

from bench.kminion import VARIABLE
from bench.service import get
from sandbox.ports import LOOPBACK, free_port
from sandbox.process import GuardedProcess

VARIABLES: Final = {
    "kafka_exporter": "KAFKA_EXPORTER_BINARY",
    "kminion": VARIABLE,
    "burrow": "BURROW_BINARY",
    "burrow_exporter": "BURROW_EXPORTER_BINARY",
}
"""The variable with the path of the binary, by exporter."""
BY_ADMIN_API: Final = ("kafka_exporter", "kminion")
"""The exporters whose series follow from one moment: they ask the Admin API at every scrape."""
_BURROW: Final = """
[general]
pidfile = "{folder}/burrow.pid"
[client-profile.own]
kafka-version = "3.6.0"
[cluster.{cluster}]
class-name = "kafka"
client-profile = "own"
servers = ["{bootstrap}"]
topic-refresh = 1
offset-refresh = 1
[consumer.{cluster}]
class-name = "kafka"
cluster = "{cluster}"
client-profile = "own"
servers = ["{bootstrap}"]
[storage.own]
class-name = "inmemory"
min-distance = 1
[evaluator.own]
class-name = "caching"
expire-cache = 1
[httpserver.own]
address = "{host}:{port}"
"""


class RunningExporter:
    """An exporter that runs."""

    def __init__(self, port: int) -> None:
        self.port = port

    def metrics(self) -> str:
        """Return the text of a scrape; empty while the exporter does not answer."""
        status, body = get(self.port, "/metrics")
        return body.decode() if status == 200 else ""


@contextlib.contextmanager
def running_exporter(exporter: str, program: Path, bootstrap: str, folder: Path) -> Iterator[RunningExporter]:
    """Run kafka_exporter, or KMinion in the mode that uses the Admin API, on a cluster."""
    port = free_port()
    command, environment = [str(program)], {}
    if exporter == "kafka_exporter":
        # By default the exporter sends each scrape through a channel that it may stop reading before the last series.
        command += ["--concurrent.enable", f"--kafka.server={bootstrap}", f"--web.listen-address={LOOPBACK}:{port}"]
    else:
        config = folder / "kminion.yaml"
        own = {"kafka": {"brokers": [bootstrap]}, "exporter": {"host": LOOPBACK, "port": port}}
        config.write_text(yaml.safe_dump(own | {"minion": {"consumerGroups": {"scrapeMode": "adminApi"}}}))
        environment["CONFIG_FILEPATH"] = str(config)
    yield from _running(command, port, folder / f"{exporter}.log", environment)


@contextlib.contextmanager
def running_burrow(program: Path, bootstrap: str, cluster: str, folder: Path) -> Iterator[RunningExporter]:
    """Run Burrow on a cluster, with offsets of every second and with all records of the offsets topic."""
    port = free_port()
    settings = _BURROW.format(folder=folder, cluster=cluster, bootstrap=bootstrap, host=LOOPBACK, port=port)
    (folder / "burrow.toml").write_text(settings)
    yield from _running([str(program), "--config-dir", str(folder)], port, folder / "burrow.log")


@contextlib.contextmanager
def running_burrow_exporter(program: Path, source: int, folder: Path) -> Iterator[RunningExporter]:
    """Run burrow_exporter on what listens on the port `source`: Burrow, or a monitor that has Burrow's paths."""
    port = free_port()
    options = [f"--burrow-addr=http://{LOOPBACK}:{source}", f"--metrics-addr={LOOPBACK}:{port}"]
    command = [str(program), *options, "--interval=1", "--api-version=3"]
    yield from _running(command, port, folder / f"burrow_exporter-{source}.log")


def _running(
    command: Sequence[str], port: int, log: Path, environment: dict[str, str] | None = None
) -> Iterator[RunningExporter]:
    with GuardedProcess(command, log, env=environment or {}):
        yield RunningExporter(port)
