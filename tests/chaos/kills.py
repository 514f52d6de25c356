"""One kill: moves the monitor to a phase, kills a process by role, and checks how the monitor recovers."""

import contextlib
import dataclasses
import os
import random
import signal
import time
from collections.abc import Callable
from typing import Final, Literal

from stream.errors import ExitCode
from tests.chaos.traffic import make_backlog
from tests.support.monitor import Monitor
from tests.support.processes import Role, wait_until

Phase = Literal["start", "run", "stop", "catch-up"]
PHASES: Final[tuple[Phase, ...]] = ("start", "run", "stop", "catch-up")
ROLES: Final[tuple[Role, ...]] = ("driver", "jvm", "daemon", "worker")

_DELAYS: Final[dict[Phase, float]] = {"start": 1.5, "run": 2.0, "stop": 1.0, "catch-up": 2.0}
"""The longest time in seconds between the start of the phase and the kill."""
_LIMIT: Final = 120.0
_SMALL_BATCHES: Final = ("--set", "job.max_offsets_per_trigger=1000")


@dataclasses.dataclass(frozen=True, slots=True)
class Kill:
    """The role of the killed process, and the phase of the monitor."""

    role: Role
    phase: Phase

    def __str__(self) -> str:
        return f"{self.role:6} in {self.phase:8}"


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a kill: if a process was hit, and the exit code of the monitor (None: still running)."""

    hit: bool
    code: int | None

    def __str__(self) -> str:
        if not self.hit:
            return "nothing to kill"
        return "went on        " if self.code is None else f"exit code {self.code:<5}"


def kill(monitor: Monitor, what: Kill, chance: random.Random) -> Outcome:
    """Kill one process of a running monitor, and return when the monitor has ended or works again.

    This asserts that an ended monitor leaves no process behind and has a documented exit code.
    """
    _enter(monitor, what)
    time.sleep(chance.uniform(0, _DELAYS[what.phase]))
    hit = _kill_one(monitor, what.role, chance)
    if what.phase != "stop" and not _ends(monitor):
        return Outcome(hit, None)
    ending = monitor.ending(60)
    assert ending.left_behind == (), f"{what} left processes behind"
    allowed = {-signal.SIGKILL} if what.role == "driver" and hit else _ALLOWED[what.phase == "stop"]
    assert ending.code in allowed, f"{what}: exit code {ending.code}, and it has logged\n{monitor.output}"
    return Outcome(hit, ending.code)


_ALLOWED: Final = {
    True: {ExitCode.OK, ExitCode.QUERY_FAILED},
    False: {ExitCode.QUERY_FAILED, ExitCode.SPARK_UNAVAILABLE},
}
"""Exit codes, by whether SIGTERM was sent. A killed JVM or worker is no internal error of the monitor."""


def _enter(monitor: Monitor, what: Kill) -> None:
    """Move the monitor to the phase, and wait until the process to kill exists."""
    if what.phase in {"run", "stop"}:
        _wait(lambda: bool(_of_role(monitor, what.role)), f"{what} to exist")
        if what.phase == "stop":
            os.kill(monitor.pid, signal.SIGTERM)
        return
    monitor.kill()
    if what.phase == "catch-up":
        make_backlog(monitor.bootstrap)
        monitor.start(*_SMALL_BATCHES)
        _wait(lambda: monitor.readiness().get("phase") == "catching up", "the catch-up to begin")
    else:
        monitor.start()
    _wait(lambda: bool(_of_role(monitor, what.role)), f"{what} to exist")


def _wait(fact: Callable[[], bool], what: str) -> None:
    wait_until(fact, what, limit=_LIMIT, pause=0.02)


def _of_role(monitor: Monitor, role: Role) -> list[int]:
    return sorted(process.pid for process in monitor.processes if process.role == role)


def _kill_one(monitor: Monitor, role: Role, chance: random.Random) -> bool:
    """Kill one process of the role; return False if none exists, which is possible during a stop."""
    found = _of_role(monitor, role)
    if found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(chance.choice(found), signal.SIGKILL)
            return True
    return False


def _ends(monitor: Monitor) -> bool:
    """Wait until the monitor ends or, while ready, publishes two snapshots; return True if it ended."""
    seen: set[float | None] = set()

    def decided() -> bool:
        with contextlib.suppress(OSError):
            if monitor.readiness().get("ready"):
                seen.add(monitor.metrics().snapshot)
        return not monitor.running or len(seen) > 2

    wait_until(decided, f"the monitor to end or to go on; it has logged\n{monitor.output}", limit=_LIMIT)
    return not monitor.running
