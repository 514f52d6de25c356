"""What the monitor uses: memory, CPU and descriptors of its processes by role, from /proc; heap and checkpoint.

The thread that supervises the query reads heap and checkpoint, and the HTTP server only shows them: a JVM or a volume
that does not answer must not delay a response.

A process that reaches its limit opens no more sockets and files: the HTTP server accepts no connection, a task cannot
write its state. The limit applies to each process, so the process nearest to its limit is reported per role.
"""

import dataclasses
import os
import threading
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final

import pyarrow as pa

from exporters.readmodel import DESCRIPTORS, PROCESSES, CheckpointSpace, HeapUsage, rows_table
from stream.checkpoint.files import CheckpointPath
from stream.checkpoint.usage import checkpoint_space
from stream.service.first_read.reader import PROGRAM
from stream.spark.jvm_process import PROC, children_of
from stream.spark.query import heap_usage, shrink_heap
from stream.spark.types import SparkSession

ROLES: Final = ("driver", "jvm", "python_daemon", "python_worker")
"""Each role is started by the previous one: this process, the JVM, the daemon of its Python workers, the workers.

The processes of a first read (`stream.service.first_read`) do the work of workers, and are counted as such, the one
that forks them as a daemon. Executors that the JVM starts are JVMs beside it.
"""
_EXECUTOR: Final = "org.apache.spark.executor."
"""In the command of an executor: the package of its class."""
_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
_USER_TICKS, _SYSTEM_TICKS, _START_TIME = 11, 12, 19
"""Positions in /proc/PID/stat after the name of the program (proc(5): fields 14, 15 and 22)."""
_POLL_SECONDS: Final = 15.0
_SETTLE_SECONDS: Final = 90.0
"""From the start of the query until the first of them, when Spark's first workers have ended."""
_SHRINK_SECONDS: Final = 600.0
"""Between two full collections of the JVM, which take a fraction of a second. By itself it grows its heap first."""


def processes_by_role(driver: int, proc: Path = PROC) -> Mapping[str, Sequence[int]]:
    """Return the ids of the running processes of each role: `driver` and its descendants. A role may have none."""
    children = _running_children([driver], proc)
    readers = _that_run(PROGRAM, children, proc)
    jvms = [process for process in children if process not in readers]
    below = _running_children(jvms, proc)
    executors = _that_run(_EXECUTOR, below, proc)
    daemons = [process for process in below if process not in executors] + _running_children(executors, proc) + readers
    return dict(zip(ROLES, ([driver], jvms + executors, daemons, _running_children(daemons, proc)), strict=True))


@dataclasses.dataclass(eq=False)
class RoleTable(ABC):
    """A table with a row per role of the process `_driver` and its descendants. Thread-safe."""

    seconds: ClassVar[float]
    """How long a reading is served."""
    _driver: int
    _proc: Path = PROC
    _clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    _table: pa.Table | None = None
    _read_at: float = 0.0

    def table(self) -> pa.Table:
        """Return the table; /proc is read at most every `seconds`."""
        with self._lock:
            now = self._clock()
            if self._table is None or now - self._read_at >= self.seconds:
                self._table, self._read_at = self._read(), now
            return self._table

    @abstractmethod
    def _read(self) -> pa.Table:
        """Return the table as of now."""


@dataclasses.dataclass(eq=False)
class ProcessUsage(RoleTable):
    """Memory and CPU by role (schema PROCESSES)."""

    seconds = 10.0
    """Reading the memory of a JVM walks its page tables, which takes milliseconds per gigabyte."""
    _ticks: dict[tuple[int, int], int] = dataclasses.field(default_factory=dict)
    _role_ticks: dict[str, int] = dataclasses.field(default_factory=lambda: defaultdict(int))

    def _read(self) -> pa.Table:
        rows = []
        ticks: dict[tuple[int, int], int] = {}
        for role, processes in processes_by_role(self._driver, self._proc).items():
            for process in processes:
                times = _times(self._proc / str(process))
                if times is not None:
                    # A process id may be used again; with the start time it names one process.
                    started, used = times
                    ticks[process, started] = used
                    self._role_ticks[role] += max(0, used - self._ticks.get((process, started), 0))
            sizes = [size for process in processes if (size := _proportional_size(self._proc / str(process)))]
            if role in self._role_ticks:
                memory = sum(sizes) if sizes and len(sizes) == len(processes) else None
                rows.append((role, len(processes), memory, self._role_ticks[role] / _TICKS_PER_SECOND))
        self._ticks = ticks
        return rows_table(rows, PROCESSES)


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
        except OSError:
            return None
        soft = _field(folder / "limits", "Max open files", 3)
        return (opened, int(soft)) if soft.isdigit() and int(soft) > 0 else None


class ResourcePoller:
    """Reads the resources at most every 15 s."""

    def __init__(self, spark: SparkSession, clock: Callable[[], float] = time.monotonic) -> None:
        self._spark = spark
        self._clock = clock
        self._read_at: float | None = None
        self._shrink_at = clock() + _SETTLE_SECONDS

    def poll(self, checkpoint: CheckpointPath) -> tuple[HeapUsage, CheckpointSpace] | None:
        """Return what the query uses now; None if the last reading is recent enough."""
        now = self._clock()
        if self._read_at is not None and now - self._read_at < _POLL_SECONDS:
            return None
        self._read_at = now
        if now >= self._shrink_at:
            self._shrink_at = now + _SHRINK_SECONDS
            shrink_heap(self._spark)
        return heap_usage(self._spark), checkpoint_space(checkpoint)


def _running_children(processes: Iterable[int], proc: Path) -> list[int]:
    children = [child for process in processes for child in children_of(process, proc)]
    return [child for child in children if not _has_ended(proc / str(child))]


def _that_run(program: str, processes: Iterable[int], proc: Path) -> list[int]:
    return [process for process in processes if program in _text(proc / str(process) / "cmdline")]


def _has_ended(folder: Path) -> bool:
    """Return whether a process is a zombie: it uses nothing, and its parent has not yet read its exit code."""
    state = _text(folder / "stat").rpartition(")")[2].split(maxsplit=1)
    return state[:1] in (["Z"], ["X"])


def _times(folder: Path) -> tuple[int, int] | None:
    """Return start time and used CPU time of a process, both in clock ticks; None if it has ended."""
    fields = _text(folder / "stat").rpartition(")")[2].split()
    try:
        return int(fields[_START_TIME]), int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS])
    except (ValueError, IndexError):
        return None


def _proportional_size(folder: Path) -> int | None:
    """Return the proportional set size of a process in bytes; None if the system does not report it."""
    size = _field(folder / "smaps_rollup", "Pss:", 1)
    return int(size) * 1024 if size.isdigit() else None


def _field(path: Path, name: str, number: int) -> str:
    """Return a field of the line of a file that begins with a name; empty if there is none."""
    return next((line.split()[number] for line in _text(path).splitlines() if line.startswith(name)), "")


def _text(path: Path) -> str:
    """Return the text of a file; empty if it cannot be read, as that of a process that has ended."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
