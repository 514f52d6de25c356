"""Growth over an hour."""

from __future__ import annotations

import pytest

from stream.cluster_facts.growth import LogGrowth


def test_growth_of_each_broker() -> None:
    """Bytes per second since the first look; none after the first, and below zero where it shrank."""
    growth = LogGrowth()
    assert growth.update(0, {1: 100, 2: 50}) == {1: None, 2: None}
    assert growth.update(60, {1: 700, 2: 20}) == {1: 10.0, 2: -0.5}
    assert growth.update(120, {1: 700, 2: 50}) == {1: 5.0, 2: 0.0}


def test_a_saw_tooth_does_not_grow() -> None:
    """Over an hour that holds several teeth the growth is around nothing; of a straight line it is its slope."""
    growth = LogGrowth()
    for minute in range(300):
        told = growth.update(minute * 60, {1: 50_000 * (minute % 12), 2: 50_000 * minute})
    assert told[1] == pytest.approx(0, abs=50_000 * 12 / 3600)
    assert told[2] == pytest.approx(50_000 / 60)


def test_what_is_not_known_has_no_growth() -> None:
    """A hole is no size of zero: growth is told again with the next size, since before the hole."""
    growth = LogGrowth()
    growth.update(0, {1: 100})
    assert growth.update(60, {1: None}) == {1: None}
    assert growth.update(100, {1: 200}) == {1: 1.0}


def test_what_was_measured_long_ago_does_not_count() -> None:
    """After a long hole it begins anew, and a broker that has gone is forgotten."""
    growth = LogGrowth()
    growth.update(0, {1: 100, 2: 1})
    assert growth.update(4_000, {1: 200}) == {1: None}
    assert growth.update(4_060, {1: 800, 2: 1}) == {1: 10.0, 2: None}


def test_the_same_moment_twice() -> None:
    """No time has passed, so there is no speed."""
    growth = LogGrowth()
    growth.update(5, {1: 1})
    assert growth.update(5, {1: 2}) == {1: None}
