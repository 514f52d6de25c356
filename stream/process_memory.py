"""Keeps the memory of this process and of its children small: free memory is returned to the operating system.

A tick with many groups, and a task that catches up, allocate and drop hundreds of megabytes of columns. Arrow's
allocator and the C library keep the dropped memory, fragmented over their heaps: with two million partitions nearly
half of the process.
"""

from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

CHILD_ENVIRONMENT: Final = {
    # glibc's malloc gives threads heaps of their own, up to eight per core, and each keeps what its threads dropped.
    "MALLOC_ARENA_MAX": "2",
}
"""The variables with which the JVM is started, and thus its Python workers. A value that is already set stays."""


def release_memory() -> None:
    """Release free memory to the operating system; takes a few milliseconds if there is little of it."""
    # Not imported above: the process that starts the JVM reads only the constants, and must not wait for Arrow.
    import pyarrow as pa  # noqa: PLC0415

    pa.default_memory_pool().release_unused()
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@functools.cache
def _malloc_trim() -> Callable[[int], int] | None:
    """Return glibc's `malloc_trim`, None if the C library has none; some of those release memory by themselves."""
    found: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found
