"""Offsets that the broker forgot: one row per tombstone, with the commits that it ended.

Runs tell how a key stands; what stood there before a tombstone is gone from them. A delta and a change carry this
table beside the runs, so that the life of a group (`lifecycle.tracker`) and the check of predicted expiries see
every tombstone with its evidence, whatever the batch borders. A state does not keep it.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stream.groups.commits.runs import columns_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream.groups.shard import Runs


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetTombstones:
    """One row per tombstone of an offset; the rows of a key in log order. `NEVER` where no commit is known before it.

    A *stretch* is what a key committed between one tombstone and the next.
    """

    keys: pa.BinaryArray
    position: NDArray[np.int64]
    time: NDArray[np.int64]
    """Timestamp of the tombstone's record, in ms."""
    first_position: NDArray[np.int64]
    first_time: NDArray[np.int64]
    """Where the stretch that it ended began, and the timestamp of that commit."""
    last_time: NDArray[np.int64]
    expire_time: NDArray[np.int64]
    """Timestamp and stored expiry of the last commit of the stretch."""

    @property
    def known(self) -> NDArray[np.bool_]:
        """Say which tombstones ended a stretch: the others fell on a key without commits."""
        return self.first_position >= 0

    def take(self, rows: NDArray[Any]) -> OffsetTombstones:
        """Give these rows (indices or a mask), in this order."""
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        keys, *numbers = columns_of(self)
        return OffsetTombstones(keys.take(pa.array(rows)), *(column[rows] for column in numbers))

    def __len__(self) -> int:
        return len(self.keys)


def no_forgotten() -> OffsetTombstones:
    """Give a table without rows."""
    none = np.empty(0, np.int64)
    return OffsetTombstones(pa.array([], pa.binary()), none, none, none, none, none, none)


def concat(parts: Sequence[OffsetTombstones]) -> OffsetTombstones:
    """Put the rows of several one after the other."""
    parts = [part for part in parts if len(part)]
    if len(parts) < 2:
        return parts[0] if parts else no_forgotten()
    keys, *numbers = zip(*(columns_of(part) for part in parts), strict=True)
    return OffsetTombstones(pa.concat_arrays(keys), *(np.concatenate(column) for column in numbers))


def resolve(forgotten: OffsetTombstones, pieces: Sequence[Runs]) -> OffsetTombstones:
    """Complete stretches that began before the batch that held their tombstone.

    `pieces` are the runs of what was read, in any order, none of which spans a tombstone of its key.
    """
    if not len(forgotten):
        return forgotten
    names = pc.unique(forgotten.keys)
    items = _concat([_items_of_runs(piece, names) for piece in pieces] + [_items_of_tombstones(forgotten, names)])
    order = np.lexsort((items.position, items.key))
    items = _take(items, order)
    ends = np.flatnonzero(items.tombstone >= 0)
    # Every stretch of items ends with a tombstone; what follows the last one of a key belongs to none.
    begins = np.concatenate(([0], ends[:-1] + 1))
    begins = np.maximum(begins, np.searchsorted(items.key, items.key[ends], "left"))
    first = _first_known(items.first_position, begins, ends)
    last = np.where(items.first_position[ends] >= 0, ends, np.maximum(ends - 1, begins))
    known = first >= 0
    rows = items.tombstone[ends]
    columns = {
        "first_position": items.first_position[first],
        "first_time": items.first_time[first],
        "last_time": items.last_time[last],
        "expire_time": items.expire_time[last],
    }
    filled = {
        name: _scattered(getattr(forgotten, name), rows[known], values[known]) for name, values in columns.items()
    }
    return dataclasses.replace(forgotten, **filled)


@dataclasses.dataclass(frozen=True, slots=True)
class _Items:
    """Runs and tombstones of the same keys, to be put in log order."""

    key: NDArray[np.int64]
    position: NDArray[np.int64]
    tombstone: NDArray[np.int64]
    """Row among the tombstones, -1 for a run."""
    first_position: NDArray[np.int64]
    first_time: NDArray[np.int64]
    last_time: NDArray[np.int64]
    expire_time: NDArray[np.int64]


def _items_of_runs(runs: Runs, names: pa.BinaryArray) -> _Items:
    codes = _codes(runs.keys, names)
    rows = np.flatnonzero((codes >= 0) & (runs.spans.commits > 0))
    spans = runs.spans
    return _Items(
        codes[rows],
        spans.last_position[rows],
        np.full(len(rows), -1, np.int64),
        spans.first_position[rows],
        spans.first_time[rows],
        spans.last_time[rows],
        runs.expire_time[rows],
    )


def _items_of_tombstones(forgotten: OffsetTombstones, names: pa.BinaryArray) -> _Items:
    return _Items(
        _codes(forgotten.keys, names),
        forgotten.position,
        np.arange(len(forgotten)),
        forgotten.first_position,
        forgotten.first_time,
        forgotten.last_time,
        forgotten.expire_time,
    )


def _codes(keys: pa.BinaryArray, names: pa.BinaryArray) -> NDArray[np.int64]:
    found = pc.fill_null(pc.index_in(keys, value_set=names), -1)
    codes: NDArray[np.int64] = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _concat(parts: Sequence[_Items]) -> _Items:
    return _Items(*(np.concatenate(columns) for columns in zip(*(columns_of(part) for part in parts), strict=True)))


def _take(items: _Items, rows: NDArray[np.intp]) -> _Items:
    return _Items(*(column[rows] for column in columns_of(items)))


def _first_known(
    first_position: NDArray[np.int64], begins: NDArray[np.intp], ends: NDArray[np.intp]
) -> NDArray[np.int64]:
    """Index of the first item of each stretch that has commits, -1 where none has."""
    beyond = len(first_position)
    candidates = np.where(first_position >= 0, np.arange(beyond), beyond)
    # From each item the next one with commits, seen from the end.
    following = np.minimum.accumulate(candidates[::-1])[::-1]
    found = following[begins]
    return np.where(found <= ends, found, -1)


def _scattered(column: NDArray[np.int64], rows: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
    filled = column.copy()
    filled[rows] = values
    return filled
