"""The types of columns that health works with, and sums and maxima of rows by their owner."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
"""Offsets, counts, times (ms since 1970), durations (ms) or row numbers."""
Codes: TypeAlias = NDArray[np.int8]
"""Positions in a tuple of names."""
Flags: TypeAlias = NDArray[np.bool_]
Reals: TypeAlias = NDArray[np.float64]
"""Rates and shares; NaN: not known. NaN never leaves the monitor as a number."""
NOT_KNOWN: Final = -1
"""In columns of offsets, distances, counts and times: not known."""


def max_by_owner(values: Ints, owner: Ints, owners: int, default: int) -> Ints:
    """Return the greatest value of each of `owners` owners, `default` where it has none; `owner` is that of a value."""
    greatest = np.full(owners, default, np.int64)
    np.maximum.at(greatest, owner, values)
    return greatest


def sum_by_owner(values: Ints, owner: Ints, owners: int) -> Ints:
    """Return the exact sum of the values of each of `owners` owners; `owner` is that of a value."""
    total = np.zeros(owners, np.int64)
    np.add.at(total, owner, values)
    return total
