"""Lag and the other distances, and the reason where a distance is unknown."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.health.columns import NOT_KNOWN
from stream.health.features.lag import PartitionEnds, distances, lag
from tests.stream.health.columns import ints


def ends(start: int, stable: int, high: int, *, known: bool = True, place: int = 7) -> PartitionEnds:
    """Return the ends of one partition."""
    return PartitionEnds(ints(place), ints(high), ints(start), np.array([known]), ints(stable))


CASES = {
    # story: (committed, log start, last stable, high watermark) -> (lag, stable lag, lost, margin)
    "in the middle": ((50, 10, 90, 100), (50, 40, 0, 40)),
    "at the end": ((100, 10, 100, 100), (0, 0, 0, 90)),
    "all that is stable is read": ((90, 10, 90, 100), (10, 0, 0, 80)),
    "read beyond what is stable, as read_uncommitted does": ((95, 10, 90, 100), (5, 0, 0, 85)),
    "below the log start": ((5, 10, 90, 100), (90, 80, 5, 0)),
    "below the start of an empty log": ((5, 100, 100, 100), (0, 0, 95, 0)),
    "at the start": ((10, 10, 10, 10), (0, 0, 0, 0)),
}


@pytest.mark.parametrize(("given_", "wanted"), CASES.values(), ids=CASES.keys())
def test_distances_begin_at_the_first_offset_that_can_be_read(given_: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """Offsets below the log start are lost, and do not count as unread."""
    committed, start, stable, high = given_
    found = lag(ints(committed), ints(7), ends(start, stable, high))
    more = distances(ints(committed), found, ends(start, stable, high))
    assert found.known.tolist() == [True]
    assert (found.lag[0], more.stable_lag[0], more.lost[0], more.margin[0]) == wanted


UNKNOWN = {
    "the cluster did not answer": (50, ends(0, 100, 100, known=False)),
    "another partition answered": (50, ends(0, 100, 100, place=8)),
    "no partition was polled": (50, PartitionEnds(ints(), ints(), ints(), np.empty(0, np.bool_))),
    "above the end": (101, ends(0, 100, 100)),
}


@pytest.mark.parametrize(("committed", "given_"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_an_unknown_lag_is_never_a_number(committed: int, given_: PartitionEnds) -> None:
    """The lag and the other distances are marked as unknown."""
    found = lag(ints(committed), ints(7), given_)
    more = distances(ints(committed), found, given_)
    assert found.known.tolist() == [False]
    assert [more.stable_lag[0], more.lost[0], more.margin[0]] == [NOT_KNOWN] * 3


def test_the_other_distances_are_known_without_a_last_stable_offset() -> None:
    """The last stable offset may be absent, because not every caller reads it."""
    plain = PartitionEnds(ints(7), ints(100), ints(10), np.array([True]))
    more = distances(ints(50), lag(ints(50), ints(7), plain), plain)
    assert (more.last_stable[0], more.stable_lag[0], more.margin[0]) == (NOT_KNOWN, NOT_KNOWN, 40)


@given(st.integers(0, 200), st.integers(0, 100), st.integers(0, 100), st.integers(0, 100))
def test_no_distance_is_negative(committed: int, start: int, more: int, open_: int) -> None:
    """The lag is the distance to the end from the commit or the log start, for any offsets."""
    high = start + more + open_
    given_ = ends(start, start + more, high)
    found = lag(ints(committed), ints(7), given_)
    measured = distances(ints(committed), found, given_)
    if committed > high:
        assert not found.known[0]
        return
    assert found.lag[0] == high - max(committed, start)
    assert 0 <= measured.stable_lag[0] <= found.lag[0]
    assert measured.lost[0] - measured.margin[0] == start - committed
    assert min(measured.lost[0], measured.margin[0]) == 0
