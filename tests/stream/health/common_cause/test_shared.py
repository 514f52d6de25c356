"""Pairs of groups and what they share."""

from __future__ import annotations

import numpy as np

from stream.health.common_cause.shared import Dimension, unique_pairs
from tests.stream.health.columns import ints


def test_a_pair_has_the_first_fault_and_the_last_commit() -> None:
    """Rows of one group and value become one pair; where the group has a fault, its other commits do not count."""
    pairs = unique_pairs(
        Dimension.TOPIC,
        ["a", "b"],
        group=ints(0, 0, 0, 1, 1),
        value=ints(0, 0, 1, 1, 1),
        unhealthy_since=ints(70, 50, -1, -1, -1),
        worked=ints(-1, -1, 30, 10, 20),
    )
    rows = zip(pairs.group, pairs.value, pairs.unhealthy_since, pairs.worked, strict=True)
    assert [tuple(map(int, row)) for row in rows] == [(0, 0, 50, -1), (0, 1, -1, 30), (1, 1, -1, 20)]


def test_a_value_that_is_not_known_makes_no_pair() -> None:
    """A row whose value is not known, such as a leader that was never known, is in no pair."""
    pairs = unique_pairs(Dimension.LEADER, ["1"], ints(0, 1), ints(-1, 0), ints(5, 5), ints(-1, -1))
    assert (pairs.group.tolist(), pairs.value.tolist()) == ([1], [0])


def test_some_pairs_can_be_selected() -> None:
    """Pairs are selected by a mask or by positions."""
    pairs = unique_pairs(Dimension.TOPIC, ["a"], ints(0, 1, 2), ints(0, 0, 0), ints(1, 2, 3), ints(-1, -1, -1))
    assert pairs.select(np.array([True, False, True])).unhealthy_since.tolist() == [1, 3]
    assert len(pairs.select(ints(1))) == 1
