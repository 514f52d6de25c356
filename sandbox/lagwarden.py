"""`lagwarden run` as a process of its own, which answers on a free port of loopback."""

import http.client
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Self

from sandbox.kafka.probe import answer_to_new_client
from sandbox.ports import LOOPBACK, free_port
from sandbox.process import GuardedProcess

STOP_LIMIT: Final = 90.0
_POLL: Final = 0.2
"""Each poll is a request to the process."""


class LagwardenProcess:
    """One `lagwarden run` with its own checkpoint. After `stop`, `start` starts it again with the same one."""

    def __init__(self, bootstrap: str, checkpoint: Path, log: Path, settings: Mapping[str, str]) -> None:
        self.port: Final = free_port()
        self.log: Final = log
        self.bootstrap: Final = bootstrap
        own = {"http.host": LOOPBACK, "http.port": str(self.port), "checkpoint.dir": str(checkpoint)}
        settings = {**own, "log.format": "json", **settings}
        words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        self._command = [sys.executable, "-m", "stream.cli", "run", "--bootstrap-servers", bootstrap, *words]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the process; returns at once."""
        self.process = GuardedProcess(self._command, self.log)

    def stop(self) -> int:
        """Send SIGTERM, as a supervisor does, and return the exit code."""
        return self.process.terminate(STOP_LIMIT)

    def get(self, path: str) -> tuple[int, bytes]:
        """Return status and body of a GET request; status 0 while nothing listens."""
        return get(self.port, path)

    def wait_until_ready(self, limit: float, poll: float = _POLL) -> None:
        """Wait until `/readyz` reports ready. Raises RuntimeError when the process ends or takes too long."""
        self.wait_until(lambda: self.get("/readyz")[0] == http.client.OK, "ready", limit, poll)

    def wait_until(self, fact: Callable[[], bool], what: str, limit: float, poll: float = _POLL) -> None:
        """Wait until a fact is true. Raises RuntimeError with the end of the log."""
        deadline = time.monotonic() + limit
        while not fact():
            if not self.process.running or time.monotonic() > deadline:
                broker = f"the broker gives a new client {answer_to_new_client(self.bootstrap)}"
                raise RuntimeError(f"lagwarden was not {what} after {limit:.0f} s; {broker}, log\n{self.log_tail()}")
            time.sleep(poll)

    def log_tail(self) -> str:
        """Return the last lines of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])


def get(port: int, path: str) -> tuple[int, bytes]:
    """Return status and body of a GET request on loopback; status 0 while nothing listens on the port."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=10)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()
