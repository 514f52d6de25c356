"""Keeps the memory of this process and of its children small: free memory is returned to the operating system.

A tick with many groups, and a task that catches up, allocate and drop hundreds of megabytes of columns. Arrow's own
allocator and the C library keep the dropped memory, fragmented over their heaps: with two million partitions nearly
half of the process. So Arrow takes the C library's, which has one heap for all threads and gives back what is free.
"""

import contextlib
import ctypes
import functools
import gc
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import Final

CHILD_ENVIRONMENT: Final = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    # glibc's malloc gives threads heaps of their own, up to eight per core, and each keeps what its threads dropped.
    "MALLOC_ARENA_MAX": "1",
    # Free bytes at the end of the heap that are kept. Without a fixed number, glibc's malloc raises it with each large
    # block that is freed. With one, it maps each block above the next number, by default 128 KiB, by itself: columns
    # would always be new pages, and clearing them a third of the CPU of a tick and a quarter of that of a read.
    "MALLOC_TRIM_THRESHOLD_": str(32 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(16 << 20),
}
"""The variables with which the JVM is started, and thus its Python workers. A value that is already set stays."""
_MALLOPT: Final = {"MALLOC_ARENA_MAX": -8, "MALLOC_TRIM_THRESHOLD_": -1, "MALLOC_MMAP_THRESHOLD_": -3}
"""The parameters of glibc's `mallopt` that mean the same; malloc.h."""


def limit_heaps() -> None:
    """Do in this process, before it imports Arrow, what these variables do in its children."""
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", CHILD_ENVIRONMENT["ARROW_DEFAULT_MEMORY_POOL"])
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    for name, parameter in _MALLOPT.items():
        if mallopt is not None and name not in os.environ:
            mallopt(parameter, int(CHILD_ENVIRONMENT[name]))


def collect_seldom() -> None:
    """Search for unreachable objects after 20,000 new ones, not after each 700, and never among those of now.

    Python frees nearly all objects without such a search. A first tick makes millions of them for its groups, and was
    searched so often that this took a quarter of its CPU. The modules are most objects of a process without groups.
    """
    gc.set_threshold(20_000)
    gc.freeze()


@contextlib.contextmanager
def empty_pandas(version: str | None = None) -> Iterator[None]:
    """Replace pandas within the block by an empty module of this version, by default the installed one.

    PySpark and Arrow import it where only its version matters, and it takes 25 MB of each process. If it is imported
    already, nothing changes.
    """
    module = types.ModuleType("pandas")
    module.__dict__["__version__"] = version or metadata.version("pandas")
    is_new = sys.modules.setdefault("pandas", module) is module
    try:
        yield
    finally:
        if is_new:
            del sys.modules["pandas"]


def keep_arrow_from_pandas() -> None:
    """Make the first array in this process, at which Arrow looks for pandas, so that it finds one too old to use.

    Arrow looks again where a table is converted to pandas (pandas-shim.pxi).
    """
    import pyarrow as pa  # noqa: PLC0415 -- see `release_memory`

    with empty_pandas("0"), warnings.catch_warnings(action="ignore"):
        pa.array(())


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
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
