"""The table of runs that many readers have: what a batch changes is copied first, once for all of its changes."""

import dataclasses
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream.groups.commits.run_table import Runs
from stream.groups.commits.runs import Spans, columns_of, no_spans
from stream.groups.commits.slots import Slots

_SPANS: Final = [field.name for field in dataclasses.fields(Spans)]
_NUMBERS: Final = ("leader_epoch", "expire_time")
_BYTES: Final = ("metadata", "topic_id")

_Column = TypeVar("_Column", "NDArray[Any]", pa.Array)


class ChangedRuns:
    """A table while runs of it are replaced; a column that does not change is the same object as before."""

    def __init__(self, runs: Runs) -> None:
        """Start with a table that is `shared`. A column without other users is freed when its copy is made."""
        numbers = {name: getattr(runs, name) for name in _NUMBERS}
        self.numbers = {name: getattr(runs.spans, name) for name in _SPANS} | numbers
        """The columns of numbers with all changes."""
        self._others = dataclasses.replace(runs, spans=no_spans(), **{name: each[:0] for name, each in numbers.items()})
        self._changes: list[tuple[NDArray[np.int64], Slots, dict[str, pa.Array]]] = []

    def replace(self, rows: NDArray[np.int64], runs: Runs) -> None:
        """Replace the runs of these rows, which are in here once each."""
        for name in self.numbers:
            column, values = self.numbers[name], getattr(runs if name in _NUMBERS else runs.spans, name)
            # An array that can be changed is a copy already.
            self.numbers[name] = replaced(column, rows, values, is_own=column.flags.writeable)
        self._changes.append((rows, runs.slots, {name: getattr(runs, name) for name in _BYTES}))

    def runs(self) -> Runs:
        """Return the table with all changes; of several changes of a row the last one counts."""
        others, columns = self._others, {name: self.numbers[name] for name in _NUMBERS}
        columns["spans"] = Spans(*map(self.numbers.__getitem__, _SPANS))
        if self._changes:
            rows = np.concatenate([rows for rows, _, _ in self._changes])
            for name in _BYTES:
                values = pa.concat_arrays([columns_of_bytes[name] for _, _, columns_of_bytes in self._changes])
                columns[name] = replaced(getattr(others, name), rows, values)
            columns["slots"] = others.slots.replace([(rows, slots) for rows, slots, _ in self._changes], len(others))
        return dataclasses.replace(others, **columns)


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
