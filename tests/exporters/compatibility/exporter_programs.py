"""Programs of other exporters, if variables name their binaries: `KAFKA_EXPORTER_BINARY`, `KMINION_BINARY`.

These programs are not part of this project, and no package registry has them.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

import yaml

from bench.kminion import VARIABLE
from bench.service import get
from sandbox.ports import LOOPBACK, free_port
from sandbox.process import GuardedProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VARIABLES: Final = {"kafka_exporter": "KAFKA_EXPORTER_BINARY", "kminion": VARIABLE}
"""The variable with the path of the binary, by exporter."""


class RunningExporter:
    """An exporter that runs."""

    def __init__(self, port: int) -> None:
        self._port = port

    def metrics(self) -> str:
        """Return the text of a scrape; empty while the exporter does not answer."""
        status, body = get(self._port, "/metrics")
        return body.decode() if status == 200 else ""


@contextlib.contextmanager
def running_exporter(exporter: str, program: Path, bootstrap: str, folder: Path) -> Iterator[RunningExporter]:
    """Run an exporter on a cluster; KMinion uses the Admin API."""
    port = free_port()
    command, environment = [str(program)], {}
    if exporter == "kafka_exporter":
        # By default the exporter sends each scrape through a channel that it may stop reading before the last series.
        command += ["--concurrent.enable", f"--kafka.server={bootstrap}", f"--web.listen-address={LOOPBACK}:{port}"]
    else:
        config = folder / "kminion.yaml"
        settings = {
            "kafka": {"brokers": [bootstrap]},
            "minion": {"consumerGroups": {"scrapeMode": "adminApi"}},
            "exporter": {"host": LOOPBACK, "port": port},
        }
        config.write_text(yaml.safe_dump(settings))
        environment["CONFIG_FILEPATH"] = str(config)
    with GuardedProcess(command, folder / f"{exporter}.log", env=environment):
        yield RunningExporter(port)
