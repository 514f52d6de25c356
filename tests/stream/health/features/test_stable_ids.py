"""Numbers that stay the same from tick to tick."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream.health.features.end_states import NameIds, PartitionIds

NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(st.lists(NAMES, max_size=12))
def test_a_name_keeps_its_number_until_it_is_removed(ticks: list[list[str]]) -> None:
    """No two names share a number, and a free number is reused one change later at the earliest."""
    names = NameIds()
    before: dict[str, int] = {}
    for tick in ticks:
        now = dict(zip(tick, names.assign(tick).tolist(), strict=True))
        assert len(set(now.values())) == len(now)
        assert all(now[name] == number for name, number in before.items() if name in now)
        fresh = {number for name, number in now.items() if name not in before}
        assert not fresh & set(before.values())
        assert max(now.values(), default=-1) < 3 * 8
        before = now


@given(st.lists(st.lists(st.integers(0, 40), unique=True, max_size=20), max_size=8))
def test_a_place_keeps_its_row_when_others_are_added(ticks: list[list[int]]) -> None:
    """A place keeps its row for any order of places and any gaps."""
    places, known = PartitionIds(), dict[int, int]()
    for tick in ticks:
        asked = np.array(tick, np.int64)
        for place, row in zip(tick, places.assign(asked).tolist(), strict=True):
            assert known.setdefault(place, row) == row
        assert sorted(known.values()) == list(range(len(places)))


def test_remaining_places_are_renumbered_without_gaps() -> None:
    """The old rows of the remaining places are returned."""
    places = PartitionIds()
    places.assign(np.array([50, 10, 30], np.int64))
    places.assign(np.array([20], np.int64))
    before = places.assign(np.array([10, 20, 50], np.int64)).tolist()
    old = places.retain(np.array([50, 10, 20, 99], np.int64))
    after = places.assign(np.array([10, 20, 50], np.int64))
    assert old[after].tolist() == before
    assert len(places) == 3
