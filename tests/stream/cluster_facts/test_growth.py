"""Tests of growth rates."""

from stream.cluster_facts.log_cleaner import LogGrowth


def test_growth_is_the_change_per_second() -> None:
    """The growth is None after the first size, and negative if the size has shrunk."""
    growth = LogGrowth()
    assert growth.update(0, {1: 100, 2: 50}) == {1: None, 2: None}
    assert growth.update(60, {1: 700, 2: 20}) == {1: 10.0, 2: -0.5}
    assert growth.update(120, {1: 700, 2: 50}) == {1: 5.0, 2: 0.0}


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
