"""`lagwarden run` on very many groups, measured from outside: starts, batches, ticks, memory, answers.

Everything is read from its own endpoints and from /proc. A tick is timed from the moment that its ends were read (the
snapshot's own timestamp) until readers see the snapshot; CPU is measured as well, because the machine may be busy.
"""

from __future__ import annotations

import dataclasses
import http.client
import json
import sys
import time
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from bench.processes import DRIVER, Watch, cpu_seconds, resident_bytes
from sandbox.ports import LOOPBACK, free_port
from sandbox.process import GuardedProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TRIGGER_SECONDS: Final = 5.0
_READY_LIMIT: Final = 900.0
_LIMIT: Final = 300.0
_STOP_SECONDS: Final = 90.0
_POLL_SECONDS: Final = 0.2
"""Each poll is a request to the process that is measured."""
_PAGE: Final = 10_000
_BATCHES: Final = "lagwarden_batches_total"
_BATCH_SECONDS: Final = "lagwarden_last_batch_duration_seconds"
_READ: Final = "lagwarden_records_read_total"
_SNAPSHOT: Final = "lagwarden_snapshot_timestamp_seconds"


@dataclasses.dataclass(frozen=True, slots=True)
class MonitorStart:
    """A start of the service, until `/readyz` answers 200. Memory is the peak of each role until then."""

    what: str
    seconds: float
    cpu: dict[str, float]
    peak: dict[str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Tick:
    """One tick: from the ends read to the snapshot seen, and the driver's CPU since the tick before."""

    seconds: float
    since_last: float
    cpu: float


@dataclasses.dataclass(frozen=True, slots=True)
class Batch:
    """One round of commits: how long Spark took for it, and the CPU of the whole tree until it was done."""

    records: int
    seconds: float
    cpu: dict[str, float]


class Monitor:
    """A `lagwarden run` that the benchmark starts and stops."""

    def __init__(self, bootstrap: str, checkpoint: Path, log: Path, settings: Mapping[str, str]) -> None:
        self._port = free_port()
        self._settings = {"http.host": LOOPBACK, **settings}
        options = ["--http-port", str(self._port), "--checkpoint-dir", str(checkpoint), "--log-format", "json"]
        changed = [part for key, value in self._settings.items() for part in ("--set", f"{key}={value}")]
        program = str(Path(sys.executable).with_name("lagwarden"))
        self._command = [program, "run", "--bootstrap-servers", bootstrap, *options, *changed]
        self._log = log

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        self._process = GuardedProcess(self._command, self._log)
        self._watch = Watch(self._process.pid).__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.stop()
        self._process.kill()

    @property
    def pid(self) -> int:
        """The process id of the driver."""
        return self._process.pid

    def ready(self, what: str) -> MonitorStart:
        """Wait until the monitor is ready, and return the measurements of its start."""
        self._until(lambda: self._get("/readyz")[0] == http.client.OK, "ready", _READY_LIMIT)
        seconds = time.monotonic() - self._began
        self._watch.stop()
        return MonitorStart(what, seconds, dict(self._watch.cpu), dict(self._watch.peak))

    def stop(self) -> float:
        """Send SIGTERM, and return the seconds until the exit. Raises RuntimeError when the exit code is not 0."""
        began = time.monotonic()
        code = self._process.terminate(_STOP_SECONDS)
        if code:
            raise RuntimeError(f"lagwarden ended with {code}:\n{_tail(self._log)}")
        return time.monotonic() - began

    def number(self, metric: str) -> float:
        """Return the sum of the current samples of a metric; 0 if there is none."""
        return sum(self.samples(metric).values())

    def samples(self, metric: str) -> dict[str, float]:
        """Return the samples of a metric, by name with labels."""
        text = self._get(f"/metrics?name[]={metric}")[1].decode()
        lines = (line.rpartition(" ") for line in text.splitlines() if line.startswith(metric))
        return {name: float(value) for name, _, value in lines}

    def group(self, name: str) -> dict[str, Any]:
        """Return the answer of `/api/v1/group` for a group."""
        answer: dict[str, Any] = json.loads(self._get(f"/api/v1/group?name={urllib.parse.quote(name)}")[1])
        return answer

    def partitions_by_group(self) -> dict[str, int]:
        """Return the number of partitions of every group, from pages of `/api/v1/groups`."""
        found: dict[str, int] = {}
        start: int | None = 0
        while start is not None:
            page = json.loads(self._get(f"/api/v1/groups?sort=name&start={start}&limit={_PAGE}")[1])
            found |= {row["group"]: row["partitions"] for row in page["groups"]}
            start = page["next"]
        return found

    def scrape(self, encoding: str) -> tuple[int, float]:
        """Scrape `/metrics`, and return the bytes on the wire and the seconds."""
        began = time.monotonic()
        return len(self._get("/metrics", encoding)[1]), time.monotonic() - began

    def resident_between_ticks(self) -> int:
        """Return the least resident bytes of the driver process from one snapshot to the next."""
        before, sizes = self.number(_SNAPSHOT), [self._resident()]

        def is_next() -> bool:
            sizes.append(self._resident())
            return self.number(_SNAPSHOT) > before

        self._until(is_next, "showing a new snapshot", _LIMIT)
        return min(sizes)

    def _resident(self) -> int:
        return resident_bytes(self._process.pid)[DRIVER]

    def peak(self) -> int:
        """Return the peak resident bytes of the driver process, which it has during a tick."""
        status = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))

    def ticks(self, count: int) -> list[Tick]:
        """Return the measurements of `count` ticks; the first observed snapshot only starts the clocks."""
        found: list[Tick] = []
        before = self._next_snapshot(self.number(_SNAPSHOT))[0]
        used = cpu_seconds(self._process.pid)[DRIVER]
        while len(found) < count:
            taken, seen = self._next_snapshot(before)
            cpu = cpu_seconds(self._process.pid)[DRIVER]
            found.append(Tick(seen - taken, taken - before, cpu - used))
            before, used = taken, cpu
        return found

    def batch(self, write: Callable[[], int]) -> Batch:
        """Write records for one trigger, and wait until they are read."""
        wanted = self.number(_READ)
        time.sleep(TRIGGER_SECONDS - time.time() % TRIGGER_SECONDS + 0.2)
        before, used = self.number(_BATCHES), cpu_seconds(self._process.pid)
        records = write()
        self._until(lambda: self.number(_READ) >= wanted + records, "done with a batch", _LIMIT)
        self._until(lambda: self.number(_BATCHES) > before, "done with a batch", _LIMIT)
        cpu = cpu_seconds(self._process.pid) - used
        return Batch(records, self.number(_BATCH_SECONDS), dict(cpu))

    def _next_snapshot(self, before: float) -> tuple[float, float]:
        self._until(lambda: self.number(_SNAPSHOT) > before, "showing a new snapshot", _LIMIT)
        return self.number(_SNAPSHOT), time.time()

    def _until(self, fact: Callable[[], bool], what: str, limit: float) -> None:
        deadline = time.monotonic() + limit
        while not fact():
            if not self._process.running or time.monotonic() > deadline:
                raise RuntimeError(f"lagwarden was not {what} after {limit:.0f} s:\n{_tail(self._log)}")
            time.sleep(_POLL_SECONDS)

    def _get(self, path: str, encoding: str = "identity") -> tuple[int, bytes]:
        """Return status and body of a GET request; status 0 while nothing listens on the port."""
        connection = http.client.HTTPConnection(LOOPBACK, self._port, timeout=60)
        try:
            connection.request("GET", path, headers={"Accept-Encoding": encoding})
            response = connection.getresponse()
            return response.status, response.read()
        except OSError:
            return 0, b""
        finally:
            connection.close()


def folder_bytes(folder: Path) -> int:
    """Return the total size of the files of a folder; files that are deleted meanwhile count as 0."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue
    return total


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-15:])
