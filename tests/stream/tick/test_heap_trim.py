"""Memory that was used and is free again goes back to the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

from stream.tick import heap_trim as memory

_SCATTERED = """
from pathlib import Path

import numpy as np

from stream.tick import heap_trim as memory


def resident_kb():
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


before = resident_kb()
held = [np.ones(12_000, np.int64) for _ in range(1200)]  # 96 kB each: below the size that is mapped by itself
full = resident_kb()
kept = held[:: len(held) // 10]
del held
memory.release_memory()
print(full - before, resident_kb() - before, len(kept))
"""


@pytest.mark.skipif(memory._malloc_trim() is None, reason="this C library has no malloc_trim")
def test_what_was_dropped_goes_back() -> None:
    """Arrays between others that stay are what a heap keeps; after giving back the process is as small as before.

    In a process of its own: in this one the heap has holes from earlier tests, and arrays that fit into them cost
    nothing.
    """
    told = subprocess.run([sys.executable, "-c", _SCATTERED], capture_output=True, text=True, timeout=120, check=True)
    taken, left, kept = (int(number) for number in told.stdout.split())
    assert taken > 90_000
    assert left < taken / 3
    assert kept > 9


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without glibc only Arrow is asked."""
    monkeypatch.setattr(memory, "_malloc_trim", lambda: None)
    memory.release_memory()
