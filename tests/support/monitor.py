"""Runs `lagwarden run` as a separate process, with requests over HTTP, signals, and its log.

The process is not patched. Only its intervals are shorter than the defaults, so that a test waits for seconds. Tests
whose subject is not the process itself use `tests.support.in_process_job`, which starts in a quarter of the time.
"""

import contextlib
import dataclasses
import functools
import http.client
import json
import os
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from sandbox.kafka.probe import answer_to_new_client
from sandbox.ports import LOOPBACK, free_port
from sandbox.process import GuardedProcess
from stream.config.loader import environment_variable
from stream.config.options import SECRETS
from tests.exporters.openapi_check import check_json
from tests.support.processes import Process, kill_processes, marked_processes, new_mark, patience, wait_until
from tests.support.scrape import Metrics

FAST: Final = {
    "job.tick_interval": "1s",
    "job.trigger_interval": "1s",
    # Tests that wait for a verdict need not wait as long as for a deploy.
    "health.pause": "5s",
    # The state of a test is small, and several JVMs share the machine.
    "job.driver_memory": "512m",
    "http.host": LOOPBACK,
    # Tests compare values of any metric, of groups with any name.
    "metrics.preset": "full",
    "metrics.fold_generated": "0",
}
START_LIMIT: Final = 240.0
"""Seconds from the start to ready; a quiet machine needs a tenth of it."""
STOP_LIMIT: Final = 60.0
"""Seconds from SIGTERM until a test fails. The documented limit is shorter, and tests assert that one."""
_HTTP_SECONDS: Final = patience(10.0)


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """A response over HTTP."""

    status: int
    text: str

    @property
    def json(self) -> Any:
        """The body, parsed as JSON."""
        return json.loads(self.text)


@dataclasses.dataclass(frozen=True, slots=True)
class Ending:
    """The end of the process: exit code (negative: the signal), seconds until it, and children that outlived it."""

    code: int
    seconds: float
    left_behind: tuple[str, ...]


