"""What all parts of the memory have in common: each field is a column of int64 with one element per row."""

from __future__ import annotations

import dataclasses
from typing import Self

import numpy as np

from stream.health.columns import NOT_KNOWN


@dataclasses.dataclass(frozen=True, slots=True)
class MemoryColumns:
    """Base of the dataclasses of columns; it has none itself."""

    @classmethod
    def empty(cls, rows: int) -> Self:
        """Return the memory of rows that have never been observed."""
        return cls(*(np.full(rows, NOT_KNOWN, np.int64) for _ in dataclasses.fields(cls)))
