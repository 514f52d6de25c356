"""A `lagwarden run` that a benchmark starts, feeds and stops; what it does is read from its own endpoints."""

import http.client
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Self

from sandbox.ports import LOOPBACK, free_port
from sandbox.process import GuardedProcess

TRIGGER_SECONDS: Final = 5.0
_READY_LIMIT: Final = 900.0
_LIMIT: Final = 300.0
_STOP_SECONDS: Final = 90.0
_POLL_SECONDS: Final = 0.2
"""Each poll is a request to the process that is measured."""
_BATCHES: Final = "lagwarden_batches_total"
_READ: Final = "lagwarden_records_read_total"
_SNAPSHOT: Final = "lagwarden_snapshot_timestamp_seconds"


class Monitor:
    """A `lagwarden run` that the benchmark starts and stops."""

    def __init__(self, bootstrap: str, checkpoint: Path, log: Path, settings: Mapping[str, str]) -> None:
        self._port = free_port()
        options = ["--http-port", str(self._port), "--checkpoint-dir", str(checkpoint), "--log-format", "json"]
        settings = {"http.host": LOOPBACK, **settings}
        changed = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
        program = str(Path(sys.executable).with_name("lagwarden"))
        self._command = [program, "run", "--bootstrap-servers", bootstrap, *options, *changed]
        self._log = log

    def __enter__(self) -> Self:
        self._process = GuardedProcess(self._command, self._log)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()

    @property
    def pid(self) -> int:
        """The process id of the driver."""
        return self._process.pid

    def wait_until_ready(self, poll: float = _POLL_SECONDS) -> None:
        """Wait until the monitor is ready. Raises RuntimeError when it ends or takes too long."""
        self._until(lambda: get(self._port, "/readyz")[0] == http.client.OK, "ready", _READY_LIMIT, poll)

    def stop(self) -> None:
        """Send SIGTERM, and wait for the exit. Raises RuntimeError when the exit code is not 0."""
        if code := self.end():
            raise RuntimeError(f"lagwarden ended with {code}:\n{tail(self._log)}")

    def end(self) -> int:
        """Send SIGTERM, and return the exit code."""
        return self._process.terminate(_STOP_SECONDS)

    def metrics(self, query: str = "") -> str:
        """Return the text of `/metrics`."""
        return get(self._port, f"/metrics{query}")[1].decode()

    def number(self, metric: str) -> float:
        """Return the sum of the current samples of a metric; 0 if there is none."""
        return sum(self.samples(metric).values())

    def samples(self, metric: str) -> dict[str, float]:
        """Return the samples of a metric, by name with labels."""
        text = self.metrics(f"?name[]={metric}")
        lines = (line.rpartition(" ") for line in text.splitlines() if line.startswith(metric))
        return {name: float(value) for name, _, value in lines}

    def wait_for_ticks(self, count: int) -> None:
        """Wait until the snapshot has been replaced `count` times."""
        for _ in range(count):
            self._wait_for_snapshot_after(self.number(_SNAPSHOT))

    def _wait_for_snapshot_after(self, before: float) -> None:
        self._until(lambda: self.number(_SNAPSHOT) > before, "showing a new snapshot", _LIMIT)

    def write_batch(self, write: Callable[[], int]) -> None:
        """Write records for one trigger, and wait until they are read."""
        wanted = self.number(_READ)
        time.sleep(TRIGGER_SECONDS - time.time() % TRIGGER_SECONDS + 0.2)
        before = self.number(_BATCHES)
        wanted += write()
        self._until(lambda: self.number(_READ) >= wanted, "done with a batch", _LIMIT)
        self._until(lambda: self.number(_BATCHES) > before, "done with a batch", _LIMIT)

    def _until(self, fact: Callable[[], bool], what: str, limit: float, poll: float = _POLL_SECONDS) -> None:
        deadline = time.monotonic() + limit
        while not fact():
            if not self._process.running or time.monotonic() > deadline:
                raise RuntimeError(f"lagwarden was not {what} after {limit:.0f} s:\n{tail(self._log)}")
            time.sleep(poll)


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


def tail(log: Path) -> str:
    """Return the last lines of a log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-15:])
