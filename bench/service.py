"""Measures `lagwarden run`: from the start of the process to a correct answer, and again after a stop."""

from __future__ import annotations

import dataclasses
import http.client
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.processes import Watch
from bench.verify import metric_differences
from sandbox.ports import LOOPBACK, free_port
from sandbox.process import GuardedProcess

if TYPE_CHECKING:
    from bench.oracle import FinalState
    from bench.traffic import Traffic

_LIMIT: Final = 300.0
_STOP_SECONDS: Final = 60.0
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
    port = free_port()
    began = time.monotonic()
    command = _command(bootstrap, port, scratch / "checkpoint")
    with (
        GuardedProcess(command, scratch / "lagwarden.log") as process,
        Watch(process.pid) as watch,
    ):
        while get(port, "/readyz")[0] != http.client.OK:
            if not process.running or time.monotonic() - began > _LIMIT:
                raise RuntimeError(f"lagwarden did not become ready:\n{tail(process.log)}")
            time.sleep(0.02)
        seconds = time.monotonic() - began
        text = get(port, "/metrics")[1].decode()
        watch.stop()
        stopping = time.monotonic()
        code = process.terminate(_STOP_SECONDS)
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


def _command(bootstrap: str, port: int, checkpoint: Path) -> list[str]:
    program = str(Path(sys.executable).with_name("lagwarden"))
    options = ["--http-port", str(port), "--checkpoint-dir", str(checkpoint), "--log-format", "json"]
    # The oracle has the commit time of each partition, which other presets and the budget leave out.
    settings = [
        "--set",
        f"http.host={LOOPBACK}",
        "--set",
        "metrics.preset=full",
        "--set",
        "metrics.series_budget=10000000",
    ]
    return [program, "run", "--bootstrap-servers", bootstrap, *options, *settings]


def get(port: int, path: str) -> tuple[int, bytes]:
    """Return status and body of a GET request on loopback; status 0 while nothing listens on the port."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=10)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    except OSError:
        return 0, b""
    finally:
        connection.close()


def _records_read(text: str) -> int:
    return sum(int(float(line.rpartition(" ")[2])) for line in text.splitlines() if line.startswith(_RECORDS_READ))


def tail(log: Path) -> str:
    """Return the last lines of a log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-15:])
