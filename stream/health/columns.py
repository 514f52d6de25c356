"""The kinds of columns health works on, and how rows that belong together are grouped. Nothing else."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
"""Offsets, counts, moments (ms since 1970) or row numbers."""
Codes: TypeAlias = NDArray[np.int8]
"""Numbers of words in a tuple of words."""
Flags: TypeAlias = NDArray[np.bool_]
Reals: TypeAlias = NDArray[np.float64]
"""Rates and shares; NaN is "not known" and never leaves the monitor as a number."""


def max_by_owner(values: Ints, of: Ints, count: int, nothing: int) -> Ints:
    """Give the greatest value of each of `count` owners; `of` says whose each value is."""
    most = np.full(count, nothing, np.int64)
    np.maximum.at(most, of, values)
    return most


def sum_by_owner(values: Ints, of: Ints, count: int) -> Ints:
    """Give the sum of the values of each of `count` owners, exactly."""
    total = np.zeros(count, np.int64)
    np.add.at(total, of, values)
    return total
