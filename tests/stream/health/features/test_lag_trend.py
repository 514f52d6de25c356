"""The trend of the lag that is left after each commit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stream.groups.commits.slots import Slots
from stream.health.features.end_history import EndHistory
from stream.health.features.lag_trend import FALLS, LEVEL, RISES, TOO_SHORT, classify_trend
from tests.stream.health.tables import wrong

ROW = np.zeros(1, np.int64)
WIDTH = 30_000
PER_SLOT = 3_000


def trend_of(left: list[int], *, lag: int | None = None, written: int | None = None, seen_from: int = 0) -> int:
    """Return the trend of a row that left this lag after each of its slots, at 100 records per second."""
    history = EndHistory()
    history.grow(1)
    times = np.arange(len(left)) * WIDTH
    for at in range(seen_from, len(left)):
        history.observe(ROW, int(times[at]), np.array([100_000 + at * PER_SLOT], np.int64))
    offset = 100_000 + np.arange(len(left)) * PER_SLOT - np.array(left)
    slots = Slots(np.zeros(len(left), np.int64), times // WIDTH, offset, times, np.ones(len(left), np.int64))
    present = np.array([left[-1] if lag is None else lag], np.int64)
    total = np.array([(len(left) - 1) * PER_SLOT if written is None else written], np.int64)
    return int(classify_trend(slots, 1, history, ROW, present, total)[0])


CASES = {
    "rises steadily": (trend_of([0, 500, 1_000, 1_500, 2_000, 2_500, 3_000, 3_500, 4_000, 4_500]), RISES),
    "rises with noise": (trend_of([0, 700, 400, 1_500, 1_200, 2_000, 1_700, 2_600, 2_500, 3_300]), RISES),
    "falls steadily": (trend_of([4_500, 4_000, 3_500, 3_000, 2_500, 2_000, 1_500, 1_000, 500, 0]), FALLS),
    "stays": (trend_of([1_000] * 10), LEVEL),
    "is noise": (trend_of([300, 100, 200, 250, 150, 300, 100, 280, 220, 310]), LEVEL),
    "one burst, not worked off yet": (trend_of([0, 0, 0, 0, 0, 0, 0, 9_000, 8_500, 8_000]), LEVEL),
    "one burst in the middle": (trend_of([0, 0, 0, 0, 9_000, 7_000, 5_000, 3_000, 1_000, 0]), LEVEL),
    "one step in the middle, then a constant lag": (trend_of([0, 0, 0, 0, 0, 900, 900, 900, 900, 900]), LEVEL),
    "one step at a large lag, with the noise of commits": (
        trend_of([9_000, 9_100, 8_900, 9_050, 9_000, 9_950, 9_850, 10_100, 9_900, 10_000]),
        LEVEL,
    ),
    "one step at a large lag in a young window": (trend_of([9_000, 9_000, 9_000, 9_900, 9_900, 9_900]), LEVEL),
    "worked off in one go": (trend_of([5_000, 5_000, 5_000, 5_000, 5_000, 900, 900, 900, 900, 900]), LEVEL),
    "bursts that are never quite worked off": (
        trend_of([0, 3_000, 1_500, 4_500, 3_000, 6_000, 4_500, 7_500, 6_000, 9_000]),
        RISES,
    ),
    "has become slower": (trend_of([0, 0, 0, 0, 0, 0, 0, 900, 1_800, 2_700]), RISES),
    "has become slower, and the newest slot has just begun": (
        trend_of([0, 0, 0, 0, 0, 0, 900, 1_800, 2_700, 2_800]),
        RISES,
    ),
    "was slower, and catches up": (trend_of([0, 0, 0, 0, 0, 0, 900, 1_800, 2_700, 1_500]), LEVEL),
    "reads nine tenths for three slots": (trend_of([0, 0, 0, 0, 0, 0, 0, 300, 600, 900]), LEVEL),
    "has become slower, but was as far behind before": (
        trend_of([2_800, 2_000, 1_000, 0, 0, 0, 0, 900, 1_800, 2_700]),
        LEVEL,
    ),
    "rises in a young window": (trend_of([0, 500, 1_000, 1_500, 2_000, 2_500]), RISES),
    "rises with noise in a young window": (trend_of([0, 700, 500, 1_500, 1_700, 2_600]), RISES),
    "rose, with a much smaller present lag": (
        trend_of([0, 500, 1_000, 1_500, 2_000, 2_500, 3_000, 3_500, 4_000, 4_500], lag=100),
        LEVEL,
    ),
    "rises by less than the noise of what is written": (trend_of([0, 10, 20, 30, 40, 50, 60, 70, 80, 90]), LEVEL),
    "rises by as little on a topic with few records": (
        trend_of([0, 10, 20, 30, 40, 50, 60, 70, 80, 90], written=100),
        RISES,
    ),
    "five slots": (trend_of([0, 500, 1_000, 1_500, 2_000]), TOO_SHORT),
    "a history with five of seven slots": (
        trend_of([0, 500, 1_000, 1_500, 2_000, 2_500, 3_000], seen_from=2),
        TOO_SHORT,
    ),
}


def test_a_trend_is_a_steady_change_above_the_noise() -> None:
    """A jump is no trend, and no count of records is a limit."""
    assert wrong(CASES, lambda found: found) == []


@given(
    st.sampled_from([6, 9]).flatmap(lambda slots: st.lists(st.integers(0, 2_000), min_size=slots, max_size=slots)),
    st.integers(0, 800),
)
def test_a_history_falls_exactly_if_it_rises_when_reversed(noise: list[int], per_slot: int) -> None:
    """The rule prefers no direction while the present lag confirms it, except that three slots show a slower group.

    A number of slots that is a multiple of three has equal thirds in both directions.
    """
    forwards = [each + at * per_slot for at, each in enumerate(noise)]
    for left in (forwards, forwards[::-1]):
        rising, falling = trend_of(left, lag=max(left)), trend_of(left[::-1], lag=0)
        assert rising in {RISES, LEVEL}
        steps = np.diff(left)
        is_slower = (steps[-3:] > 0).all() or (steps[-4:-1] > 0).all()
        assert falling == -rising or (is_slower and (rising, falling) == (RISES, LEVEL))
