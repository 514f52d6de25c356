"""Rows that wait for an open transaction, and for how long it has been open."""

from __future__ import annotations

import numpy as np
import pytest

from stream.health.features.lag import OffsetDistances
from stream.health.features.open_transaction import MOST_MARKERS, rows_before_new_transaction, rows_before_transaction
from tests.stream.health.columns import ints

NOW = 1_000_000


@pytest.mark.parametrize(
    ("stable", "stable_lag", "next_offset", "known", "before"),
    [
        pytest.param(100, 0, 100, True, True, id="read up to the open transaction"),
        pytest.param(100, MOST_MARKERS, 97, True, True, id="only markers lie before it"),
        pytest.param(100, MOST_MARKERS + 1, 96, True, False, id="records lie before it"),
        pytest.param(100, 0, 101, True, False, id="commit above the transaction: reader of uncommitted records"),
        pytest.param(200, 100, 100, True, False, id="no transaction is open"),
        pytest.param(-1, -1, 100, True, False, id="the last stable offset is not known"),
        pytest.param(100, -1, 100, True, True, id="no commit, and nothing is stable since the group formed"),
        pytest.param(100, -1, 90, True, False, id="no commit, but stable records since the group formed"),
        pytest.param(100, -1, 100, False, False, id="the lag is not known"),
    ],
)
def test_rows_before_transaction(stable: int, stable_lag: int, next_offset: int, known: bool, before: bool) -> None:  # noqa: FBT001 - a table
    """A row is before a transaction if it has read all committed records; the partition ends at 200."""
    ends = OffsetDistances(ints(200), ints(0), ints(stable), ints(stable_lag), ints(0), ints(0))
    assert rows_before_transaction(ends, ints(next_offset), np.array([known])).tolist() == [before]


@pytest.mark.parametrize(
    ("before", "open_for", "new"),
    [
        pytest.param(True, 59_999, True, id="open for less than the patience"),
        pytest.param(True, 60_000, False, id="open for the patience"),
        pytest.param(True, None, True, id="open since an unknown time"),
        pytest.param(False, 1, False, id="no transaction"),
    ],
)
def test_rows_before_new_transaction(before: bool, open_for: int | None, new: bool) -> None:  # noqa: FBT001 - a table
    """A transaction may end in time until it has been open for the patience of the row."""
    since = ints(-1 if open_for is None else NOW - open_for)
    assert rows_before_new_transaction(np.array([before]), since, ints(60_000), NOW).tolist() == [new]
