"""Measures `lagwarden run` and KMinion: from the start of the process to a correct answer, and again after a stop.

Measures KMinion on the same topic: from the start of its process to a correct lag of every partition.

KMinion is not part of this project. Build it from its repository (`go build -o kminion .`; the measurements of
docs/internals/performance.md used revision 4f3867a), and name the binary in the variable KMINION_BINARY. It also
reads `__consumer_offsets` (`scrapeMode: offsetsTopic`) and otherwise has its default configuration.
"""

import dataclasses
import http.client
import os
import re
import time
from pathlib import Path
from typing import Final

import numpy as np
import yaml

from bench.monitor import READY_LIMIT, Monitor
from bench.processes import Watch
from bench.traffic import Traffic
from bench.verify import FinalState, metric_differences
from sandbox.lagwarden import get
from sandbox.ports import LOOPBACK, free_port
from sandbox.process import GuardedProcess

# The oracle has the commit time of each partition, which other presets and the budget leave out.
_SETTINGS: Final = {"metrics.preset": "full", "metrics.series_budget": "10000000"}
_RECORDS_READ: Final = "lagwarden_records_read_total{"


@dataclasses.dataclass(frozen=True, slots=True)
class Start:
    """One start: seconds until `/readyz` answers 200, CPU and memory until then, differences from the oracle."""

    what: str
    seconds: float
    cpu: dict[str, float]
    peak: dict[str, int]
    records_read: int
    stop_seconds: float
    exit_code: int
    differences: list[str]


def start_and_restart(bootstrap: str, traffic: Traffic, wanted: FinalState, scratch: Path) -> list[Start]:
    """Start the service on an empty checkpoint, stop it, and start it again on the same one."""
    names = ("process start to ready", "restart to ready")
    return [start(name, bootstrap, traffic, wanted, scratch) for name in names]


def start(what: str, bootstrap: str, traffic: Traffic, wanted: FinalState, scratch: Path) -> Start:
    """Start the service on the checkpoint below `scratch`, stop it when it has answered, and return its figures."""
    began = time.monotonic()
    with (
        Monitor(bootstrap, scratch / "checkpoint", scratch / "lagwarden.log", _SETTINGS) as monitor,
        Watch(monitor.process.pid) as watch,
    ):
        monitor.wait_until_ready(READY_LIMIT, poll=0.02)
        seconds = time.monotonic() - began
        text = monitor.metrics()
        watch.stop()
        stopping = time.monotonic()
        code = monitor.stop()
        stopped = time.monotonic() - stopping
    wrong = metric_differences(text, wanted, traffic)
    return Start(
        what,
        seconds,
        dict(watch.cpu),
        dict(watch.peak),
        _records_read(text),
        stopped,
        code,
        wrong,
    )


def _records_read(text: str) -> int:
    return sum(int(float(line.rpartition(" ")[2])) for line in text.splitlines() if line.startswith(_RECORDS_READ))


VARIABLE: Final = "KMINION_BINARY"
_LIMIT: Final = 300.0
_SAMPLE: Final = re.compile(r"^kminion_kafka_consumer_group_topic_partition_lag\{([^}]*)\} (\S+)$", re.MULTILINE)
_LABEL: Final = re.compile(r'(\w+)="([^"]*)"')


def binary(variable: str = VARIABLE) -> Path | None:
    """Return the binary that the variable names; None if it is not set. Raises FileNotFoundError."""
    named = os.environ.get(variable)
    if not named:
        return None
    if not Path(named).is_file():
        raise FileNotFoundError(f"{variable}: {named} is not a file")
    return Path(named)


def start_kminion(program: Path, bootstrap: str, traffic: Traffic, wanted: FinalState, scratch: Path) -> Start:
    """Start KMinion and wait until it is ready and its lags are the oracle's. Raises RuntimeError after 300 s."""
    port = free_port()
    config = scratch / "kminion.yaml"
    config.write_text(yaml.safe_dump(_config(bootstrap, port)))
    began = time.monotonic()
    environment = {"CONFIG_FILEPATH": str(config)}
    with (
        GuardedProcess([str(program)], scratch / "kminion.log", env=environment) as process,
        Watch(process.pid) as watch,
    ):
        while True:
            if not process.running or time.monotonic() - began > _LIMIT:
                raise RuntimeError(f"KMinion did not become right; see {process.log}")
            if get(port, "/ready")[0] == http.client.OK:
                text = get(port, "/metrics")[1].decode()
                if not lag_differences(text, wanted, traffic):
                    break
            time.sleep(0.02)
        seconds = time.monotonic() - began
        watch.stop()
        code = process.terminate(10)
    return Start("KMinion, start to right", seconds, dict(watch.cpu), dict(watch.peak), traffic.records, 0.0, code, [])


def lag_differences(text: str, wanted: FinalState, traffic: Traffic) -> int:
    """Return how many partitions of groups have no lag, or another one than the oracle's."""
    shown = {}
    for labels, value in _SAMPLE.findall(text):
        label = dict(_LABEL.findall(labels))
        shown[label["group_id"], label["topic_name"], int(label["partition_id"])] = float(value)
    wrong = 0
    for key in np.flatnonzero(wanted.alive).tolist():
        group, partition = divmod(key, traffic.partitions_per_group)
        lag = shown.get((traffic.group(group), traffic.topic(group), partition))
        wrong += lag != traffic.log_end - int(wanted.offset[key])
    return wrong


def _config(bootstrap: str, port: int) -> dict[str, object]:
    return {
        "kafka": {"brokers": [bootstrap]},
        "minion": {"consumerGroups": {"scrapeMode": "offsetsTopic"}},
        "exporter": {"host": LOOPBACK, "port": port},
    }
