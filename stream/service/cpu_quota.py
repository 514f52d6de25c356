"""Counts the cores that this process may use: those of its CPU affinity, limited by the CPU quota of a container.

The JVM counts the same way for `local[*]` (`UseContainerSupport`), so the numbers of readers and task slots agree.
Otherwise a container limited to two cores on a node of 64 would get 64 readers that wait for each other.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Final

_CGROUPS: Final = Path("/sys/fs/cgroup")


def usable_cores(cgroups: Path = _CGROUPS) -> int:
    """Return the number of usable cores, at least one; a fraction of a core counts as one."""
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
