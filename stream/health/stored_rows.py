"""Columns of rows (group, topic, partition) as bytes for the next process, and their rows among those of a tick.

The bytes are an Arrow stream, compressed with zstd. Columns are found by name, so a process also reads the
bytes of an older or newer version, and ignores columns that it does not know.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from stream.health.columns import Codes, Ints
from stream.health.inputs import HealthInputs

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
