"""Tables of columns that outlive a tick: one element per row (group, topic, partition), declared with `column`.

A declaration says which value a row has that was never observed, and how the column is stored for the next process.
Between two ticks a table is packed (`packed_columns`): most rows hold the default in most columns.

Columns of rows (group, topic, partition) as bytes for the next process, and their rows among those of a tick.

The bytes are an Arrow stream, compressed with zstd. Columns are found by name, so a process also reads the
bytes of an older or newer version, and ignores columns that it does not know.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, Self, TypeVar

import numpy as np
import pyarrow as pa

from stream.health.columns import NOT_KNOWN, Codes, Ints, find_keys
from stream.health.inputs import HealthInputs
from stream.health.packed_columns import PackedTable

FORMAT: Final = 2
NAME: Final = pa.dictionary(pa.int32(), pa.string())


@dataclasses.dataclass(frozen=True, slots=True)
class StoredRows:
    """The stored rows that are among those of a tick."""

    rows: Ints
    """The row of the tick of each of them."""
    _at: Ints
    _table: pa.Table

    def values(self, name: str, words: Sequence[str] = ()) -> Ints | None:
        """Return a column, one element per element of `rows`; None if it is not stored.

        A column of words is one of positions in `words`, -1 for a word that is not in there.
        """
        if name not in self._table.column_names:
            return None
        column = self._table[name]
        return (_positions(column, words) if words else column.to_numpy())[self._at]


def dictionary(codes: Ints | Codes, names: Sequence[str]) -> pa.DictionaryArray:
    """Return codes as a column of names."""
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(names, pa.string()))


def pack(inputs: HealthInputs, columns: Mapping[str, pa.Array]) -> bytes:
    """Return columns of the rows of one tick as bytes."""
    table = pa.table(
        {
            "group": dictionary(inputs.group, inputs.groups.names),
            "topic": dictionary(inputs.topic, inputs.topics),
            "partition": pa.array(inputs.partition, pa.int32()),
            **columns,
        }
    ).replace_schema_metadata({"format": str(FORMAT)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def unpack(packed: bytes, inputs: HealthInputs) -> StoredRows | None:
    """Return the stored rows that a tick has; None if there are none, or the bytes are damaged or of another format."""
    try:
        table = pa.ipc.open_stream(packed).read_all()
    except (pa.ArrowInvalid, OSError):
        return None
    if (table.schema.metadata or {}).get(b"format") != str(FORMAT).encode() or not len(table):
        return None
    rows, at = _find_rows(table, inputs)
    return StoredRows(rows, at, table)


def _find_rows(table: pa.Table, inputs: HealthInputs) -> tuple[Ints, Ints]:
    """Return the rows of a tick that are in a packed table, and the position of each in the table."""
    group, topic = _positions(table["group"], inputs.groups.names), _positions(table["topic"], inputs.topics)
    at = np.flatnonzero((group >= 0) & (topic >= 0))
    width = max(len(inputs.topics), 1)
    pairs, pair_of_row = np.unique(inputs.group * width + inputs.topic, return_inverse=True)
    packed_pairs = group[at] * width + topic[at]
    pair = np.minimum(np.searchsorted(pairs, packed_pairs), max(len(pairs) - 1, 0))
    at, pair = (column[pairs[pair] == packed_pairs] for column in (at, pair)) if len(pairs) else (at[:0], pair[:0])
    keys = (pair_of_row << 31) | inputs.partition  # ascending, as the rows are
    wanted = (pair << 31) | table["partition"].to_numpy()[at]
    rows = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    found = keys[rows] == wanted if len(keys) else np.zeros(0, np.bool_)
    return rows[found], at[found]


def _positions(names: pa.ChunkedArray, among: Sequence[str]) -> Ints:
    """Return the position of each name among others, -1 where it is not there."""
    encoded = names.combine_chunks()
    position = {name: number for number, name in enumerate(among)}
    of_dictionary = np.array([position.get(name, -1) for name in encoded.dictionary.to_pylist()] or [-1], np.int64)
    positions: Ints = of_dictionary[encoded.indices.to_numpy(zero_copy_only=False)]
    return positions


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
            return dictionary(values, self.words)
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
        self.packed = PackedTable.pack(table.empty(0), self._types)
        """The columns of the last tick."""
        self._before = table.empty(0)
        self.inputs: HealthInputs | None = None
        """The rows of the last tick; None before the first one."""

    def aligned(self, inputs: HealthInputs, keys: Ints) -> _Table:
        """Return the columns for the rows of this tick, as of the last one; `keys` identify a row over the ticks."""
        previous_keys, self.keys = self.keys, keys
        if self._stored is not None:
            stored, self._stored = unpack(self._stored, inputs), None
            return self._table.restored(len(keys), stored)
        if len(keys) == len(previous_keys) and (keys == previous_keys).all():
            self._before = self.packed.rows()
            return self._before
        return self._moved(inputs, previous_keys, keys)

    def keep(self, columns: _Table, inputs: HealthInputs) -> None:
        """Keep the columns of this tick until the next one; those that did not change since `aligned` stay packed."""
        self.packed = PackedTable.pack(columns, self._types, self.packed.by_array(self._before))
        self.inputs, self._before = inputs.without_columns(), self._table.empty(0)

    def stored(self) -> dict[str, pa.Array]:
        """Return the columns of the last tick in their stored form."""
        return self.packed.rows().stored()

    def _moved(self, inputs: HealthInputs, previous_keys: Ints, keys: Ints) -> _Table:  # noqa: ARG002 - for subclasses
        """Return the columns for other rows than those of the last tick."""
        return self.packed.rows().take(find_keys(previous_keys, keys))
