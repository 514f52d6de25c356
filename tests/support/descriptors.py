"""Open descriptors, sockets and threads of a running monitor, per role, counted from /proc."""

from __future__ import annotations

import collections
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.support.processes import Process, Role


@dataclasses.dataclass(frozen=True, slots=True)
class Usage:
    """The sum of resources of all processes of one role."""

    processes: int = 0
    descriptors: int = 0
    sockets: int = 0
    threads: int = 0


def usage_of(processes: Iterable[Process]) -> dict[Role, Usage]:
    """Return the usage per role of `Monitor.processes`; roles without a living process are absent."""
    found: dict[Role, Usage] = collections.defaultdict(Usage)
    for process in processes:
        counted = _of_process(process.pid)
        if counted is not None:
            sums = zip(dataclasses.astuple(found[process.role]), dataclasses.astuple(counted), strict=True)
            found[process.role] = Usage(*map(sum, sums))
    return dict(found)


def _of_process(number: int) -> Usage | None:
    """Return the resources of one process; None if it has ended."""
    folder = Path("/proc", str(number))
    try:
        names = [_target(link) for link in (folder / "fd").iterdir()]
        threads = sum(1 for _ in (folder / "task").iterdir())
    except OSError:
        return None
    return Usage(1, len(names), sum(name.startswith("socket:") for name in names), threads)


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:  # closed meanwhile
        return ""
