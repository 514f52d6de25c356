"""Columns of numbers as the modules of `stream.health` take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from stream.health.columns import Ints


def ints(*values: int) -> Ints:
    """Return a column of integers."""
    return np.array(values, np.int64)
