"""The base of the tables of a shard: one row per key, record or slot, with columns of bytes and of numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, slots=True)
class KeyTable:
    """It has no column itself; all fields of a table but `packed` are columns."""

    BYTES: ClassVar[Mapping[str, str]] = {"keys": "key"}
    """The columns of bytes, with the names under which `codec` stores them; numbers have the names of their fields."""

    @classmethod
    def columns(cls) -> list[str]:
        """Return the names of the columns."""
        return [field.name for field in dataclasses.fields(cls) if field.name != "packed"]

    @classmethod
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
