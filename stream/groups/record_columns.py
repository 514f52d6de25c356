"""Tables of a shard with one row per key, and records of `__consumer_offsets` as readers give them to the fold."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from decoders.errors import DecodeError
from stream.groups.decode_stats import SAMPLE_BYTES, DecodeFault, FaultSample


@dataclasses.dataclass(frozen=True, slots=True)
class KeyTable:
    """It has no column itself; all fields of a table but `packed` are columns."""

    BYTES: ClassVar[Mapping[str, str]] = {"keys": "key"}
    """The columns of bytes, with the names under which `codec` stores them; numbers have the names of their fields."""

    @classmethod
    @functools.cache
    def columns(cls) -> Sequence[str]:
        """Return the names of the columns."""
        return [field.name for field in dataclasses.fields(cls) if field.name != "packed"]

    @classmethod
    @functools.cache
    def empty(cls) -> Self:
        """Return a table without rows."""
        numbers = np.empty(0, np.int64)
        return cls(*(pa.array([], pa.binary()) if name in cls.BYTES else numbers for name in cls.columns()))

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Concatenate the rows of several tables."""
        parts = [part for part in parts if len(part)]
        if len(parts) < 2:
            return parts[0] if parts else cls.empty()
        columns = {name: [getattr(part, name) for part in parts] for name in cls.columns()}
        return cls(
            *(pa.concat_arrays(each) if name in cls.BYTES else np.concatenate(each) for name, each in columns.items())
        )

    def take(self, rows: NDArray[Any]) -> Self:
        """Return these rows (indices or a mask), in this order."""
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        indices = pa.array(rows) if self.BYTES else None
        columns = {name: getattr(self, name) for name in self.columns()}
        return type(self)(*(each.take(indices) if name in self.BYTES else each[rows] for name, each in columns.items()))

    def __len__(self) -> int:
        return len(getattr(self, self.columns()[0]))


@dataclasses.dataclass(frozen=True, slots=True)
class RecordColumns:
    """Records as columns, in log order within each offsets partition; times in ms."""

    offsets_partition: NDArray[np.int32]
    position: NDArray[np.int64]
    time: NDArray[np.int64]
    keys: pa.BinaryArray
    values: pa.BinaryArray
    rows: NDArray[np.int64] | None = None
    """The rows of the records in `keys` and `values`, ascending; None: all rows."""

    @classmethod
    def of_partition(
        cls, partition: int, position: NDArray[np.int64], time: NDArray[np.int64], keys: pa.Array, values: pa.Array
    ) -> RecordColumns:
        """Return records of one partition."""
        return cls(np.full(len(position), partition, np.int32), position, time, keys, values)

    def take(self, rows: NDArray[Any]) -> RecordColumns:
        """Return these records (ascending indices); keys and values are shared, not copied."""
        if len(rows) == len(self.position):
            return self
        selected = rows if self.rows is None else self.rows[rows]
        return RecordColumns(
            self.offsets_partition[rows], self.position[rows], self.time[rows], self.keys, self.values, selected
        )

    def record(self, at: int) -> tuple[bytes | None, bytes | None]:
        """Return key and value of a record."""
        row = at if self.rows is None else int(self.rows[at])
        return self.keys[row].as_py(), self.values[row].as_py()

    def keys_and_values(self) -> tuple[pa.BinaryArray, pa.BinaryArray]:
        """Return the keys and the values of these records only."""
        if self.rows is None:
            return self.keys, self.values
        indices = pa.array(self.rows)
        return self.keys.take(indices), self.values.take(indices)

    def fault(self, at: int, error: DecodeError) -> FaultSample:
        """Return the sample of a malformed record."""
        return FaultSample(
            DecodeFault(error.type, error.version, error.reason.value),
            error.field,
            int(self.offsets_partition[at]),
            int(self.position[at]),
            *(None if each is None else each[:SAMPLE_BYTES].hex() for each in self.record(at)),
        )


def distinct_partitions(partitions: NDArray[np.int32]) -> list[int]:
    """Return the distinct offsets partitions, ascending; only the places where the partition changes are sorted."""
    changes = np.flatnonzero(partitions[1:] != partitions[:-1])
    distinct: list[int] = np.unique(np.append(partitions[:1], partitions[changes + 1])).tolist()
    return distinct
