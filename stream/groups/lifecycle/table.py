"""The lives of a shard's groups as a table: packed, for hardly any is looked at in a batch."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from stream.groups.commits.runs import NEVER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, slots=True)
class HistoryTable:
    """One row per group: what is remembered of it (`lifecycle.record`); null where that is nothing any more."""

    groups: pa.BinaryArray
    """Names, in UTF-8."""
    values: pa.BinaryArray
    died: NDArray[np.int64]
    """When a dead group died (ms), `NEVER` of a living one."""
    packed: bytes | None = dataclasses.field(default=None, compare=False, repr=False)
    """The bytes that it was read from: what a batch left as it was need not be packed again (`codec`)."""

    def take(self, rows: NDArray[Any]) -> HistoryTable:
        """Give these rows (indices or a mask), in this order."""
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        chosen = pa.array(rows)
        return HistoryTable(self.groups.take(chosen), self.values.take(chosen), self.died[rows])

    def forgotten(self) -> HistoryTable:
        """Give the same groups as ones of which nothing is remembered."""
        return HistoryTable(self.groups, pa.nulls(len(self), pa.binary()), np.full(len(self), NEVER, np.int64))

    def __len__(self) -> int:
        return len(self.groups)


def history_table(rows: Mapping[str, tuple[bytes | None, int]]) -> HistoryTable:
    """Make a table of packed lives and when they ended, by group."""
    return HistoryTable(
        pa.array([name.encode() for name in rows], pa.binary()),
        pa.array([packed for packed, _ in rows.values()], pa.binary()),
        np.array([died for _, died in rows.values()], np.int64),
    )


def concat_histories(parts: Sequence[HistoryTable]) -> HistoryTable:
    """Put the rows of several one after the other."""
    parts = [part for part in parts if len(part)]
    if len(parts) < 2:
        return parts[0] if parts else no_histories()
    return HistoryTable(
        pa.concat_arrays([part.groups for part in parts]),
        pa.concat_arrays([part.values for part in parts]),
        np.concatenate([part.died for part in parts]),
    )


def no_histories() -> HistoryTable:
    """Give a table without rows."""
    return HistoryTable(pa.array([], pa.binary()), pa.array([], pa.binary()), np.empty(0, np.int64))
