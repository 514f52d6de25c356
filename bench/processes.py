"""What a process tree costs: CPU seconds and resident memory of driver, JVM and Python workers, from /proc."""

from __future__ import annotations

import dataclasses
import os
import threading
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DRIVER: Final = "driver"
JVM: Final = "JVM"
WORKERS: Final = "workers"
ROLES: Final = (DRIVER, JVM, WORKERS)
_SAMPLE_SECONDS: Final = 0.2
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


@dataclasses.dataclass(frozen=True, slots=True)
class Process:
    """One line of the process table."""

    pid: int
    parent: int
    name: str
    cpu_seconds: float
    """Its own, and that of its children that ended."""
    resident_bytes: int


def parse_stat(stat: str) -> Process:
    """Read a line of /proc/PID/stat; the name may hold spaces and parentheses."""
    before, _, after = stat.rpartition(")")
    pid, _, name = before.partition(" (")
    fields = after.split()
    ticks = sum(int(field) for field in fields[11:15])
    return Process(int(pid), int(fields[1]), name, ticks / _TICKS, int(fields[21]) * _PAGE)


def roles(table: Mapping[int, Process], root: int) -> dict[int, str]:
    """Say what each process of a tree is: the root is the driver, java below it the JVM, all below that workers."""
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
    """Give the CPU seconds used so far by a tree, per role."""
    return _per_role(root, "cpu_seconds")


def resident_bytes(root: int) -> Counter[str]:
    """Give the resident memory of a tree, per role. Pages that forked workers share count once for each."""
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


class Watch:
    """Over a `with` block: CPU used, and the highest memory seen, of the tree below `root`; both per role."""

    def __init__(self, root: int | None = None) -> None:
        self._root = root or os.getpid()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.cpu: Counter[str] = Counter()
        self.peak: Counter[str] = Counter()

    def __enter__(self) -> Self:
        self._before = cpu_seconds(self._root)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the figures now, while the tree is there; what the end of the block would do otherwise."""
        if self._over.is_set():
            return
        self._over.set()
        self._thread.join()
        self.cpu = cpu_seconds(self._root) - self._before

    def _sample(self) -> None:
        while True:
            self.peak |= resident_bytes(self._root)
            if self._over.wait(_SAMPLE_SECONDS):
                return
