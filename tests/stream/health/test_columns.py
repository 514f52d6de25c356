"""Sums and maxima by owner, positions of keys, and numbers of pairs."""

from __future__ import annotations

import pytest

from stream.health.columns import consecutive_pairs, find_keys, max_by_owner, sum_by_owner
from tests.stream.health.columns import ints


def test_an_owner_has_the_maximum_and_the_sum_of_its_values() -> None:
    """An owner without values has the default, and the sum 0."""
    values, owner = ints(3, -5, 9, 4), ints(0, 2, 0, 2)
    assert max_by_owner(values, owner, 3, -1).tolist() == [9, -1, 4]
    assert sum_by_owner(values, owner, 3).tolist() == [12, 0, -1]


def test_sums_are_exact_beyond_the_precision_of_floats() -> None:
    """Offsets may be greater than 2**53."""
    assert sum_by_owner(ints(1 << 60, 1), ints(0, 0), 1).tolist() == [(1 << 60) + 1]


@pytest.mark.parametrize(
    ("keys", "wanted", "position"),
    [
        pytest.param((7, 3, 5), (5, 7, 4, 9, 1), [2, 0, -1, -1, -1], id="keys in any order"),
        pytest.param((), (5,), [-1], id="no keys"),
        pytest.param((5,), (), [], id="no wanted keys"),
    ],
)
def test_keys_are_found_by_value(keys: tuple[int, ...], wanted: tuple[int, ...], position: list[int]) -> None:
    """The position of a missing key is -1."""
    assert find_keys(ints(*keys), ints(*wanted)).tolist() == position


def test_pairs_of_columns_are_numbered_in_row_order() -> None:
    """A pair begins where either column changes; there is no pair without rows."""
    numbers, begins = consecutive_pairs(ints(0, 0, 0, 1, 1, 3), ints(2, 2, 4, 4, 4, 4))
    assert (numbers.tolist(), begins.tolist()) == ([0, 0, 1, 2, 2, 3], [0, 2, 3, 5])
    assert [len(column) for column in consecutive_pairs(ints(), ints())] == [0, 0]
