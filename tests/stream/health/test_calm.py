"""A first pause is no fault, neither that of a steady group nor that of a batch whose habit is not known yet."""

import itertools
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.health.verdict import SEVERITY, Severity, Verdict
from tests.stream.health.simulator import (
    HOUR,
    MINUTE,
    SECOND,
    TICK,
    GroupTick,
    Membership,
    Partition,
    Scene,
    Seen,
    consume,
    look,
    new_evaluator,
    verdicts,
    watch,
    watch_together,
)
from tests.stream.health.situations import EMPTY, LATE, LONG, STEADY
from tests.support.hypothesis_profiles import examples

V = Verdict
LONGEST = 45 * SECOND
"""The longest pause of a group that is no fault."""


def commits_with_pause(at: int, length: int, rate: float = 1e9, every: int = SECOND) -> list[tuple[int, int]]:
    """Return the commits of a consumer that commits `every` ms, makes a pause once, and reads `rate` a second then."""
    before = consume(STEADY, LONG, at, every=every)
    return [*before, *consume(STEADY, at + length, LATE, every=every, rate=rate, position=before[-1][1])]


def pausing_group(length: int, *, partitions: int = 1, at: int = 0, rate: float = 1e9, every: int = SECOND) -> Scene:
    """Return a group of one member whose partitions pause together."""
    commits = commits_with_pause(at, length, rate, every)
    parts = [Partition(STEADY, commits, owner=0, subscribed=1) for _ in range(partitions)]
    return Scene(parts, memberships=(Membership(LONG),))


def faults(ticks: Sequence[Seen | GroupTick]) -> list[tuple[int, Verdict]]:
    return [(each.time, each.verdict) for each in ticks if each.sick]


@pytest.mark.parametrize(
    ("restart", "keeps"),
    [
        (TICK, True),
        (3 * TICK, False),
        *(pytest.param(at, keeps, marks=pytest.mark.long) for at in (-TICK, TICK, 3 * TICK) for keeps in (True, False)),
    ],
)
def test_a_first_pause_after_a_restart_of_the_monitor_is_no_fault(restart: int, *, keeps: bool) -> None:
    """The monitor is restarted before or during the pause, with its state or without any."""
    scene, first = pausing_group(LONGEST, partitions=3), new_evaluator()
    watch(scene, -3 * MINUTE, restart, evaluator=first)
    second = new_evaluator(first.pack() if keeps else None)
    assert faults(watch(scene, restart + 2 * TICK, 2 * MINUTE, evaluator=second)) == []


PAUSE: Final = st.builds(
    lambda seconds, every, at, partitions, rate: pausing_group(
        seconds * SECOND, partitions=partitions, at=at * SECOND, rate=rate, every=every * SECOND
    ),
    *(st.integers(1, 45), st.integers(1, 5), st.integers(0, 9), st.sampled_from([1, 3]), st.integers(150, 2_000)),
)


@examples(2)
@given(st.lists(PAUSE, min_size=4, max_size=4))
def test_no_first_pause_is_a_fault(scenes: list[Scene]) -> None:
    """A pause of up to 45 seconds is no fault, at any time within a tick and with any rate after it."""
    assert [faults(each) for each in watch_together(scenes, -2 * MINUTE, 5 * MINUTE)] == [[]] * len(scenes)


def test_a_longer_pause_is_a_fault() -> None:
    """A group that pauses for two minutes is stopped, from the limit of 45 seconds until its pause ends.

    No partition is stuck beside partitions with progress, although their last commits differ by seconds.
    """
    stops = [
        Partition(STEADY, consume(STEADY, LONG, -seconds * SECOND, every=SECOND), owner=0, subscribed=1)
        for seconds in (0, 8, 17)
    ]
    pauses, long = watch_together([pausing_group(2 * MINUTE), Scene(stops)], -3 * MINUTE, 5 * MINUTE)
    found = faults(pauses)
    assert {verdict for _, verdict in found + faults(long)} == {V.STOPPED}
    assert LONGEST < found[0][0] <= LONGEST + 2 * TICK
    assert found[-1][0] < 2 * MINUTE + 2 * TICK


