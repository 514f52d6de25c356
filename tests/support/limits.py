"""Limits of the system for a part of a test, such as a disk that is full."""

from __future__ import annotations

import contextlib
import resource
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def full_after(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond so many bytes: the system refuses the rest, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
