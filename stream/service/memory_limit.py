"""The limit on the memory of this process and its children that a container or a systemd unit sets."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_CGROUPS: Final = Path("/sys/fs/cgroup")
_FILES: Final = ("memory.max", "memory/memory.limit_in_bytes")
"""Of cgroups v2, and of v1."""
_NO_LIMIT: Final = 1 << 60
"""Version 1 reports a number near 2^63 where there is no limit."""


def memory_limit(cgroups: Path = _CGROUPS) -> int | None:
    """Return the limit in bytes; None if there is none, or the system does not report it."""
    for name in _FILES:
        try:
            limit = int((cgroups / name).read_text())
        except (OSError, ValueError):  # no file, or "max"
            continue
        return limit if 0 < limit < _NO_LIMIT else None
    return None
