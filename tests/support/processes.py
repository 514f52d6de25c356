"""Processes that carry a mark in their environment, and the role that each of them has in a running monitor.

The limits of all waits of the tests with processes are here: TEST_SLOWNESS multiplies them on a slow machine.

A process group is not sufficient: the daemon of Python workers creates its own group, so the workers are outside the
group of the monitor. The environment is inherited by every descendant and survives the death of the parent.
"""

import contextlib
import dataclasses
import os
import signal
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal, TypeVar

from sandbox import waiting

T = TypeVar("T")
SLOWNESS: Final = float(os.environ.get("TEST_SLOWNESS", "1"))
"""How many times as long as usual tests wait before they fail. It changes no assertion about the monitor.

Its name has no LAGWARDEN_ in front: the monitor refuses a variable of that form that is none of its options.
"""
MARK: Final = "MONITOR_UNDER_TEST"
_DAEMONS: Final = ("stream.spark.worker_daemon", "pyspark.daemon")
"""The daemons of Python workers: that of tasks, and Spark's own, which it starts for the planning of the source."""
Role = Literal["driver", "jvm", "daemon", "worker", "helper"]
"""The role of a process in a running monitor; a helper is a shell, a launcher or another short-lived program."""


@dataclasses.dataclass(frozen=True, slots=True)
class Process:
    """One living process of a monitor: its id, the id of its parent, its role, and its command line (cut short)."""

    pid: int
    parent: int
    role: Role
    command: str


@dataclasses.dataclass(frozen=True, slots=True)
class _Entry:
    """A process in /proc."""

    parent: int
    group: int
    command: str


def patience(seconds: float) -> float:
    """Return the limit of a wait that takes at most so many seconds on an ordinary machine."""
    return seconds * SLOWNESS


LIMIT: Final = patience(waiting.LIMIT)
"""Seconds that a test waits for a client or for most other things."""


def eventually(call: Callable[[], T]) -> T:
    """Return the result of `call`, which is repeated on a KafkaException; after `LIMIT` the last one is raised."""
    return waiting.eventually(call, limit=LIMIT)


def wait_until(condition: Callable[[], bool], what: str, *, limit: float = waiting.LIMIT, pause: float = 0.1) -> None:
    """Wait until the condition is true. After `patience(limit)` s raises TimeoutError with the text `what`."""
    waiting.wait_until(condition, what, limit=patience(limit), pause=pause)


def new_mark() -> dict[str, str]:
    """Return an environment entry that no other process has."""
    return {MARK: uuid.uuid4().hex}


def marked_processes(mark: dict[str, str], driver: int) -> list[Process]:
    """Return the living processes that were started with this mark; `driver` is the process id of the first of them."""
    wanted = "=".join(*mark.items()).encode()
    entries = {}
    for folder in Path("/proc").glob("[0-9]*"):
        # A process may end while it is being read; one of another user cannot be read and has no mark.
        with contextlib.suppress(OSError, ValueError):
            if wanted not in (folder / "environ").read_bytes().split(b"\0"):
                continue
            # After the name in parentheses, which may contain any character: state, parent, process group.
            state, parent, group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
            if state not in "ZX":
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                entries[int(folder.name)] = _Entry(int(parent), int(group), command)
    return [Process(pid, each.parent, _role(pid, entries, driver), each.command[:200]) for pid, each in entries.items()]


def _role(pid: int, entries: Mapping[int, _Entry], driver: int) -> Role:
    own = entries[pid]
    parent = entries.get(own.parent)
    if pid == driver:
        return "driver"
    if any(f"-m {module}" in own.command for module in _DAEMONS):
        # The daemon leads the process group in which it forks its workers.
        return "daemon" if pid == own.group or (parent is not None and "java" in parent.command) else "worker"
    spark = "PythonGatewayServer" in own.command and "java" in own.command
    # A child of the JVM has the command line of the JVM until its exec.
    return "jvm" if spark and own.parent not in entries.keys() - {driver} else "helper"


def kill_processes(mark: dict[str, str], driver: int) -> None:
    """Kill all processes with this mark, until none is left."""
    while left := marked_processes(mark, driver):
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
