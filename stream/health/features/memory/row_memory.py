"""The memory of rows (group, topic, partition) over the ticks: one column per remembered number.

Each part of the memory is a dataclass of columns with a module of its own, which says how a tick changes them. This
module keeps the parts aligned with the rows of each tick, and stores them for the next process.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from stream.health import stored_rows
from stream.health.columns import find_keys
from stream.health.features.memory import rest
from stream.health.features.memory.rest import RestMemory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.health.columns import Flags, Ints
    from stream.health.features.lag import Lag
    from stream.health.inputs import HealthInputs

_Columns = TypeVar("_Columns")
_REST: Final = "rest"


@dataclasses.dataclass(frozen=True, slots=True)
class Remembered:
    """What the memory says about the rows of one tick; one element per row."""

    last_read: Flags
    """The group commits the offset of the last record it has read, see `rest`."""


class RowMemory:
    """The memory of all rows of one process. Not thread-safe."""

    def __init__(self, packed: bytes | None = None) -> None:
        """Continue with what an earlier process packed, if there is anything."""
        self._packed = packed
        self._keys = np.empty(0, np.int64)
        self._rest = RestMemory.empty(0)

    def record(self, inputs: HealthInputs, keys: Ints, lag: Lag) -> Remembered:
        """Record a tick; `keys` identify its rows over the ticks, `lag` is the distance of each commit from the end."""
        self._align(inputs, keys)
        self._rest, last_read = rest.advance(self._rest, inputs, lag)
        return Remembered(last_read)

    def columns(self) -> Mapping[str, Ints]:
        """Return all columns by name, to be stored."""
        return _named(_REST, self._rest)

    def _align(self, inputs: HealthInputs, keys: Ints) -> None:
        if self._packed is not None:
            stored = stored_rows.unpack(self._packed, inputs)
            self._packed, self._rest = None, _restored(RestMemory.empty(len(keys)), _REST, stored)
        elif len(keys) != len(self._keys) or not (keys == self._keys).all():
            position = find_keys(self._keys, keys)
            self._rest = _taken(self._rest, RestMemory.empty(len(keys)), position)
        self._keys = keys


def _named(prefix: str, part: Any) -> dict[str, Ints]:
    return {f"{prefix}_{field.name}": getattr(part, field.name) for field in dataclasses.fields(part)}


def _taken(part: _Columns, empty: _Columns, position: Ints) -> _Columns:
    """Return the columns of the rows at these positions; rows at -1 are those of `empty`."""
    known = position >= 0
    for field in dataclasses.fields(empty):  # type: ignore[arg-type] # a dataclass of columns
        getattr(empty, field.name)[known] = getattr(part, field.name)[position[known]]
    return empty


def _restored(empty: _Columns, prefix: str, stored: stored_rows.StoredRows | None) -> _Columns:
    """Return the stored columns; rows and columns that are not stored are those of `empty`."""
    if stored is None:
        return empty
    for field in dataclasses.fields(empty):  # type: ignore[arg-type] # a dataclass of columns
        column = stored.numbers(f"{prefix}_{field.name}")
        if column is not None:
            getattr(empty, field.name)[stored.rows] = column
    return empty
