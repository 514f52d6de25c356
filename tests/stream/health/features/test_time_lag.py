"""Time lag and rates, compared with producers and consumers whose every step is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.groups.commits.slots import Slots
from stream.health.features.end_history import EndHistory
from stream.health.features.time_lag import TimeLag, oldest_by_owner, produce_and_consume_rates, rising_span, time_lag

TICK = 10_000
ROW = np.zeros(1, np.int64)
YES = np.array([True])


def one(value: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([value], np.int64)


def watched(sent: np.ndarray[tuple[int], np.dtype[np.int64]], until: int) -> EndHistory:
    """Return the history of one partition that is observed every tick."""
    history = EndHistory()
    history.grow(1)
    for now in range(0, until + 1, TICK):
        history.observe(ROW, now, one(int(np.searchsorted(sent, now, side="right"))))
    return history


@st.composite
def producers(draw: st.DrawFn) -> list[int]:
    """Return the ascending times of records that are sent evenly, in bursts, or both."""
    sent: list[int] = []
    if draw(st.booleans()):
        sent += range(1, 300_000, draw(st.integers(200, 20_000)))
    for at in draw(st.lists(st.integers(1, 299_000), max_size=6)):
        sent += [at + n for n in range(draw(st.integers(1, 400)))]
    return sorted(sent) or [5]


@given(producers(), st.floats(0, 1), st.integers(1, 30))
def test_the_age_of_the_oldest_unread_record_is_right_to_within_a_tick(
    sent: list[int], share: float, ticks: int
) -> None:
    """The difference from the true age is at most a tick, for steady and bursty input and any committed offset."""
    now = ticks * TICK
    moments = np.array(sent, np.int64)
    end = int(np.searchsorted(moments, now, side="right"))
    committed = int(share * end)
    found = time_lag(watched(moments, now), ROW, one(committed), np.array([committed < end]), YES, now)
    assert found.exact.all()
    true = now - sent[committed] if committed < end else 0
    assert abs(int(found.age[0]) - true) <= TICK
    if committed == end:
        assert (found.age[0], found.since[0]) == (0, -1)


def test_the_age_of_a_group_is_exact_only_if_no_partition_can_be_older() -> None:
    """One unknown partition makes the maximum a lower bound."""
    age = np.array([5, 9, 7, 4, -1, -1], np.int64)
    exact = np.array([True, True, False, True, False, False])
    of = np.array([0, 0, 1, 1, 2, 3], np.int64)
    found, sure = oldest_by_owner(TimeLag(age, exact, age), of, 5)
    assert found.tolist() == [9, 7, -1, -1, -1]
    assert sure.tolist() == [True, False, False, False, False]


def slots(*each: tuple[int, int]) -> Slots:
    """Return slots of one row: (time, offset)."""
    time, offset = (np.array(column, np.int64) for column in zip(*each, strict=True))
    return Slots(np.zeros(len(time), np.int64), time // 30_000, offset, time, np.ones(len(time), np.int64))


def test_a_window_ends_now_once_its_commits_are_overdue() -> None:
    """The window of a stopped group ends now, so that its former rate does not stay for ever."""
    late = slots((10_000, 50), (40_000, 90))
    for now, end in ((100_000, 40_000), (100_001, 100_001)):
        span = rising_span(late, one(now), now)
        assert (span.end_time.tolist(), span.late.tolist()) == ([end], [end == now])
    assert not rising_span(slots((29_000, 50), (30_000, 90)), one(60_000), 60_000).late[0], "a group that begins"
    assert not rising_span(late, one(100_000), 200_000).late[0], "a group whose next commits are not read yet"


@pytest.mark.parametrize(("per_second", "reads", "wanted"), [(100, 150, 20_000), (100, 100, -1), (100, 50, -1)])
def test_the_time_to_catch_up_is_lag_by_the_difference_of_the_rates(per_second: int, reads: int, wanted: int) -> None:
    """The group catches up, keeps its distance, or falls behind: it never catches up if there is no difference."""
    history = watched(np.arange(0, 300_000, 1_000 // per_second), 300_000)
    made = slots(*((at, at // 1_000 * reads) for at in range(30_000, 300_001, 30_000)))
    window = rising_span(made, one(300_000), 300_000)
    found = produce_and_consume_rates(
        window, one(300 * reads), one(1_000), history, ROW, end=one(300 * per_second), now=300_000
    )
    assert found.consume[0] == pytest.approx(reads, rel=0.01)
    assert found.produce[0] == pytest.approx(per_second, rel=0.01)
    assert found.catch_up[0] == pytest.approx(wanted, rel=0.05)
