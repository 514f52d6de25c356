"""Measures the memory that a call takes."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def peak_bytes(call: Callable[[], object]) -> int:
    """Return the most memory in bytes that Python objects took during a call, beyond that before it."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
