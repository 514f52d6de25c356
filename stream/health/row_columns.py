"""Tables of columns that outlive a tick: one element per row (group, topic, partition), declared with `column`.

A declaration says which value a row has that was never observed, and how the column is stored for the next process.
Between two ticks a table is packed (`packed_columns`): most rows hold the default in most columns.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, Generic, Self, TypeVar

import numpy as np
import pyarrow as pa

from stream.health import stored_rows
from stream.health.columns import NOT_KNOWN, Ints, find_keys
from stream.health.inputs import HealthInputs
from stream.health.packed_columns import PackedTable
from stream.health.stored_rows import StoredRows


@dataclasses.dataclass(frozen=True, slots=True)
class RowColumn:
    """The declaration of a column."""

    stored: str | None
    """The name under which it is stored; None: it is not stored."""
    default: int
    """The value of a row that has never been observed."""
    dtype: type[np.generic]
    words: Sequence[str]
    """The words that its codes are stored as; a row with another word has never been observed. Empty: numbers."""
    most: int | None
    """The greatest number that is stored, in 16 bits; None: 64 bits."""

    def packed(self, values: Any) -> pa.Array:
        """Return the values in their stored form."""
        if self.words:
            return stored_rows.dictionary(values, self.words)
        return pa.array(values) if self.most is None else pa.array(np.minimum(values, self.most), pa.int16())


def column(
    stored: str | None = None,
    default: int = NOT_KNOWN,
    dtype: type[np.generic] = np.int64,
    *,
    words: Sequence[str] = (),
    most: int | None = None,
) -> Any:
    """Declare a column as a field of a dataclass, see `RowColumn`."""
    return dataclasses.field(metadata={"column": RowColumn(stored, default, dtype, words, most)})


@dataclasses.dataclass(frozen=True, slots=True)
class RowColumns:
    """Base of the tables; it has no column itself."""

    @classmethod
    def declared(cls) -> dict[str, RowColumn]:
        """Return the columns of the table by name."""
        return {field.name: field.metadata["column"] for field in dataclasses.fields(cls)}

    @classmethod
    def empty(cls, rows: int) -> Self:
        """Return the table of rows that have never been observed."""
        return cls(*(np.full(rows, each.default, each.dtype) for each in cls.declared().values()))

    def take(self, position: Ints) -> Self:
        """Return the rows at these positions; those at -1 have never been observed."""
        taken, known = self.empty(len(position)), position >= 0
        for name in self.declared():
            getattr(taken, name)[known] = getattr(self, name)[position[known]]
        return taken

    def stored(self) -> dict[str, pa.Array]:
        """Return the columns that are stored, by the name of their stored form."""
        declared = self.declared().items()
        return {each.stored: each.packed(getattr(self, name)) for name, each in declared if each.stored is not None}

    @classmethod
    def restored(cls, rows: int, stored: StoredRows | None) -> Self:
        """Return stored columns of a number of rows; rows and columns that are not stored have the default."""
        table = cls.empty(rows)
        if stored is None:
            return table
        known, found = np.ones(len(stored.rows), np.bool_), {}
        for name, each in cls.declared().items():
            values = None if each.stored is None else stored.values(each.stored, each.words)
            if values is not None:
                found[name] = values
                known &= (values >= 0) | (not each.words)
        for name, values in found.items():
            getattr(table, name)[stored.rows[known]] = values[known]
        return table


_Table = TypeVar("_Table", bound=RowColumns)


class KeptColumns(Generic[_Table]):
    """The packed table of the rows of the last tick, which becomes that of the next tick."""

    def __init__(self, table: type[_Table], stored: bytes | None) -> None:
        """Begin with the columns that an earlier process stored, if there are any."""
        self._table, self._stored = table, stored
        self._types = {table: ()}
        self.keys = np.empty(0, np.int64)
        """The keys of the rows of the last tick."""
        self._packed = PackedTable.pack(table.empty(0), self._types)
        self.inputs: HealthInputs | None = None
        """The rows of the last tick; None before the first one."""

    def aligned(self, inputs: HealthInputs, keys: Ints) -> _Table:
        """Return the columns for the rows of this tick, as of the last one; `keys` identify a row over the ticks."""
        previous_keys, self.keys = self.keys, keys
        if self._stored is not None:
            stored, self._stored = stored_rows.unpack(self._stored, inputs), None
            return self._table.restored(len(keys), stored)
        if len(keys) == len(previous_keys) and (keys == previous_keys).all():
            return self._packed.rows()
        return self._moved(inputs, previous_keys, keys)

    def keep(self, columns: _Table, inputs: HealthInputs) -> None:
        """Keep the columns of this tick until the next one."""
        self._packed, self.inputs = PackedTable.pack(columns, self._types), inputs.without_columns()

    def stored(self) -> dict[str, pa.Array]:
        """Return the columns of the last tick in their stored form."""
        return self._packed.rows().stored()

    def _moved(self, inputs: HealthInputs, previous_keys: Ints, keys: Ints) -> _Table:  # noqa: ARG002 - for subclasses
        """Return the columns for other rows than those of the last tick."""
        return self._packed.rows().take(find_keys(previous_keys, keys))
