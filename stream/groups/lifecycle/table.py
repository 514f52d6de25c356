"""The histories of a shard's groups as a table of packed values, because a batch reads only few of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from stream.groups.commits.runs import NEVER
from stream.groups.key_table import KeyTable

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, slots=True)
class HistoryTable(KeyTable):
    """One row per group: its packed history (`lifecycle.record`); in a change, null where the history was dropped."""

    BYTES: ClassVar[Mapping[str, str]] = {"groups": "group", "values": "life"}

    groups: pa.BinaryArray
    """Names, in UTF-8."""
    values: pa.BinaryArray
    died: NDArray[np.int64]
    """Time of death (ms), `NEVER` for a group that is not dead."""
    packed: bytes | None = dataclasses.field(default=None, compare=False, repr=False)
    """The bytes that the table was read from, so that `codec` need not pack an unchanged table again."""

    def dropped(self) -> HistoryTable:
        """Return the same groups with null values: their histories are dropped."""
        return HistoryTable(self.groups, pa.nulls(len(self), pa.binary()), np.full(len(self), NEVER, np.int64))


def history_table(rows: Mapping[str, tuple[bytes | None, int]]) -> HistoryTable:
    """Return a table of packed histories and times of death, given by group."""
    return HistoryTable(
        pa.array([name.encode() for name in rows], pa.binary()),
        pa.array([packed for packed, _ in rows.values()], pa.binary()),
        np.array([died for _, died in rows.values()], np.int64),
    )
