"""Free memory is released to the operating system."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from stream import process_memory

_SCATTERED = """
from pathlib import Path

import numpy as np
import pyarrow  # used by the release; its libraries take 30 to 60 MB, depending on the system's page cache

from stream import process_memory


def resident_kb():
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


before = resident_kb()
arrays = [np.ones(12_000, np.int64) for _ in range(1200)]  # 96 kB each: below the size that is mapped by itself
full = resident_kb()
remaining = arrays[:: len(arrays) // 10]
del arrays
process_memory.release_memory()
print(full - before, resident_kb() - before, len(remaining))
"""


@pytest.mark.skipif(process_memory._malloc_trim() is None, reason="this C library has no malloc_trim")
def test_dropped_memory_is_released() -> None:
    """Dropped arrays between arrays that stay fragment the heap, and the release returns their memory.

    The test uses a new process, because the heap of this process has holes from earlier tests, and arrays that fit
    into these holes need no memory.
    """
    output = subprocess.run([sys.executable, "-c", _SCATTERED], capture_output=True, text=True, timeout=120, check=True)
    used, left, remaining = (int(number) for number in output.stdout.split())
    assert used > 90_000
    assert left < used / 10
    assert remaining > 9


def test_without_glibc_only_arrow_releases_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system without malloc_trim causes no failure, and the pool of Arrow is released."""
    released: list[bool] = []
    pool = SimpleNamespace(release_unused=lambda: released.append(True))
    monkeypatch.setattr(process_memory, "_malloc_trim", lambda: None)
    monkeypatch.setattr("pyarrow.default_memory_pool", lambda: pool)
    process_memory.release_memory()
    assert released == [True]
