"""Measures `lagwarden run`: from the start of the process to a correct answer, and again after a stop."""

import dataclasses
import time
from pathlib import Path
from typing import Final

from bench.monitor import Monitor
from bench.oracle import FinalState
from bench.processes import Watch
from bench.traffic import Traffic
from bench.verify import metric_differences

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
        Watch(monitor.pid) as watch,
    ):
        monitor.wait_until_ready(poll=0.02)
        seconds = time.monotonic() - began
        text = monitor.metrics()
        watch.stop()
        stopping = time.monotonic()
        code = monitor.end()
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
