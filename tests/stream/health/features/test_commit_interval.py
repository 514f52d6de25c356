"""The patience of groups, which is learned from their own commits."""

import dataclasses

import numpy as np

from stream.groups.commits import runs
from stream.groups.commits import slots as window
from stream.groups.commits.slots import Slots, slots_of_rows
from stream.health.features.end_history import EndHistory
from stream.health.features.patience import longest_wait, mean_interval
from tests.stream.health.simulator import HOUR, MINUTE, NOON, SECOND, SLOT, SLOTS, TICK, by_list, consume, evenly

ROW = np.zeros(1, np.int64)


def slots_of(commits: list[tuple[int, int]]) -> Slots:
    """Return the newest slots of these commits, as the state folds them."""
    time, offset = (np.array(column, np.int64) for column in zip(*commits, strict=True))
    time += NOON
    every = Slots(np.zeros(len(time), np.int64), time // SLOT, offset, time, np.ones(len(time), np.int64))
    return window.merge(every, SLOTS)


def wait(commits: list[tuple[int, int]], end: object, *, since: int = -3 * HOUR) -> int:
    """Return the longest wait in seconds, with a history of the ends since a time."""
    history = EndHistory()
    history.grow(1)
    for now in range(since, TICK, TICK):
        history.observe(ROW, NOON + now, np.array([end(now)], np.int64))  # type: ignore[operator] # a curve
    return int(longest_wait(slots_of(commits), 1, history, ROW, SLOT)[0]) // SECOND


STEADY = evenly(100)
QUIET = by_list(range(-3 * HOUR, 1, 20 * MINUTE))
FIVES = consume(STEADY, -HOUR, 0)
CASES = {
    "every five seconds": (wait(FIVES, STEADY), (5, 6)),
    "every two seconds": (wait(consume(STEADY, -HOUR, 0, every=2 * SECOND), STEADY), (2, 3)),
    "every minute": (wait(consume(STEADY, -HOUR, 0, every=MINUTE), STEADY), (59, 60)),
    "every ten minutes": (wait(consume(STEADY, -2 * HOUR, 0, every=10 * MINUTE), STEADY), (599, 600)),
    "ten commits at once, every thirty seconds": (
        wait([(t + n * 200, STEADY(t + n * 200)) for t in range(-HOUR, 1, 30_000) for n in range(10)], STEADY),
        (27, 30),
    ),
    "a quiet topic that is read at once": (wait(consume(QUIET, -2 * HOUR, 0, repeats=False), QUIET), (0, 10)),
    "one long pause among fast commits": (
        wait([c for c in FIVES if not -4 * MINUTE < c[0] < -2 * MINUTE], STEADY),
        (120, 150),  # a slot has only its last commit: up to a slot too long
    ),
    "repeated commits for two minutes": (
        wait([*consume(STEADY, -4 * MINUTE, -2 * MINUTE, stuck_at=STEADY(-4 * MINUTE)), *FIVES[-24:]], STEADY),
        (110, 125),
    ),
    "commit interval for a history that begins too late": (
        wait(consume(QUIET, -2 * HOUR, 0, repeats=False), QUIET, since=0),
        (1200, 1200),
    ),
}


def test_the_longest_wait_is_that_of_a_record() -> None:
    """A wait lasts from the time at which a record can be read to the commit past it, not between two commits."""
    assert {story: found for story, (found, (low, high)) in CASES.items() if not low <= found <= high} == {}


def test_rows_have_only_their_own_waits() -> None:
    """The last slot of one row does not precede the first slot of the next."""
    one, two = slots_of(FIVES), slots_of([(-10 * MINUTE, 3), (-MINUTE, 9)])
    both = window.Slots.concat([one, dataclasses.replace(two, row=two.row + 1)])
    found = longest_wait(both, 2, EndHistory(), np.full(2, -1), SLOT)
    assert found[1] == 9 * MINUTE
    assert found[0] <= 6 * SECOND
    chosen = slots_of_rows(both, np.array([1], np.int64), 2)
    assert (chosen.row.tolist(), chosen.offset.tolist()) == ([0, 0], [3, 9])


def test_the_mean_interval_needs_three_commits_and_progress() -> None:
    """The distance of only two commits may be any time by chance."""
    none = np.zeros(4, np.int64)
    spans = dataclasses.replace(
        runs.single_record_spans(none, none, none, np.zeros(4, np.bool_)),
        commits=np.array([1, 2, 5, 5]),
        first_time=np.array([0, 0, 1_000, 1_000]),
        reached_time=np.array([0, 9_000, 5_000, 1_000]),
        last_time=np.array([0, 9_000, 9_000, 9_000]),
    )
    assert mean_interval(spans).tolist() == [-1, -1, 2_000, -1]
