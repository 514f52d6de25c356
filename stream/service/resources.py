"""Heap, checkpoint and open file descriptors of the running query, read by the thread that supervises it.

The HTTP server only shows them: a JVM or a volume that does not answer must not delay a response.

A process that reaches its limit opens no more sockets and files: the HTTP server accepts no connection, a task cannot
write its state. The limit applies to each process, so the process nearest to its limit is reported per role.
"""

import dataclasses
import os
import time
from collections.abc import Callable, Iterable
from typing import Final

import pyarrow as pa

from exporters.readmodel import DESCRIPTORS, CheckpointSpace, HeapUsage, rows_table
from stream.checkpoint.files import CheckpointPath
from stream.checkpoint.usage import checkpoint_space
from stream.service.processes import RoleTable, end_planners, processes_by_role
from stream.spark.query import heap_usage, shrink_heap
from stream.spark.types import SparkSession

_POLL_SECONDS: Final = 15.0
_SETTLE_SECONDS: Final = 90.0
"""From the start of the query until the processes that planned it are ended; Spark may reuse one for a minute."""
_SHRINK_SECONDS: Final = 600.0
"""Between two full collections of the JVM, which take a fraction of a second. By itself it grows its heap first."""


@dataclasses.dataclass(frozen=True, slots=True)
class Resources:
    """What the query uses; its parts are empty while they are not known."""

    heap: HeapUsage = dataclasses.field(default_factory=HeapUsage)
    checkpoint: CheckpointSpace = dataclasses.field(default_factory=CheckpointSpace)


class ResourcePoller:
    """Reads the resources at most every 15 s."""

    def __init__(self, spark: SparkSession, clock: Callable[[], float] = time.monotonic) -> None:
        self._spark = spark
        self._clock = clock
        self._read_at: float | None = None
        self._shrink_at = clock() + _SETTLE_SECONDS

    def poll(self, checkpoint: CheckpointPath) -> Resources | None:
        """Return the resources now; None if the last reading is recent enough."""
        now = self._clock()
        if self._read_at is not None and now - self._read_at < _POLL_SECONDS:
            return None
        self._read_at = now
        if now >= self._shrink_at:
            self._shrink_at = now + _SHRINK_SECONDS
            shrink_heap(self._spark)
            end_planners(os.getpid())
        return Resources(heap_usage(self._spark), checkpoint_space(checkpoint))


class Descriptors(RoleTable):
    """The open descriptors of the processes that can be read (schema DESCRIPTORS)."""

    seconds = 5.0

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
