"""The limits of this process and its children that the system sets: memory, cores and open file descriptors."""

import math
import os
import resource
from pathlib import Path
from typing import Final

import structlog

_log = structlog.get_logger(__name__)

_CGROUPS: Final = Path("/sys/fs/cgroup")
_MEMORY_FILES: Final = ("memory.max", "memory/memory.limit_in_bytes")
"""Of cgroups v2, and of v1."""
_NO_LIMIT: Final = 1 << 60
"""Version 1 reports a number near 2^63 where there is no limit."""


def memory_limit(cgroups: Path = _CGROUPS) -> int | None:
    """Return the limit in bytes; None if there is none, or the system does not report it."""
    for name in _MEMORY_FILES:
        try:
            limit = int((cgroups / name).read_text())
        except (OSError, ValueError):  # no file, or "max"
            continue
        return limit if 0 < limit < _NO_LIMIT else None
    return None


def usable_cores(cgroups: Path = _CGROUPS) -> int:
    """Return the cores of the CPU affinity, limited by the quota of a container; a fraction of a core counts as one.

    The JVM counts the same way for `local[*]` (`UseContainerSupport`), so the numbers of readers and task slots agree.
    Otherwise a container limited to two cores on a node of 64 would get 64 readers that wait for each other.
    """
    allowed = len(os.sched_getaffinity(0))
    quota = _quota(cgroups)
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


def _quota(cgroups: Path) -> float | None:
    """Return the quota in cores, from cgroups v2 (`cpu.max`) or v1 (`cpu/cpu.cfs_quota_us`); None without one."""
    unified = _words(cgroups / "cpu.max")
    words = unified or [*_words(cgroups / "cpu/cpu.cfs_quota_us"), *_words(cgroups / "cpu/cpu.cfs_period_us")]
    try:
        quota, period = (int(word) for word in words)
    except ValueError:  # "max", no file, or an unknown format
        return None
    return quota / period if quota > 0 and period > 0 else None


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []


def raise_limit() -> None:
    """Raise the soft limit on open descriptors of this process to the hard limit; later children inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError) as error:
        _log.debug("limit on open descriptors not raised", limit=soft, hard_limit=hard, cause=str(error))
    else:
        _log.debug("limit on open descriptors", limit=hard, before=soft)
