"""Memory that is free but still held: given back to the system after each tick.

A tick over a large fleet makes and drops hundreds of megabytes of columns. Arrow's allocator and the C library keep
what was dropped, scattered over their heaps: with two million partitions nearly half of the process.
"""

from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable


def give_back() -> None:
    """Give free memory back to the system; a few milliseconds where there is little of it."""
    pa.default_memory_pool().release_unused()
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@functools.cache
def _malloc_trim() -> Callable[[int], int] | None:
    """Find glibc's `malloc_trim`; other C libraries have none, and some give back by themselves."""
    found: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found
