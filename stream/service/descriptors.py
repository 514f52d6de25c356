"""Open file descriptors of the monitor's processes, and the limit on them.

A process that reaches its limit opens no more sockets and files: the HTTP server accepts no connection, a task cannot
write its state. The limit applies to each process, so the process nearest to its limit is reported per role.
"""

from collections.abc import Iterable

import pyarrow as pa

from exporters.readmodel import DESCRIPTORS, rows_table
from stream.service.processes import RoleTable, processes_by_role


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
