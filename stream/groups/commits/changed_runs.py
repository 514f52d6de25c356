"""The table of runs that many readers have: what a batch changes is copied first, once for all of its changes."""

import dataclasses
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream.groups.commits.run_table import Runs
from stream.groups.commits.runs import Spans, columns_of
from stream.groups.commits.slots import Slots

_NUMBERS: Final = ("leader_epoch", "expire_time")
_BYTES: Final = ("metadata", "topic_id")

_Column = TypeVar("_Column", "NDArray[Any]", pa.Array)


class ChangedRuns:
    """A table while runs of it are replaced; a column that does not change is the same object as before."""

    def __init__(self, runs: Runs) -> None:
        """Start with a table that is `shared`."""
        self._before = runs
        self.spans = runs.spans
        """Those of the table with all changes."""
        self._numbers = {name: getattr(runs, name) for name in _NUMBERS}
        self._changes: list[tuple[NDArray[np.int64], Runs]] = []

    def replace(self, rows: NDArray[np.int64], runs: Runs) -> None:
        """Replace the runs of these rows, which are in here once each."""
        # An array that can be changed is a copy already.
        pairs = zip(columns_of(self.spans), columns_of(runs.spans), strict=True)
        self.spans = Spans(*(replaced(each, rows, values, is_own=each.flags.writeable) for each, values in pairs))
        for name, each in self._numbers.items():
            self._numbers[name] = replaced(each, rows, getattr(runs, name), is_own=each.flags.writeable)
        self._changes.append((rows, runs))

    def runs(self) -> Runs:
        """Return the table with all changes; of several changes of a row the last one counts."""
        if not self._changes:
            return self._before
        rows = np.concatenate([rows for rows, _ in self._changes])
        values = {name: pa.concat_arrays([getattr(runs, name) for _, runs in self._changes]) for name in _BYTES}
        return dataclasses.replace(
            self._before,
            spans=self.spans,
            **self._numbers,
            **{name: replaced(getattr(self._before, name), rows, each) for name, each in values.items()},
            slots=self._before.slots.replace([(rows, runs.slots) for rows, runs in self._changes], len(self._before)),
        )


def shared(runs: Runs) -> Runs:
    """Return a table for many readers: no array can be changed, and a number that all rows have is in it once."""
    return dataclasses.replace(
        runs,
        spans=Spans(*map(_shared, columns_of(runs.spans))),
        slots=Slots(*map(_shared, columns_of(runs.slots.narrow()))),
        **{name: _shared(getattr(runs, name)) for name in _NUMBERS},
    )


def _shared(column: NDArray[Any]) -> NDArray[Any]:
    if column.flags.writeable and len(column) and (column == column[0]).all():
        return np.broadcast_to(column[0], len(column))
    column.flags.writeable = False
    return column


def replaced(column: _Column, rows: NDArray[np.int64], values: _Column, *, is_own: bool = False) -> _Column:
    """Return the column with other values in these rows, the last ones of a row; the same object if they are equal.

    An array that `is_own` is changed, not copied.
    """
    if isinstance(column, np.ndarray):
        if np.array_equal(column[rows], values):
            return column
        changed = column if is_own else column.copy()
        changed[rows] = values
        return changed
    if column.take(pa.array(rows)).equals(values):
        return column
    at = np.arange(len(column))
    at[rows] = len(column) + np.arange(len(rows))
    return pa.concat_arrays([column, values]).take(pa.array(at))
