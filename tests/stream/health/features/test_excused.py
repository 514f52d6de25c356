"""Rows that regained their coordinator or leader recently are excused."""

from __future__ import annotations

import pytest

from stream.health.features.excused import excused_rows, latest_outage_end
from tests.stream.health.columns import ints

REBALANCE, GRACE = 60_000, 30_000
NOW = 1_000_000


def test_the_latest_outage_counts() -> None:
    """The latest outage is that of the partition or of the coordinator, or of the partition without coordinators."""
    assert latest_outage_end(ints(-1, 5, 9, -1), ints(-1, 7, 3, 4)).tolist() == [-1, 7, 9, 4]
    assert latest_outage_end(ints(-1, 5), None).tolist() == [-1, 5]


@pytest.mark.parametrize(
    ("outage_ago", "settled_ago", "excused"),
    [
        pytest.param(None, 5_000, False, id="no outage"),
        pytest.param(GRACE, 500_000, True, id="an outage that ended within the grace period"),
        pytest.param(GRACE + 1, 500_000, False, id="an outage that ended earlier"),
        pytest.param(80_000, 20_000, True, id="came back by a rebalance that has just ended"),
        pytest.param(80_000, GRACE + 1, False, id="came back by a rebalance and had its grace period"),
        pytest.param(20_000 + REBALANCE + GRACE + 1, 20_000, False, id="a rebalance long after the outage"),
    ],
)
def test_excused_rows(outage_ago: int | None, settled_ago: int, excused: bool) -> None:  # noqa: FBT001 - a table
    """The grace period begins with the end of the outage, or with the end of the rebalance that follows it."""
    outage_end = ints(-1 if outage_ago is None else NOW - outage_ago)
    found = excused_rows(outage_end, ints(NOW - settled_ago), ints(NOW), ints(GRACE), REBALANCE)
    assert found.tolist() == [excused]
