"""A first pause is no fault, a verdict stays while nothing changes, and a fault ends soon after its cause."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.health.evaluator import Evaluator
from stream.health.inputs import NO_OWNER, GroupStage
from stream.health.limits import HealthLimits
from stream.health.verdict import SEVERITY, Severity, Verdict
from tests.stream.health.simulator import (
    HOUR,
    MINUTE,
    SECOND,
    SLOT,
    TICK,
    Membership,
    Partition,
    Scene,
    consume,
    look,
    watch,
    watch_together,
)
from tests.stream.health.situations import EMPTY, LATE, LONG, STEADY
from tests.support.hypothesis_profiles import examples

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.stream.health.simulator import GroupTick, Seen

V = Verdict
FOREVER = 40 * MINUTE
LONGEST = 45 * SECOND
"""The longest pause of a group that is no fault."""


def evaluator() -> Evaluator:
    """Return a monitor that has just started."""
    return Evaluator(HealthLimits(tick=TICK, slot=SLOT))


def commits_with_pause(at: int, length: int, rate: float = 1e9, every: int = SECOND) -> list[tuple[int, int]]:
    """Return the commits of a consumer that commits `every` ms, makes a pause once, and reads `rate` a second then."""
    before = consume(STEADY, LONG, at, every=every)
    return [*before, *consume(STEADY, at + length, LATE, every=every, rate=rate, position=before[-1][1])]


def pausing_group(
    length: int, *, partitions: int = 1, at: int = 0, rate: float = 1e9, every: int = SECOND, empty: bool = False
) -> Scene:
    """Return a group of one member whose partitions pause together; if `empty`, the member leaves during the pause."""
    commits = commits_with_pause(at, length, rate, every)
    parts = [Partition(STEADY, commits, owner=0, subscribed=1) for _ in range(partitions)]
    away = (Membership(at + SECOND, EMPTY, 0), Membership(at + length)) if empty else ()
    return Scene(parts, memberships=(Membership(LONG), *away))


def faults(ticks: Sequence[Seen | GroupTick]) -> list[tuple[int, Verdict]]:
    """Return the times and verdicts of all ticks with a fault."""
    return [(each.time, each.verdict) for each in ticks if each.sick]


@pytest.mark.parametrize(
    ("seconds", "partitions", "offset"),
    [(10, 1, 0), (30, 3, 1), (44, 20, 9), (45, 1, 0), (45, 1, 1), (45, 1, 9), (45, 3, 1), (45, 20, 0)],
)
def test_a_first_pause_of_45_seconds_is_no_fault(seconds: int, partitions: int, offset: int) -> None:
    """A group that commits every second pauses once, and then continues to read."""
    scene = pausing_group(seconds * SECOND, partitions=partitions, at=offset * SECOND)
    assert faults(watch(scene, -3 * MINUTE, 4 * MINUTE)) == []


@pytest.mark.parametrize("partitions", [1, 3])
def test_a_first_pause_during_a_deploy_is_no_fault(partitions: int) -> None:
    """The only member leaves, and its successor commits 45 seconds later."""
    scene = pausing_group(LONGEST, partitions=partitions, at=3 * SECOND, empty=True)
    assert faults(watch(scene, -3 * MINUTE, 4 * MINUTE)) == []


@pytest.mark.parametrize("rate", [120, 1_000])
def test_a_group_that_reads_slowly_after_its_pause_has_no_fault(rate: int) -> None:
    """The group reads the records of its pause at this rate, while producers write 100 records a second."""
    assert faults(watch(pausing_group(LONGEST, rate=rate), -3 * MINUTE, 8 * MINUTE)) == []


@pytest.mark.parametrize("owned", [True, False], ids=["owners are known", "owners are not known"])
@pytest.mark.parametrize("members", [2, 3])
def test_the_pause_of_one_member_is_no_fault(members: int, *, owned: bool) -> None:
    """The partitions of one member make no progress for 45 seconds, while those of the other members do."""
    parts = [
        Partition(STEADY, commits_with_pause(0, LONGEST if at == 0 else 0), owner=at if owned else -1)
        for at in range(members)
    ]
    scene = Scene(parts, memberships=[Membership(LONG, members=members)])
    assert faults(watch(scene, -3 * MINUTE, 4 * MINUTE)) == []


@pytest.mark.parametrize(
    "restart", [-TICK, TICK, 3 * TICK], ids=["before the pause", "beginning of the pause", "middle of the pause"]
)
@pytest.mark.parametrize("keeps", [True, False], ids=["with its state", "without any state"])
def test_a_first_pause_after_a_restart_of_the_monitor_is_no_fault(restart: int, *, keeps: bool) -> None:
    """The monitor is restarted before or during the pause."""
    scene, first = pausing_group(LONGEST, partitions=3), evaluator()
    watch(scene, -3 * MINUTE, restart, evaluator=first)
    second = Evaluator(HealthLimits(tick=TICK, slot=SLOT), packed=first.pack() if keeps else None)
    assert faults(watch(scene, restart + 2 * TICK, 4 * MINUTE, evaluator=second)) == []


@examples(8)
@given(
    seconds=st.integers(1, 45),
    every=st.integers(1, 5),
    at=st.integers(0, 9),
    partitions=st.sampled_from([1, 3]),
    rate=st.integers(150, 2_000),
)
def test_no_first_pause_is_a_fault(seconds: int, every: int, at: int, partitions: int, rate: int) -> None:
    """A pause of up to 45 seconds is no fault, at any time within a tick and with any rate after it."""
    scene = pausing_group(seconds * SECOND, partitions=partitions, at=at * SECOND, rate=rate, every=every * SECOND)
    assert faults(watch(scene, -2 * MINUTE, 5 * MINUTE)) == []


def test_a_partition_that_resumes_after_its_siblings_has_no_poison_record() -> None:
    """Two partitions are committed after a pause of 44 seconds, and the last partition seven seconds later."""
    parts = [
        Partition(STEADY, commits_with_pause(0, (44 + late) * SECOND), owner=0, subscribed=1) for late in (0, 0, 7)
    ]
    assert faults(watch(Scene(parts), -2 * MINUTE, 3 * MINUTE)) == []


def test_a_longer_pause_is_a_fault() -> None:
    """A group that pauses for two minutes is stopped, from the limit of 45 seconds until its pause ends."""
    found = faults(watch(pausing_group(2 * MINUTE), -3 * MINUTE, 5 * MINUTE))
    assert {verdict for _, verdict in found} == {V.STOPPED}
    assert LONGEST < found[0][0] <= LONGEST + 2 * TICK
    assert found[-1][0] < 2 * MINUTE + 2 * TICK


def test_a_long_pause_of_all_partitions_is_stopped_from_its_first_tick() -> None:
    """No partition is stuck beside partitions with progress, although their last commits differ by seconds."""
    parts = [
        Partition(STEADY, consume(STEADY, LONG, -seconds * SECOND, every=SECOND), owner=0, subscribed=1)
        for seconds in (0, 8, 17)
    ]
    assert {verdict for _, verdict in faults(watch(Scene(parts), -3 * MINUTE, 5 * MINUTE))} == {V.STOPPED}


def sick_until(until: int, kind: str) -> Scene:
    """Return a group whose last partition has this kind of fault from noon until a time."""
    before, well = consume(STEADY, LONG, 0), consume(STEADY, until, FOREVER, rate=5_000, position=STEADY(0))
    slow = consume(STEADY, SECOND, until - SECOND, rate=60, position=STEADY(0))
    slow += consume(STEADY, until, FOREVER, rate=500, position=slow[-1][1])
    back = consume(STEADY, 5 * SECOND, until - SECOND, rate=110, position=STEADY(-60 * MINUTE))
    back += consume(STEADY, until, FOREVER, rate=1_000, position=back[-1][1])
    meanwhile = {
        "stalled": [*consume(STEADY, SECOND, until - 1, stuck_at=STEADY(0)), *well],
        "falling_behind": slow,
        "skewed": slow,
        "rewound": back,
    }
    siblings = {"poison_record": 1, "skewed": 3}.get(kind, 0)
    parts = [Partition(STEADY, consume(STEADY, LONG, FOREVER), owner=0) for _ in range(siblings)]
    if kind == "unassigned":
        owned_until = Partition(STEADY, before, owner=NO_OWNER, subscribed=1, gone_from=until - SECOND)
        owned_again = Partition(STEADY, [*before, *well], owner=0, subscribed=1, exists_from=until - SECOND)
        return Scene([owned_until, owned_again], memberships=(Membership(LONG), Membership(SECOND)))
    opened = 0 if kind == "held_back" else until
    away = (Membership(SECOND, EMPTY, 0), Membership(until - 2 * SECOND)) if kind == "no_members" else ()
    sick = Partition(
        STEADY,
        [*before, *meanwhile.get(kind, well)],
        owner=0,
        stable=lambda t: STEADY(opened if opened <= t < until else t),
    )
    sick = dataclasses.replace(sick, **_LOG.get(kind, lambda _: {})(until))
    rebalancing = kind == "rebalancing_too_long"
    waits = (Membership(SECOND, GroupStage.REBALANCING), Membership(until - 2 * SECOND)) if rebalancing else ()
    return Scene([*parts, sick], memberships=(Membership(LONG), *away, *waits))


_LOG: Final[dict[str, Callable[[int], dict[str, Any]]]] = {
    "no_leader": lambda until: {"known": lambda t: not 0 <= t < until},
    "losing_data": lambda _: {"log_start": lambda t: STEADY(0) + 100 if t >= 2 * SECOND else 0},
    "aborting": lambda until: {"aborts": range(5 * SECOND, until, 5 * SECOND)},
}
"""The fields of the partition that differ for these kinds of faults, given the end of the fault."""


KINDS = (
    "stopped", "stalled", "poison_record", "no_members", "held_back", "falling_behind", "skewed", "rewound", "aborting",
    "losing_data", "no_leader", "unassigned", "rebalancing_too_long",
)  # fmt: skip


@functools.cache
def sick_groups(until: int, last: int) -> dict[str, list[GroupTick]]:
    """Watch a group with each kind of fault from noon until a time, once for all tests; the last tick is at `last`."""
    return dict(zip(KINDS, watch_together([sick_until(until, kind) for kind in KINDS], -3 * MINUTE, last), strict=True))


@pytest.mark.parametrize("kind", ["stopped", "no_members", "unassigned", "aborting"])
def test_a_group_has_the_same_verdicts_alone_and_beside_others(kind: str) -> None:
    """Law: one evaluation of many groups gives each of them the verdicts of an evaluation of this group alone."""
    wake, last = 6 * MINUTE + 3 * SECOND, 14 * MINUTE
    alone = watch(sick_until(wake, kind), -3 * MINUTE, last)
    assert [(each.time, each.verdict) for each in alone] == [
        (each.time, each.verdict) for each in sick_groups(wake, last)[kind]
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_sick_group_keeps_one_verdict_while_nothing_changes(kind: str) -> None:
    """The group keeps its verdict for more than 170 ticks after the first fault."""
    ticks = [each for each in sick_groups(FOREVER - MINUTE, 35 * MINUTE)[kind] if each.time > 0]
    first = next(at for at, each in enumerate(ticks) if each.sick)
    assert len(ticks) - first > 200 - 30
    assert {each.verdict for each in ticks[first:]} == {V(kind)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_group_is_well_again_within_two_ticks(kind: str) -> None:
    """The ticks are counted from the first tick at which no record waits for longer than two ticks."""
    wake = 6 * MINUTE + 3 * SECOND
    ticks = sick_groups(wake, 14 * MINUTE)[kind]
    assert next(each.verdict for each in reversed(ticks) if each.time < wake) is V(kind)
    after = [each for each in ticks if each.time >= wake]
    well = next(at for at, each in enumerate(after) if each.age <= 2 * TICK)
    assert [(each.time, each.verdict) for each in after[well + 1 :] if each.sick] == []


RUN_AT = 7 * MINUTE
"""The start of a run after each full hour."""


def batch(
    minutes: int,
    *,
    leaves: bool,
    repeats: bool = False,
    since: int = 0,
    until: int = 4,
    partitions: int = 1,
    rate: float | None = None,
) -> Scene:
    """Return a batch that reads what has been written in an hour within this many minutes, in each of these hours.

    The group is created by its first run. Between two runs it `leaves`, or stays and, if it `repeats`, goes on to
    commit the offset that it has reached. Its first run ends when all is read, unless another `rate` is given.
    """
    commits: list[tuple[int, int]] = []
    memberships = []
    rate = rate or 100 * (60 + minutes) // minutes + 20
    for hour in range(since, until):
        at = hour * HOUR + RUN_AT
        position = commits[-1][1] if commits else STEADY(at - HOUR)
        memberships += [Membership(at), Membership(at + minutes * MINUTE, EMPTY, 0)] if leaves else [Membership(at)]
        run = consume(STEADY, at, at + minutes * MINUTE, rate=rate, position=position, repeats=repeats)
        commits += run
        if repeats:
            pause = range(at + minutes * MINUTE + 5 * SECOND, at + HOUR, 5 * SECOND)
            commits += [(time, commits[-1][1]) for time in pause]
    first = since * HOUR + RUN_AT
    parts = [Partition(STEADY, commits, owner=0, exists_from=first) for _ in range(partitions)]
    return Scene(parts, memberships=memberships if leaves else memberships[:1])


def called(ticks: Sequence[Seen | GroupTick]) -> list[tuple[float, Verdict]]:
    """Return the times (minutes) and verdicts of all ticks with a severity above notice."""
    return [(each.time / MINUTE, each.verdict) for each in ticks if SEVERITY[each.verdict] > Severity.NOTICE]


@functools.cache
def hourly_batches(start: int, until: int, *lengths: int) -> dict[tuple[int, int, bool], list[GroupTick]]:
    """Watch batches that run for so many minutes once for all tests, by length, first run, and `leaves`."""
    kinds = list(itertools.product(lengths, (0, -2), (True, False)))
    scenes = [batch(minutes, leaves=leaves, since=since) for minutes, since, leaves in kinds]
    return dict(zip(kinds, watch_together(scenes, start, until, tick=2 * TICK), strict=True))


@pytest.mark.parametrize("leaves", [True, False], ids=["members leave", "members stay"])
@pytest.mark.parametrize("since", [0, -2], ids=["new group", "with earlier runs"])
@pytest.mark.parametrize("minutes", [1, 3, 10, 20])
def test_an_hourly_batch_has_no_fault_in_its_first_hours(minutes: int, since: int, *, leaves: bool) -> None:
    """The batch has no fault in the first two hours, in which its habit becomes known, or after them."""
    assert called(hourly_batches(RUN_AT, 3 * HOUR, 1, 3, 10, 20)[minutes, since, leaves]) == []


@pytest.mark.parametrize("leaves", [True, False], ids=["members leave", "members stay"])
def test_a_batch_that_keeps_up_after_its_backlog_has_no_fault(*, leaves: bool) -> None:
    """The batch reads its backlog within a minute, and new records for the rest of its twenty minutes."""
    ticks = watch(batch(20, leaves=leaves, rate=6_500), RUN_AT + SECOND, 3 * HOUR, tick=2 * TICK)
    assert called(ticks) == []


def test_a_batch_that_repeats_its_commits_has_no_fault() -> None:
    """The batch has no fault, although its commit window soon has only repeated commits after a run."""
    assert called(watch(batch(10, leaves=False, repeats=True), RUN_AT, 3 * HOUR, tick=2 * TICK)) == []


def test_a_batch_with_several_partitions_has_no_fault() -> None:
    """All partitions of the batch rest at the same time."""
    assert called(watch(batch(10, leaves=False, partitions=3), RUN_AT, 3 * HOUR, tick=2 * TICK)) == []


@pytest.mark.parametrize("leaves", [True, False], ids=["members leave", "members stay"])
@pytest.mark.parametrize("first", [9, 25], ids=lambda minute: f"from minute {minute}")
@pytest.mark.parametrize("since", [0, -2], ids=["new group", "with earlier runs"])
def test_a_batch_has_no_fault_whenever_the_monitor_starts(first: int, since: int, *, leaves: bool) -> None:
    """The monitor starts in the middle of a run of ten minutes, or in the pause after it."""
    assert called(hourly_batches(first * MINUTE, 150 * MINUTE, 10)[10, since, leaves]) == []


@pytest.mark.parametrize("restart", [12, 40, 72], ids=lambda minute: f"at minute {minute}")
def test_a_habit_survives_a_restart_of_the_monitor(restart: int) -> None:
    """A batch has no fault after a restart within a run or a pause, or after its first two hours."""
    scene, first = batch(10, leaves=True), evaluator()
    before = watch(scene, RUN_AT, restart * MINUTE, evaluator=first, tick=2 * TICK)
    second = Evaluator(HealthLimits(tick=TICK, slot=SLOT), packed=first.pack())
    after = watch(scene, restart * MINUTE + 3 * TICK, 3 * HOUR, evaluator=second, tick=2 * TICK)
    assert called(before + after) == []


def test_the_first_pause_of_a_batch_has_the_verdict_of_an_unknown_habit() -> None:
    """The sentence has the observation time, the last progress, and the time until which the group is not judged."""
    ticks = watch(batch(10, leaves=False), RUN_AT, 70 * MINUTE)
    assert {each.verdict for each in ticks if 30 * MINUTE <= each.time <= 65 * MINUTE} == {V.HABIT_UNKNOWN}
    (late,) = (each for each in ticks if each.time == 47 * MINUTE)
    finding = late.result.group_finding(0)
    assert finding.severity is Severity.NOTICE
    assert "Habit not yet known" in finding.sentence
    assert "observed for 40 min; no progress since 2023-11-15 00:17:00 UTC" in finding.sentence
    assert "Not judged until 2023-11-15 02:07:00 UTC" in finding.sentence


@functools.cache
def ending_batches() -> dict[tuple[int, bool], list[GroupTick]]:
    """Watch batches that do not run again after some runs, once for all tests, by number of runs and `leaves`."""
    kinds = list(itertools.product((1, 2, 3), (True, False)))
    scenes = [batch(10, leaves=leaves, until=runs) for runs, leaves in kinds]
    return dict(zip(kinds, watch_together(scenes, RUN_AT, 4 * HOUR, tick=2 * TICK), strict=True))


@pytest.mark.parametrize("leaves", [True, False], ids=["members leave", "members stay"])
@pytest.mark.parametrize(("runs", "at"), [(1, 127), (2, 177), (3, 237)])
def test_a_batch_that_does_not_run_again_has_a_fault(runs: int, at: int, *, leaves: bool) -> None:
    """The fault is shown after two hours, or after twice the longest pause: 100 minutes for a pause of 50."""
    found = called(ending_batches()[runs, leaves])
    assert {verdict for _, verdict in found} == {V.NO_MEMBERS if leaves else V.STOPPED}
    assert at <= found[0][0] <= at + 1
    assert found[-1][0] >= 239


def dying_group(start: int, died: int, *, backlog: int = 0, rate: float = 1e9, leaves: bool = False) -> Scene:
    """Return a group that begins `backlog` ms behind, reads on, and dies."""
    commits = consume(STEADY, start, died, rate=rate, position=STEADY(start - backlog))
    away = [Membership(died + SECOND, EMPTY, 0)] if leaves else []
    return Scene([Partition(STEADY, commits, owner=0, exists_from=start)], memberships=[Membership(start), *away])


@functools.cache
def dying_groups() -> dict[tuple[int, int, bool], list[GroupTick]]:
    """Watch groups that die, once for all tests, by minutes of life, minutes of life before noon, and `leaves`."""
    kinds = list(itertools.product((2, 20, 100), (0, 30), (True, False)))
    scenes = [dying_group(-before * MINUTE, minutes * MINUTE, leaves=leaves) for minutes, before, leaves in kinds]
    return dict(zip(kinds, watch_together(scenes, 0, 105 * MINUTE), strict=True))


@pytest.mark.parametrize("leaves", [True, False], ids=["members leave", "members stay"])
@pytest.mark.parametrize("minutes", [2, 20, 100])
@pytest.mark.parametrize("known_before", [0, 30], ids=["new group", "with earlier commits"])
def test_a_steady_group_that_dies_in_its_first_two_hours_has_a_fault_at_once(
    minutes: int, known_before: int, *, leaves: bool
) -> None:
    """The group has kept up from its first commit on, so that its verdict is not that of an unknown habit."""
    watched = dying_groups()[minutes, known_before, leaves]
    ticks = [each for each in watched if each.time <= (minutes + 5) * MINUTE]
    assert V.HABIT_UNKNOWN not in {each.verdict for each in ticks}
    first, verdict = called(ticks)[0]
    assert verdict is (V.NO_MEMBERS if leaves else V.STOPPED)
    assert first <= minutes + 1 + 3 * TICK / MINUTE


@pytest.mark.parametrize("leaves", [True, False], ids=["members leave", "members stay"])
def test_a_group_that_dies_after_it_has_read_an_old_backlog_has_a_fault_at_once(*, leaves: bool) -> None:
    """The group reads two hours of records in two minutes, and keeps up until it dies, for longer than a batch runs."""
    ticks = watch(dying_group(0, 45 * MINUTE, backlog=2 * HOUR, rate=6_000, leaves=leaves), 0, 50 * MINUTE)
    assert V.HABIT_UNKNOWN not in {each.verdict for each in ticks}
    assert called(ticks)[0][0] <= 46.5


def test_a_group_of_a_young_topic_is_no_batch_after_a_restart_of_the_monitor() -> None:
    """The past end offsets, which are 0 before the first record, do not make a short backlog one of ten minutes."""

    def end(time: int) -> int:
        return max(100 * time // SECOND, 0)

    scene = Scene([Partition(end, consume(end, 5 * SECOND, 9 * MINUTE, stuck_at=end(4 * MINUTE)), owner=0)])
    first, restart = evaluator(), 4 * MINUTE + 20 * SECOND
    watch(scene, 8 * SECOND, restart - 2 * TICK, evaluator=first)
    second = Evaluator(HealthLimits(tick=TICK, slot=SLOT), packed=first.pack())
    inputs = look(scene, restart)
    ages = np.array([168 * HOUR, HOUR, 8 * MINUTE])
    second.start(inputs, (inputs.now - ages, np.zeros((1, len(ages)), np.int64)))
    ticks = watch(scene, restart, 8 * MINUTE, evaluator=second)
    assert V.HABIT_UNKNOWN not in {each.verdict for each in ticks}
    assert ticks[-1].verdict is V.STALLED


def test_a_group_that_failed_before_is_no_batch() -> None:
    """A steady group dies, is restarted after 40 minutes, reads its backlog and dies: both times are faults."""
    before = consume(STEADY, -30 * MINUTE, 20 * MINUTE)
    again = consume(STEADY, 60 * MINUTE, 68 * MINUTE, rate=2_000, position=before[-1][1])
    scene = Scene([Partition(STEADY, [*before, *again], owner=0)])
    ticks = watch(scene, 0, 75 * MINUTE)
    assert V.HABIT_UNKNOWN not in {each.verdict for each in ticks}
    found = called(ticks)
    assert found[0][0] <= 21.5
    assert next(minute for minute, _ in found if minute > 62) <= 69.5
