"""Releases free memory to the operating system after each tick.

A tick with many groups allocates and drops hundreds of megabytes of columns. Arrow's allocator and the C library keep
the dropped memory, fragmented over their heaps: with two million partitions nearly half of the process.
"""

from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable


def release_memory() -> None:
    """Release free memory to the operating system; takes a few milliseconds if there is little of it."""
    pa.default_memory_pool().release_unused()
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@functools.cache
def _malloc_trim() -> Callable[[int], int] | None:
    """Return glibc's `malloc_trim`, None if the C library has none; some of those release memory by themselves."""
    found: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found
