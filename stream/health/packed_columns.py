"""Tables of columns in few bytes, for the time between two ticks: most columns repeat a value or span a narrow range.

The encoding is exact. A column whose elements are all equal takes no memory; whole numbers take one, two or four bytes
where the numbers other than `NOT_KNOWN` span so little; every other column, and every small one, is kept as it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any, Final, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream.health.columns import NOT_KNOWN

_Table = TypeVar("_Table")
_NARROW: Final = (np.uint8, np.uint16, np.uint32)
LEAST_BYTES: Final = 4_096
"""Size of the smallest column that is packed: below, packing takes more time than its memory is worth."""


@dataclasses.dataclass(frozen=True, slots=True)
class PackedColumn:
    """One packed column."""

    _codes: NDArray[Any]
    _offset: int | None
    """The value of code 0, which stands for `NOT_KNOWN` instead; None: the codes are the values."""

    @classmethod
    def pack(cls, column: NDArray[Any]) -> PackedColumn:
        """Return a packed copy of a column; a small one, or one that cannot be made smaller, is shared, not copied."""
        if column.nbytes < LEAST_BYTES:
            return cls(column, None)
        if len(column) and column.strides == (0,):  # unpacked at this tick, and not changed
            return cls(column, None)
        if len(column) and column.ndim == 1 and _is_uniform(column):
            return cls(np.broadcast_to(column[:1].copy(), len(column)), None)
        if not len(column) or column.dtype != np.int64:
            return cls(column, None)
        return cls(*_narrowed(column))

    def rows(self, first: int, last: int | None = None) -> NDArray[Any]:
        """Return the rows from `first` to before `last` (None: to the end) in their original type.

        They must not be written to: equal elements are one element in memory, as in the packed column.
        """
        values: NDArray[Any] = self[first:last]
        values.setflags(write=False)
        return values

    def __getitem__(self, rows: Any) -> Any:
        """Return these rows (a slice, positions or a mask), or the element of one row, in the original type."""
        codes = self._codes[rows]
        if self._offset is None:
            return codes
        values = codes.astype(np.int64)
        values += self._offset
        unknown = codes == 0
        return np.where(unknown, NOT_KNOWN, values) if self._offset != NOT_KNOWN and unknown.any() else values

    @property
    def nbytes(self) -> int:
        """Size in bytes, without that of the object."""
        return self._codes.nbytes if all(self._codes.strides) else self._codes.itemsize


@dataclasses.dataclass(frozen=True, slots=True)
class PackedTable(Generic[_Table]):
    """A packed dataclass of columns, which may have other dataclasses of columns as fields."""

    _type: type[_Table]
    _packed: Mapping[str, _Packed]
    _others: Mapping[str, Any]

    @classmethod
    def pack(
        cls, table: _Table, types: Mapping[type, Collection[str]], known: Mapping[int, _Packed] | None = None
    ) -> PackedTable[_Table]:
        """Return a packed copy of a table.

        `types` are the dataclasses whose arrays have one element per row, each with the names of the fields that are
        kept as they are. Fields of other types are kept as they are, too. An array of several fields is packed once,
        and those in `known` (by the id of the array or table) are packed already.
        """
        return cls._pack(table, types, dict(known or {}))

    @classmethod
    def _pack(cls, table: Any, types: Mapping[type, Collection[str]], known: dict[int, _Packed]) -> PackedTable[Any]:
        packed: dict[str, _Packed] = {}
        others: dict[str, Any] = {}
        for field in dataclasses.fields(table):
            value = getattr(table, field.name)
            if field.name in types[type(table)]:
                others[field.name] = value
            elif isinstance(value, PackedTable):
                packed[field.name] = value
            elif id(value) in known:
                packed[field.name] = known[id(value)]
            elif isinstance(value, np.ndarray):
                packed[field.name] = known[id(value)] = PackedColumn.pack(value)
            elif type(value) in types:
                packed[field.name] = cls._pack(value, types, known)
            else:
                others[field.name] = value
        return cls(type(table), packed, others)

    def __getattr__(self, name: str) -> _Packed:
        """Return a packed column or table by its name."""
        if name.startswith("_") or name not in self._packed:  # `copy` looks for methods before there are any fields
            raise AttributeError(name)
        return self._packed[name]

    def rows(self, first: int = 0, last: int | None = None) -> _Table:
        """Return a table of the rows from `first` to before `last` (None: to the end), not to be written to."""
        unpacked = {id(column): column.rows(first, last) for column in self._packed.values()}
        columns = {name: unpacked[id(column)] for name, column in self._packed.items()}
        return self._type(**columns, **self._others)

    def by_array(self, table: _Table) -> dict[int, _Packed]:
        """Return the packed columns by the ids of their arrays in `table`, which `rows` has returned."""
        return {id(getattr(table, name)): column for name, column in self._packed.items()}

    @property
    def nbytes(self) -> int:
        """Size of the packed columns in bytes; a column of several fields counts once."""
        return sum(column.nbytes for column in {id(column): column for column in self._columns()}.values())

    def _columns(self) -> list[PackedColumn]:
        columns: list[PackedColumn] = []
        for value in self._packed.values():
            columns += [value] if isinstance(value, PackedColumn) else value._columns()  # noqa: SLF001 -- of this class
        return columns


_Packed: TypeAlias = PackedColumn | PackedTable[Any]


def _is_uniform(column: NDArray[Any]) -> bool:
    bits = column.view(np.int64) if column.dtype == np.float64 else column  # NaN differs from itself
    return bool(bits[0] == bits[-1]) and bool((bits == bits[0]).all())


def _narrowed(column: NDArray[np.int64]) -> tuple[NDArray[Any], int | None]:
    """Return codes and their offset, see `PackedColumn`."""
    low, high = int(column.min()), int(column.max())
    unknown = None
    if low == NOT_KNOWN and high - low > np.iinfo(np.uint8).max:
        unknown = column == NOT_KNOWN
        low = int(column.view(np.uint64).min())  # -1 is the greatest of these
    for dtype in _NARROW if low > np.iinfo(np.int64).min else ():
        if high - low < np.iinfo(dtype).max:
            codes: NDArray[Any] = column.astype(dtype)  # modulo the type, which the difference fits in
            codes -= dtype((low - 1) % (1 << 8 * codes.itemsize))
            if unknown is not None:
                codes[unknown] = 0
            return codes, low - 1
    return column, None
