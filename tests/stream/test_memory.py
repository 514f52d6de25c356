"""Memory that was used and is free again goes back to the system."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stream import memory


def resident_kb() -> int:
    """Give what this process holds."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


@pytest.mark.skipif(memory._malloc_trim() is None, reason="this C library has no malloc_trim")
def test_what_was_dropped_goes_back() -> None:
    """Arrays between others that stay are what a heap keeps; after giving back the process is as small as before."""
    before = resident_kb()
    held = [np.ones(12_000, np.int64) for _ in range(1200)]  # 96 kB each: below the size that is mapped by itself
    full = resident_kb()
    kept = held[:: len(held) // 10]
    del held
    memory.give_back()
    assert full - before > 90_000
    assert resident_kb() - before < (full - before) / 3
    assert len(kept) > 9


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without glibc only Arrow is asked."""
    monkeypatch.setattr(memory, "_malloc_trim", lambda: None)
    memory.give_back()
