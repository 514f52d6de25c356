"""Tests of growth rates."""

import pytest

from stream.cluster_facts.growth import LogGrowth


def test_growth_is_the_change_per_second() -> None:
    """The growth is None after the first size, and negative if the size has shrunk."""
    growth = LogGrowth()
    assert growth.update(0, {1: 100, 2: 50}) == {1: None, 2: None}
    assert growth.update(60, {1: 700, 2: 20}) == {1: 10.0, 2: -0.5}
    assert growth.update(120, {1: 700, 2: 50}) == {1: 5.0, 2: 0.0}


def test_compaction_cancels_growth() -> None:
    """A log that is compacted several times an hour has a growth of about 0. A log that grows steadily has its rate."""
    growth = LogGrowth()
    for minute in range(300):
        growth_by_broker = growth.update(minute * 60, {1: 50_000 * (minute % 12), 2: 50_000 * minute})
    assert growth_by_broker[1] == pytest.approx(0, abs=50_000 * 12 / 3600)
    assert growth_by_broker[2] == pytest.approx(50_000 / 60)


def test_an_unknown_size_has_no_growth() -> None:
    """Growth is known again with the next size. It starts again after a long gap, and needs a time difference."""
    growth = LogGrowth()
    growth.update(0, {1: 100})
    assert growth.update(60, {1: None}) == {1: None}
    assert growth.update(100, {1: 200}) == {1: 1.0}
    growth = LogGrowth()
    growth.update(0, {1: 100})
    assert growth.update(4_000, {1: 200}) == {1: None}
    assert growth.update(4_060, {1: 800}) == {1: 10.0}
    growth = LogGrowth()
    growth.update(5, {1: 1})
    assert growth.update(5, {1: 2}) == {1: None}


def test_a_removed_broker_is_not_kept() -> None:
    """The growth of a broker that is removed and returns starts again."""
    growth = LogGrowth()
    growth.update(0, {1: 100, 2: 1})
    assert growth.update(60, {1: 700}) == {1: 10.0}
    assert growth.update(120, {1: 1_300, 2: 601}) == {1: 10.0, 2: None}
    assert growth.update(180, {1: 1_900, 2: 661}) == {1: 10.0, 2: 1.0}
