"""The history of ends, compared with producers whose every send time is known."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream.health.features.end_history import NO_LATER_RECORD, NOT_ANSWERED, BracketQuality, EndHistory

TICK = 10_000
ROW = np.array([0], np.int64)


def one(value: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([value], np.int64)


def watched(sent: list[int], until: int, *, points: int = 48, start: int = 0) -> EndHistory:
    """Return the history of a partition, observed every tick, to which records are sent at these times (ascending)."""
    history = EndHistory(points)
    history.grow(1)
    moments = np.arange(start, until + 1, TICK)
    ends = np.searchsorted(np.array(sent), moments, side="right")
    for now, end in zip(moments.tolist(), ends.tolist(), strict=True):
        history.observe(ROW, now, one(end))
    return history


def dated(history: EndHistory, offset: int) -> tuple[int, BracketQuality]:
    """Return the time of one record, and the quality of that time."""
    time, found = history.time_of(ROW, one(offset))
    return int(time[0]), BracketQuality(int(found[0]))


@given(st.lists(st.integers(1, 460_000), min_size=1, max_size=300).map(sorted))
def test_every_record_is_dated_to_within_one_tick_until_points_are_dropped(sent: list[int]) -> None:
    """The time of each record is right to within one tick, for records that come evenly or in bursts."""
    history = watched(sent, 470_000)
    for offset, true in enumerate(sent):
        time, found = dated(history, offset)
        assert found is BracketQuality.BETWEEN
        assert abs(time - true) <= TICK


def test_the_quality_of_a_time_is_known() -> None:
    """A record older than the history has the time of the first point, an offset at or above the newest end has none.

    The error for one record between two ticks is at most half a tick. A row without points has no answers.
    """
    old = watched(list(range(0, 500_000, 100)), 500_000, start=250_000)
    assert dated(old, 3) == (250_000, BracketQuality.OLDER)
    assert dated(watched([5, 6], 50_000), 2) == (50_000, BracketQuality.NEWER)
    assert dated(watched([12_345], 30_000), 0) == (15_000, BracketQuality.BETWEEN)
    history = EndHistory()
    history.grow(1)
    assert dated(history, 0)[1] is BracketQuality.UNKNOWN
    assert history.end_at(ROW, one(5)).tolist() == [-1]
    assert history.oldest_time(ROW).tolist() == [-1]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=400))
def test_the_number_of_points_is_bounded_for_any_input(steps: list[int]) -> None:
    """Points are bounded, the first one stays, ends never fall and times always rise."""
    history = EndHistory(16)
    history.grow(1)
    for tick, end in enumerate(np.cumsum(steps).tolist()):
        history.observe(ROW, tick * TICK, one(end))
    times, ends = history.points(0)
    assert len(times) <= 16
    assert times[0] == 0
    assert times[-1] == (len(steps) - 1) * TICK
    assert ends[-1] == sum(steps)
    assert times == sorted(set(times))
    assert ends == sorted(ends)


def test_a_truncated_log_starts_a_new_history() -> None:
    """The times of removed records do not apply to the new records at their offsets."""
    history = watched(list(range(100)), 50_000)
    history.observe(ROW, 60_000, one(40))
    assert history.points(0) == ([60_000], [40])


def test_a_clock_that_was_set_back_drops_the_later_points() -> None:
    """Each row keeps the points before the new time, and later records are dated by the new clock at once."""
    history = watched([5, 15_000, 25_000], 30_000)
    history.grow(2)
    history.observe(np.array([1]), 40_000, one(9))
    assert history.points(0) == ([0, 10_000, 20_000, 30_000], [0, 1, 2, 3])
    history.observe(np.array([0, 1]), 15_000, np.array([4, 10]))
    assert history.points(0) == ([0, 10_000, 15_000], [0, 1, 4])
    assert history.points(1) == ([15_000], [10])
    history.observe(np.array([0]), 25_000, one(5))
    assert dated(history, 4) == (20_000, BracketQuality.BETWEEN)


def test_a_seed_is_prepended_to_the_first_tick() -> None:
    """Answers of ListOffsets become points; no later record means that nothing has been written since.

    Producers set timestamps, so an earlier time may have a later offset: it is lowered, because ends cannot fall. Of a
    seed that does not fit, the oldest answers are dropped.
    """
    history = EndHistory(8)
    history.grow(5)
    history.observe(np.arange(5, dtype=np.int64), 100_000, np.full(5, 500, np.int64))
    asked = np.array([40_000, 70_000, 100_000], np.int64)
    answers = [[200, 350, 400], [480, NO_LATER_RECORD, NO_LATER_RECORD], [NOT_ANSWERED, 450, 460], [600, 300, 500]]
    history.seed(np.arange(4, dtype=np.int64), asked, np.array(answers, np.int64))
    assert history.points(0) == ([40_000, 70_000, 100_000], [200, 350, 500])
    assert history.points(1) == ([40_000, 70_000, 100_000], [480, 500, 500])
    assert history.points(2) == ([70_000, 100_000], [450, 500])
    assert history.points(3) == ([40_000, 70_000, 100_000], [300, 300, 500])
    many = np.arange(10_000, 100_000, 10_000)
    history.seed(one(4), many, np.array([many // 1_000], np.int64))
    assert history.points(4)[0] == [50_000, 60_000, 70_000, 80_000, 90_000, 100_000]


def test_rows_are_independent_of_each_other() -> None:
    """Observations of one row, also when they thin its points, never change another row."""
    history, alone = EndHistory(8), EndHistory(8)
    history.grow(3)
    alone.grow(1)
    for tick in range(100):
        ends = np.array([tick * 7, (tick // 9) * 50, tick], np.int64)
        history.observe(np.arange(3, dtype=np.int64), tick * TICK, ends)
    assert [history.points(row)[1][-1] for row in range(3)] == [693, 550, 99]
    history.keep_rows(np.array([2], np.int64))
    assert len(history) == 1
    assert history.points(0)[1][-1] == 99
    history.clear(ROW)
    assert history.points(0) == ([], [])


@given(st.integers(8, 20), st.lists(st.tuples(st.integers(0, 400_000), st.integers(0, 900)), max_size=40))
def test_inserted_points_keep_the_order(points: int, learned: list[tuple[int, int]]) -> None:
    """Times rise, ends do not fall and no row overflows, for any number of contradicting answers."""
    history = EndHistory(points)
    history.grow(2)
    for tick in range(6):
        history.observe(np.array([0, 1], np.int64), 100_000 + tick * 10_000, np.array([tick * 100] * 2, np.int64))
    untouched = history.points(1)
    rows = np.zeros(len(learned), np.int64)
    history.insert(rows, np.array([time for time, _ in learned], np.int64), np.array([o for _, o in learned], np.int64))
    times, ends = history.points(0)
    assert times == sorted(set(times))
    assert ends == sorted(ends)
    assert (times[-1], ends[-1]) == (150_000, 500)
    assert len(times) < points, "the next look has a place"
    assert history.points(1) == untouched
    for tick in range(6, 6 + points):
        history.observe(np.array([0, 1], np.int64), 100_000 + tick * 10_000, np.array([tick * 100] * 2, np.int64))
        history.insert(rows[:1], np.array([101_000 + tick * 10_000 - 10_000], np.int64), np.array([0], np.int64))
        times, ends = history.points(0)
        assert times == sorted(set(times))
        assert ends == sorted(ends)
        assert len(times) < points
