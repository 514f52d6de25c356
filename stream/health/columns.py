"""The types of columns that health works with, and sums and maxima of rows by their owner."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar

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


_Column = TypeVar("_Column", Ints, Codes)


def uniform(value: int, rows: NDArray[Any]) -> Ints:
    """Return a column with this value in each of these rows, not to be written to; it takes no memory."""
    return np.broadcast_to(np.int64(value), len(rows))


def replaced(column: Ints, rows: Flags, value: Ints | int) -> Ints:
    """Return the column with this value in these rows; the column itself where that is none of them.

    So a column that does not change stays packed, and a value of all rows takes no memory.
    """
    if not rows.any():
        return column
    if rows.all():
        return value if isinstance(value, np.ndarray) else uniform(value, column)
    return np.where(rows, value, column)


def assigned(column: _Column, rows: Ints, values: _Column | int) -> _Column:
    """Return the column with these values in these rows; the column itself if it has them."""
    if (column[rows] == values).all():
        return column
    changed = column.copy()
    changed[rows] = values
    return changed


def once_each(rows: Ints, count: int, compute: Callable[[Ints], tuple[NDArray[Any], ...]]) -> tuple[NDArray[Any], ...]:
    """Return the columns that `compute` returns for rows below `count`, for these rows: once each where most repeat."""
    if not 0 < count < len(rows):
        return compute(rows)
    return tuple(column[rows] for column in compute(np.arange(count)))


def max_by_owner(values: Ints | Codes, owner: Ints, owners: int, default: int) -> Ints:
    """Return the greatest value of each of `owners` owners, `default` where it has none; `owner` is that of a value."""
    return _combined(np.maximum, values, owner, np.full(owners, default, np.int64))


def sum_by_owner(values: Ints | Flags, owner: Ints, owners: int) -> Ints:
    """Return the exact sum of the values of each of `owners` owners; `owner` is that of a value."""
    return _combined(np.add, values, owner, np.zeros(owners, np.int64))


def _combined(function: np.ufunc, values: NDArray[Any], owner: Ints, combined: Ints) -> Ints:
    if len(values):  # the rows of an owner mostly follow each other
        first = np.concatenate(([0], np.flatnonzero(owner[1:] != owner[:-1]) + 1))
        kind = np.int64 if function is np.add else values.dtype  # no sum of flags is one
        function.at(combined, owner[first], function.reduceat(values, first, dtype=kind))
    return combined


def consecutive_pairs(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """Return the number of each row's pair, counted from 0, and the row at which each pair begins.

    A pair is a value of `first` (not negative) with one of `second`; the rows of a pair follow each other.
    """
    begins = (np.diff(first, prepend=-1) != 0) | (np.diff(second, prepend=-1) != 0)
    return np.cumsum(begins) - 1, np.flatnonzero(begins)


def find_keys(keys: Ints, wanted: Ints) -> Ints:
    """Return the position of each wanted key in `keys`, -1 where it is not there; `keys` has no duplicates."""
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(keys, kind="stable")
    position = order[np.minimum(np.searchsorted(keys[order], wanted), len(order) - 1)]
    return np.where(keys[position] == wanted, position, -1)