class ObservedMonitor:
    """What a test sees of a monitor: its answers over HTTP and its log. Subclasses start and stop it."""

    def __init__(self, bootstrap: str, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        """Use the options `settings`, which override `FAST`, and a folder for the checkpoint and the log."""
        self.bootstrap: Final = bootstrap
        self.checkpoint: Final = folder / "checkpoint"
        self.log: Final = folder / "monitor.log"
        self.port: Final = free_port()
        self._settings = {**FAST, **(settings or {})}
        self._log_start = 0

    @property
    def running(self) -> bool:
        """True while the monitor runs."""
        raise NotImplementedError

    def _begin(self, *more: str) -> list[str]:
        """Note where the log of this start begins, and return the command line after `lagwarden`."""
        if self.running:
            raise RuntimeError("the monitor is already running")
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        options = [
            word for key, value in self._settings.items() if key not in SECRETS for word in ("--set", f"{key}={value}")
        ]
        return [
            *("run", "--bootstrap-servers", self.bootstrap, "--http-port", str(self.port), "--log-format", "json"),
            *(() if "checkpoint.dir" in self._settings else ("--checkpoint-dir", str(self.checkpoint))),
            *options,
            *more,
        ]

    @property
    def _secrets(self) -> dict[str, str]:
        """Return the environment variables of the options that no command line may have."""
        return {environment_variable(key): value for key, value in self._settings.items() if key in SECRETS}

    # --- requests ---

    def get(self, path: str, accept: str = "*/*") -> Answer:
        """Send a GET request; returns error statuses too. Raises OSError without a response.

        Fails if the response of an operation of the OpenAPI document is not as the document says.
        """
        request = urllib.request.Request(f"http://{LOOPBACK}:{self.port}{path}", headers={"accept": accept})
        try:
            with urllib.request.urlopen(request, timeout=_HTTP_SECONDS) as answer:  # noqa: S310 - http on loopback
                return _checked(path, answer.status, answer)
        except urllib.error.HTTPError as error:
            with error:
                return _checked(path, error.code, error)

    def readiness(self) -> dict[str, Any]:
        """Return the answer of `/readyz`; empty without a response."""
        with contextlib.suppress(OSError):
            return self.get("/readyz").json
        return {}

    def reasons(self) -> str:
        """Return the reasons why the monitor is not ready, in one text."""
        return "; ".join(self.readiness().get("reasons", []))

    def metrics(self) -> Metrics:
        return Metrics(self.get("/metrics").text)

    # --- waiting ---

    def wait_for(self, fact: Callable[[], bool], what: str, limit: float = START_LIMIT) -> None:
        """Wait until `fact` is true. Raises AssertionError with the log at the end of the process or at the limit."""

        def seen() -> bool:
            if not self.running:
                raise AssertionError(f"the monitor ended while waiting for {what}:\n{self.output}")
            with contextlib.suppress(OSError):
                return fact()
            return False

        try:
            wait_until(seen, what, limit=limit)
        except TimeoutError as error:
            broker = answer_to_new_client(self.bootstrap)
            raise AssertionError(
                f"{error}; readiness {self.readiness()}, the broker gives a new client {broker}, output\n{self.output}"
            ) from error

    def wait_answering(self) -> Self:
        """Wait until the monitor answers over HTTP."""
        self.wait_for(lambda: self.get("/livez").status == 200, "an answer over HTTP")
        return self

    def wait_ready(self, limit: float = START_LIMIT) -> Self:
        """Wait until `/readyz` answers 200."""
        self.wait_for(lambda: self.get("/readyz").status == 200, "the monitor to become ready", limit)
        return self

    def wait_batch(self) -> Self:
        """Wait until Spark has ended a batch: without a state the monitor is ready before its JVM is."""
        self.wait_for(lambda: bool(self.metrics().value("lagwarden_batches_total")), "the end of a batch")
        return self

    def wait_ticks(self, ticks: int) -> Metrics:
        """Wait for `ticks` more snapshots, and return the metrics of the last."""
        for _ in range(ticks):
            before = self.metrics().snapshot
            self.wait_for(functools.partial(self._newer_than, before), "another snapshot", 60)
        return self.metrics()

    def _newer_than(self, snapshot: float | None) -> bool:
        return self.metrics().snapshot != snapshot

    def wait_read(self, ends: Mapping[int, int]) -> Metrics:
        """Wait until the offsets topic is read to these ends, then for two ticks; return the metrics after them."""

        def read() -> bool:
            positions = self.metrics().offsets_partitions("position")
            return all(positions.get(partition, -1) >= end for partition, end in ends.items())

        self.wait_for(read, f"the reader to reach {dict(ends)}", 90)
        return self.wait_ticks(2)

    # --- output ---

    @property
    def output(self) -> str:
        """The output since the last start."""
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The log lines since the last start, without other output."""
        found = []
        for line in self.output.splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                found.append(json.loads(line))
        return [line for line in found if isinstance(line, dict)]

    def wait_events(self, event: str, limit: float = 30.0) -> list[dict[str, Any]]:
        """Wait for log lines of one event and return them: a line may follow the state that it reports."""
        self.wait_for(lambda: bool(self.events(event)), f"the log event {event!r}", limit)
        return self.events(event)

    def events(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line.get("event") == event]


class Monitor(ObservedMonitor):
    """One `lagwarden run`: `with Monitor(bootstrap, folder) as monitor: monitor.wait_ready()`.

    After `stop` or `kill`, `start` runs it again over the same checkpoint. `settings` are any options, and override
    `FAST`; `program` replaces the program that Python runs. The whole process group always ends with the test.
    """

    def __init__(
        self,
        bootstrap: str,
        folder: Path,
        settings: Mapping[str, str] | None = None,
        *,
        program: Sequence[str] = ("-m", "stream.cli"),
    ) -> None:
        super().__init__(bootstrap, folder, settings)
        self._program = tuple(program)
        self._mark = new_mark()
        self._process: GuardedProcess | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self, *more: str) -> Self:
        """Start the process, with additional arguments; do not wait for it."""
        command = [sys.executable, *self._program, *self._begin(*more)]
        self._process = GuardedProcess(command, self.log, env={**self._mark, **self._secrets})
        return self

    @property
    def running(self) -> bool:
        """True while the process runs."""
        return self._process is not None and self._process.running

    @property
    def pid(self) -> int:
        """The id of the process and of its process group."""
        return self._started.pid

    @property
    def jvm(self) -> int:
        (found,) = (process.pid for process in self.processes if process.role == "jvm")
        return found

    @property
    def processes(self) -> list[Process]:
        """Return the living processes of the monitor, orphans of earlier starts included, each with its role."""
        return marked_processes(self._mark, self.pid)

    @property
    def _started(self) -> GuardedProcess:
        if self._process is None:
            raise RuntimeError("the monitor was not started")
        return self._process

    # --- ending ---

    def stop(self) -> Ending:
        """Send SIGTERM, as a supervisor does, and wait for the end."""
        os.kill(self.pid, signal.SIGTERM)
        return self.ending()

    def ending(self, limit: float = STOP_LIMIT) -> Ending:
        """Wait for the end of the process. Raises AssertionError with the log when it does not end."""
        process, began = self._started, time.monotonic()
        try:
            wait_until(lambda: not process.running, "the monitor to end", limit=limit, pause=0.05)
        except TimeoutError as error:
            raise AssertionError(f"{error}; output\n{self.output}") from error
        seconds = time.monotonic() - began
        # A JVM notices the end of its parent after a moment.
        with contextlib.suppress(TimeoutError):
            wait_until(lambda: not self.processes, "its children to end", limit=45)
        left = tuple(each.command for each in self.processes)
        return Ending(process.kill(), seconds, left)

    def close(self) -> None:
        """End all processes; for `contextlib.closing`."""
        self.kill()

    def kill(self) -> None:
        """Kill all processes of the monitor at once, like a power cut."""
        if self._process is not None:
            self._process.kill()
            kill_processes(self._mark, self._process.pid)


def _checked(path: str, code: int, response: http.client.HTTPResponse | urllib.error.HTTPError) -> Answer:
    """Read a response, and check it against the OpenAPI document if that has the path."""
    text = response.read().decode()
    check_json(path.partition("?")[0], code, response.headers["content-type"], text)
    return Answer(code, text)
