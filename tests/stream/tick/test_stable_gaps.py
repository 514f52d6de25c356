"""Gaps below the high watermark: the time since which the last stable offset of a partition has not moved."""

from __future__ import annotations

import pytest

from stream.cluster.offsets_topic import NAME
from stream.groups.instances import EVERY_GROUP, InstanceShare
from stream.tick.ends_index import EndsIndex
from stream.tick.stable_gaps import StableGap, StableGaps
from tests.support.driver_states import ends_of

Ends = tuple[int | None, int | None]


@pytest.mark.parametrize(
    ("ends", "gap"),
    [
        pytest.param([(5, 5)], None, id="no gap"),
        pytest.param([(5, 3), (9, 3)], StableGap(3, 0), id="the last stable offset stays"),
        pytest.param([(5, 3), (9, 4)], StableGap(4, 10), id="the last stable offset has moved"),
        pytest.param([(5, 3), (9, 9)], None, id="the transaction has ended"),
        pytest.param([(5, 3), (None, None), (9, 3)], StableGap(3, 0), id="offsets unknown for one tick"),
        pytest.param([(5, 3), (9, None)], StableGap(3, 0), id="last stable offset unknown"),
    ],
)
def test_a_gap_is_as_old_as_its_last_stable_offset(ends: list[Ends], gap: StableGap | None) -> None:
    """An offset that is unknown at a tick does not change the gap."""
    gaps, known = StableGaps(EVERY_GROUP), {}
    for tick, (high, stable) in enumerate(ends):
        known = dict(gaps.update(EndsIndex(ends_of([(NAME, 0, high, stable, 0, None)])), 10 * tick))
    assert known == ({} if gap is None else {0: gap})


def test_partitions_of_other_instances_have_no_gaps() -> None:
    """Each instance tracks the gaps of its own partitions."""
    ends = EndsIndex(ends_of([(NAME, number, 9, 4, 0, None) for number in range(4)]))
    assert list(StableGaps(InstanceShare(1, 2)).update(ends, 0)) == [1, 3]
