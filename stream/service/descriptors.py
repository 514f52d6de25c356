"""Open file descriptors of the monitor's processes, and the limit on them.

A process that reaches its limit opens no more sockets and files: the HTTP server accepts no connection, a task cannot
write its state. The limit applies to each process, so the process nearest to its limit is reported per role.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from exporters.readmodel import DESCRIPTORS, rows_table
from stream.service.processes import PROC, processes_by_role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    import pyarrow as pa

_CACHE_SECONDS: Final = 5.0


class Descriptors:
    """The open descriptors of the process with this id and of its descendants. Thread-safe."""

    def __init__(self, driver: int, proc: Path = PROC, clock: Callable[[], float] = time.monotonic) -> None:
        self._driver = driver
        self._proc = proc
        self._clock = clock
        self._lock = threading.Lock()
        self._table = DESCRIPTORS.empty_table()
        self._read_at: float | None = None

    def table(self) -> pa.Table:
        """Return a row per role with a readable process (schema DESCRIPTORS); /proc is read at most every 5 s."""
        with self._lock:
            now = self._clock()
            if self._read_at is None or now - self._read_at >= _CACHE_SECONDS:
                self._table, self._read_at = self._read(), now
            return self._table

    def _read(self) -> pa.Table:
        rows = []
        for role, processes in processes_by_role(self._driver, self._proc).items():
            counts = [count for process in processes if (count := self._count(process)) is not None]
            if counts:
                rows.append((role, *max(counts, key=lambda count: count[0] / count[1])))
        return rows_table(rows, DESCRIPTORS)

    def _count(self, process: int) -> tuple[int, int] | None:
        """Return (open, limit) of the descriptors of a process; None if it cannot be read or has no limit."""
        folder = self._proc / str(process)
        try:
            opened = sum(1 for _ in (folder / "fd").iterdir())
            limit = _soft_limit((folder / "limits").read_text().splitlines())
        except OSError:
            return None
        return None if limit is None else (opened, limit)


def _soft_limit(lines: Iterable[str]) -> int | None:
    """Return the soft limit on open files from /proc/PID/limits; None if there is none."""
    for line in lines:
        name, found, numbers = line.partition("Max open files")
        if found and not name:
            soft = numbers.split()[0]
            return int(soft) if soft.isdigit() and int(soft) > 0 else None
    return None
