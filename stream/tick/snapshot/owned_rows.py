"""The labels of the rows of a tick, and sums of its rows by owner: a group, or a topic of a group."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream.groups.short_cache import keep_last
from stream.health.columns import Flags, Ints, consecutive_pairs
from stream.tick.inputs.rows import InputRows
from stream.tick.verdicts.columns import words


class OwnedRows:
    """The rows of each owner, which follow one another."""

    def __init__(self, owner: Ints, owners: int) -> None:
        self.counts = np.bincount(owner, minlength=owners)
        self._with_rows = np.flatnonzero(self.counts)
        self._first = (np.cumsum(self.counts) - self.counts)[self._with_rows]

    def reduce(self, function: np.ufunc, values: NDArray[Any], missing: Any, kind: Any = None) -> NDArray[Any]:
        """Return the values of each owner combined, in this type (None: of the values); `missing` without a row."""
        combined = np.full(len(self.counts), missing, kind or values.dtype)
        if len(self._first):
            combined[self._with_rows] = function.reduceat(values, self._first, dtype=kind)
        return combined

    def count(self, flags: Flags) -> Ints:
        """Return the number of flags of each owner."""
        return self.reduce(np.add, flags, 0, np.int64)


@keep_last
def rows_by_group(rows: InputRows) -> OwnedRows:
    """Return the rows of each group."""
    return OwnedRows(rows.group, len(rows.groups))


@keep_last
def rows_by_topic(rows: InputRows) -> tuple[OwnedRows, Ints]:
    """Return the rows of each topic of each group, and the first row of each."""
    owner, first = consecutive_pairs(rows.group, rows.topic)
    return OwnedRows(owner, len(first)), first


@keep_last
def label_columns(rows: InputRows) -> dict[str, pa.Array]:
    """Return the columns `group`, `topic` and `partition`."""
    names = {"group": words(rows.group, rows.groups), "topic": words(rows.topic, rows.topics)}
    return {**names, "partition": pa.array(rows.partition)}
