"""Columns of numbers as the modules of `stream.health` take them."""

import numpy as np

from stream.health.columns import Ints


def ints(*values: int) -> Ints:
    return np.array(values, np.int64)
