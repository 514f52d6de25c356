"""CPU seconds and resident memory of a process tree, for driver, JVM and Python workers, from /proc."""

import dataclasses
import os
import threading
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Final, Self

DRIVER: Final = "driver"
JVM: Final = "JVM"
WORKERS: Final = "workers"
ROLES: Final = (DRIVER, JVM, WORKERS)
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


@dataclasses.dataclass(frozen=True, slots=True)
class Process:
    """One line of the process table."""

    pid: int
    parent: int
    name: str
    cpu_seconds: float
    """CPU time of the process and of its children that have ended."""
    resident_bytes: int


def parse_stat(stat: str) -> Process:
    """Parse a line of /proc/PID/stat; the name may contain spaces and parentheses."""
    before, _, after = stat.rpartition(")")
    pid, _, name = before.partition(" (")
    fields = after.split()
    ticks = sum(int(field) for field in fields[11:15])
    return Process(int(pid), int(fields[1]), name, ticks / _TICKS, int(fields[21]) * _PAGE)


def roles(table: Mapping[int, Process], root: int) -> dict[int, str]:
    """Return the role of each process of a tree: the root is the driver, java below it the JVM, all below workers."""
    children = defaultdict(list)
    for process in table.values():
        children[process.parent].append(process.pid)
    found: dict[int, str] = {}
    waiting = [(root, DRIVER)] if root in table else []
    while waiting:
        pid, role = waiting.pop()
        found[pid] = role
        for child in children[pid]:
            below = WORKERS if role in {JVM, WORKERS} else role
            waiting.append((child, JVM if role == DRIVER and table[child].name == "java" else below))
    return found


def cpu_seconds(root: int) -> Counter[str]:
    """Return the CPU seconds used so far by a tree, per role."""
    return _per_role(root, "cpu_seconds")


def resident_bytes(root: int) -> Counter[str]:
    """Return the resident memory of a tree in bytes, per role. Shared pages of forked workers count once per worker."""
    return _per_role(root, "resident_bytes")


def _per_role(root: int, column: str) -> Counter[str]:
    table = {process.pid: process for process in _process_table()}
    total: Counter[str] = Counter()
    for pid, role in roles(table, root).items():
        total[role] += getattr(table[pid], column)
    return total


def _process_table() -> Iterator[Process]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                yield parse_stat((folder / "stat").read_text())
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has just ended


class Sampler(ABC):
    """Samples the tree below a process in a thread, over a `with` block."""

    seconds: ClassVar[float] = 0.2

    def __init__(self, root: int | None = None) -> None:
        self._root = root or os.getpid()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the measurement now, before the tree ends; otherwise the end of the block does it."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._sample()
            if self._over.wait(self.seconds):
                return

    @abstractmethod
    def _sample(self) -> None:
        """Record one sample."""


class Watch(Sampler):
    """Measures CPU used and peak memory of the tree below `root`, per role."""

    def __init__(self, root: int | None = None) -> None:
        super().__init__(root)
        self._before = cpu_seconds(self._root)
        self.cpu: Counter[str] = Counter()
        self.peak: Counter[str] = Counter()

    def stop(self) -> None:
        """See Sampler."""
        if not self._over.is_set():
            super().stop()
            self.cpu = cpu_seconds(self._root) - self._before

    def _sample(self) -> None:
        self.peak |= resident_bytes(self._root)
