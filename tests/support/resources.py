"""Resources of this process in a part of a test: the memory that it takes, and a disk that is full."""

import contextlib
import dataclasses
import resource
import tracemalloc
from collections.abc import Iterator


@contextlib.contextmanager
def full_after(size: int) -> Iterator[None]:
    """Limit files of this process to `size` bytes: larger writes fail as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@dataclasses.dataclass(slots=True)
class PeakMemory:
    """The most memory in bytes that new Python objects took in a `with` block; known after it."""

    size: int = 0


@contextlib.contextmanager
def peak_memory() -> Iterator[PeakMemory]:
    peak = PeakMemory()
    tracemalloc.start()
    try:
        yield peak
        peak.size = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