RUN_AT = 7 * MINUTE
"""The start of a run after each full hour."""


def batch(
    minutes: int,
    *,
    leaves: bool,
    repeats: bool = False,
    since: int = 0,
    until: int = 4,
) -> Scene:
    """Return a batch that reads what has been written in an hour within this many minutes, in each of these hours.

    The group is created by its first run. Between two runs it `leaves`, or stays and, if it `repeats`, goes on to
    commit the offset that it has reached. Its first run ends when all is read.
    """
    commits: list[tuple[int, int]] = []
    memberships = []
    rate = 100 * (60 + minutes) // minutes + 20
    for hour in range(since, until):
        at = hour * HOUR + RUN_AT
        position = commits[-1][1] if commits else STEADY(at - HOUR)
        memberships += [Membership(at), Membership(at + minutes * MINUTE, EMPTY, 0)] if leaves else [Membership(at)]
        run = consume(STEADY, at, at + minutes * MINUTE, rate=rate, position=position, repeats=repeats)
        commits += run
        if repeats:
            pause = range(at + minutes * MINUTE + 5 * SECOND, at + HOUR, 5 * SECOND)
            commits += [(time, commits[-1][1]) for time in pause]
    part = Partition(STEADY, commits, owner=0, exists_from=since * HOUR + RUN_AT)
    return Scene([part], memberships=memberships if leaves else memberships[:1])


def called(ticks: Sequence[Seen | GroupTick]) -> list[tuple[float, Verdict]]:
    """Return the times (minutes) and verdicts of all ticks with a severity above notice."""
    return [(each.time / MINUTE, each.verdict) for each in ticks if SEVERITY[each.verdict] > Severity.NOTICE]


LEAVES: Final = (True, False)
FIRST: Final = {
    **{(minutes, leaves): batch(minutes, leaves=leaves) for minutes, leaves in ((1, False), (20, True))},
    "runs before the monitor": batch(3, leaves=True, since=-2),
    "repeats its commits": batch(10, leaves=False, repeats=True),
}
"""Batches that are watched from their first run on; the keys say what is special about each."""


@pytest.mark.parametrize(
    ("start", "batches"),
    [
        pytest.param(RUN_AT, lambda: list(FIRST.values()), id="from the first run on"),
        *(
            pytest.param(
                start,
                lambda lengths=lengths: [
                    batch(minutes, leaves=leaves, since=since)
                    for minutes, since, leaves in itertools.product(lengths, (0, -2), LEAVES)
                ],
                marks=[pytest.mark.long, pytest.mark.timeout(3_600)],
                id=f"all from {start // SECOND} s on",
            )
            for start, lengths in ((RUN_AT, (1, 3, 10, 20)), (9 * MINUTE, (10,)), (25 * MINUTE, (10,)))
        ),
    ],
)
def test_an_hourly_batch_has_no_fault_in_its_first_hours(start: int, batches: Callable[[], list[Scene]]) -> None:
    """The batch has no fault in the first two hours, in which its habit becomes known, or after them.

    The monitor starts with the first run, in the middle of a run of ten minutes, or in the pause after it.
    """
    assert [
        called(each) for each in watch_together(batches(), start, 150 * MINUTE, tick=3 * TICK) if called(each)
    ] == []


@pytest.mark.parametrize(
    "restart", [40, *(pytest.param(minute, marks=pytest.mark.long) for minute in (12, 72))], ids="at minute {}".format
)
def test_a_habit_survives_a_restart_of_the_monitor(restart: int) -> None:
    """A batch has no fault after a restart within a run or a pause, or after its first two hours."""
    scene, first = batch(10, leaves=True), new_evaluator()
    before = watch(scene, RUN_AT, restart * MINUTE, evaluator=first, tick=3 * TICK)
    second = new_evaluator(first.pack())
    after = watch(scene, restart * MINUTE + 3 * TICK, 130 * MINUTE, evaluator=second, tick=3 * TICK)
    assert called(before + after) == []


