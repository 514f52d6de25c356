"""How many cores this process may use: those it may run on, or fewer where a container's quota says so.

The JVM counts the same way for `local[*]` (`UseContainerSupport`), so that readers and slots agree. A node of 64 cores
with a limit of two would else get 64 readers that wait for each other.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Final

_CGROUPS: Final = Path("/sys/fs/cgroup")


def usable_cores(cgroups: Path = _CGROUPS) -> int:
    """Count the cores of this process, at least one; a quota of a part of a core counts as a whole one."""
    allowed = len(os.sched_getaffinity(0))
    quota = _quota(cgroups)
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


def _quota(cgroups: Path) -> float | None:
    """Read the limit in cores, of cgroups v2 (`cpu.max`) or v1 (`cpu/cpu.cfs_quota_us`); None without one."""
    unified = _words(cgroups / "cpu.max")
    words = unified or [*_words(cgroups / "cpu/cpu.cfs_quota_us"), *_words(cgroups / "cpu/cpu.cfs_period_us")]
    try:
        quota, period = (int(word) for word in words)
    except ValueError:  # "max", nothing, or nothing that is known
        return None
    return quota / period if quota > 0 and period > 0 else None


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []
