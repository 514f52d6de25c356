"""Changed columns and maxima by owner, beside what they stand for."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream.health.columns import assigned, max_by_owner, replaced, uniform
from tests.stream.health.columns import ints

ROWS = st.lists(st.tuples(st.integers(-1, 3), st.booleans(), st.integers(0, 2)), max_size=6)


@given(rows=ROWS, value=st.integers(-1, 3))
def test_a_changed_column_has_the_values_that_were_asked_for(rows: list[tuple[int, bool, int]], value: int) -> None:
    """A value in a mask of rows is that of `np.where`, and values at positions are assigned; the column stays."""
    column, chosen = ints(*(number for number, _, _ in rows)), np.array([each for _, each, _ in rows], np.bool_)
    before, at = column.tolist(), np.flatnonzero(chosen)
    expected = np.where(chosen, value, column).tolist()
    assert replaced(column, chosen, value).tolist() == expected
    assert replaced(column, chosen, uniform(value, column)).tolist() == expected
    assert assigned(column, at, value).tolist() == assigned(column, at, uniform(value, at)).tolist() == expected
    assert column.tolist() == before
    if expected == before:
        assert assigned(column, at, value) is column, "what does not change stays packed"


@given(rows=ROWS)
def test_the_maximum_of_an_owner_is_that_of_its_values(rows: list[tuple[int, bool, int]]) -> None:
    """Owners come in any order, may repeat later, and have the default where no value is greater."""
    values, owners = ints(*(number for number, _, _ in rows)), ints(*(owner for _, _, owner in rows))
    expected = [max([0, *values[owners == owner].tolist()]) for owner in range(3)]
    assert max_by_owner(values, owners, 3, 0).tolist() == expected