def test_the_first_pause_of_a_batch_has_the_verdict_of_an_unknown_habit() -> None:
    """The sentence has the observation time, the last progress, and the time until which the group is not judged."""
    ticks = watch(batch(10, leaves=False), RUN_AT, 65 * MINUTE, tick=3 * TICK)
    assert {each.verdict for each in ticks if 30 * MINUTE <= each.time <= 65 * MINUTE} == {V.HABIT_UNKNOWN}
    (late,) = (each for each in ticks if each.time == 47 * MINUTE)
    finding = late.result.group_finding(0)
    assert finding.severity is Severity.NOTICE
    assert "Habit not yet known" in finding.sentence
    assert "observed for 40 min; no progress since 2023-11-15 00:17:00 UTC" in finding.sentence
    assert "Not judged until 2023-11-15 02:07:00 UTC" in finding.sentence


@pytest.mark.parametrize(
    ("runs", "at"), [(1, 127), *(pytest.param(*each, marks=pytest.mark.long) for each in ((2, 177), (3, 237)))]
)
def test_a_batch_that_does_not_run_again_has_a_fault(runs: int, at: int) -> None:
    """The fault is shown after two hours, or after twice the longest pause: 100 minutes for a pause of 50."""
    scenes = [batch(10, leaves=leaves, until=runs) for leaves in LEAVES]
    for ticks, leaves in zip(watch_together(scenes, RUN_AT, (at + 5) * MINUTE, tick=3 * TICK), LEAVES, strict=True):
        found = called(ticks)
        assert {verdict for _, verdict in found} == {V.NO_MEMBERS if leaves else V.STOPPED}
        assert at <= found[0][0] <= at + 1
        assert found[-1][0] >= at + 4


def dying_group(start: int, died: int, *, backlog: int = 0, rate: float = 1e9, leaves: bool = False) -> Scene:
    """Return a group that begins `backlog` ms behind, reads on, and dies."""
    commits = consume(STEADY, start, died, rate=rate, position=STEADY(start - backlog))
    away = [Membership(died + SECOND, EMPTY, 0)] if leaves else []
    return Scene([Partition(STEADY, commits, owner=0, exists_from=start)], memberships=[Membership(start), *away])


@pytest.mark.parametrize("minutes", [2, *(pytest.param(minutes, marks=pytest.mark.long) for minutes in (20, 100))])
def test_a_steady_group_that_dies_in_its_first_two_hours_has_a_fault_at_once(minutes: int) -> None:
    """The group has kept up from its first commit on, so that its verdict is not that of an unknown habit.

    It is a new group, or has commits from before the start of the monitor.
    """
    kinds = list(itertools.product((0, 30), LEAVES))
    scenes = [dying_group(-before * MINUTE, minutes * MINUTE, leaves=leaves) for before, leaves in kinds]
    for ticks, (_, leaves) in zip(watch_together(scenes, 0, (minutes + 5) * MINUTE), kinds, strict=True):
        assert V.HABIT_UNKNOWN not in verdicts(ticks, 0)
        first, verdict = called(ticks)[0]
        assert verdict is (V.NO_MEMBERS if leaves else V.STOPPED)
        assert first <= minutes + 1 + 3 * TICK / MINUTE


def test_a_group_of_a_young_topic_is_no_batch_after_a_restart_of_the_monitor() -> None:
    """The past end offsets, which are 0 before the first record, do not make a short backlog one of ten minutes."""

    def end(time: int) -> int:
        return max(100 * time // SECOND, 0)

    scene = Scene([Partition(end, consume(end, 5 * SECOND, 9 * MINUTE, stuck_at=end(4 * MINUTE)), owner=0)])
    first, restart = new_evaluator(), 4 * MINUTE + 20 * SECOND
    watch(scene, 8 * SECOND, restart - 2 * TICK, evaluator=first)
    second = new_evaluator(first.pack())
    inputs = look(scene, restart)
    ages = np.array([168 * HOUR, HOUR, 8 * MINUTE])
    second.start(inputs, (inputs.now - ages, np.zeros((1, len(ages)), np.int64)))
    ticks = watch(scene, restart, 8 * MINUTE, evaluator=second)
    assert V.HABIT_UNKNOWN not in {each.verdict for each in ticks}
    assert ticks[-1].verdict is V.STALLED
