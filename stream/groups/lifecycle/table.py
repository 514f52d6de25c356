"""The histories of a shard's groups as a table of packed values, because a batch reads only few of them."""

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
    """One row per group: its packed history (`lifecycle.record`); in a change, null where the history was dropped."""

    groups: pa.BinaryArray
    """Names, in UTF-8."""
    values: pa.BinaryArray
    died: NDArray[np.int64]
    """Time of death (ms), `NEVER` for a group that is not dead."""
    packed: bytes | None = dataclasses.field(default=None, compare=False, repr=False)
    """The bytes that the table was read from, so that `codec` need not pack an unchanged table again."""

    def take(self, rows: NDArray[Any]) -> HistoryTable:
        """Return these rows (indices or a mask), in this order."""
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        indices = pa.array(rows)
        return HistoryTable(self.groups.take(indices), self.values.take(indices), self.died[rows])

    def dropped(self) -> HistoryTable:
        """Return the same groups with null values: their histories are dropped."""
        return HistoryTable(self.groups, pa.nulls(len(self), pa.binary()), np.full(len(self), NEVER, np.int64))

    def __len__(self) -> int:
        return len(self.groups)


def history_table(rows: Mapping[str, tuple[bytes | None, int]]) -> HistoryTable:
    """Return a table of packed histories and times of death, given by group."""
    return HistoryTable(
        pa.array([name.encode() for name in rows], pa.binary()),
        pa.array([packed for packed, _ in rows.values()], pa.binary()),
        np.array([died for _, died in rows.values()], np.int64),
    )


def concat_histories(parts: Sequence[HistoryTable]) -> HistoryTable:
    """Concatenate the rows of several tables."""
    parts = [part for part in parts if len(part)]
    if len(parts) < 2:
        return parts[0] if parts else no_histories()
    return HistoryTable(
        pa.concat_arrays([part.groups for part in parts]),
        pa.concat_arrays([part.values for part in parts]),
        np.concatenate([part.died for part in parts]),
    )


def no_histories() -> HistoryTable:
    """Return a table without rows."""
    return HistoryTable(pa.array([], pa.binary()), pa.array([], pa.binary()), np.empty(0, np.int64))
