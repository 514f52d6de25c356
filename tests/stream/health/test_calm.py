"""No page for a first pause, one verdict while nothing changes, and fine again soon after the cause has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.health.evaluator import Evaluator
from stream.health.limits import HealthLimits
from stream.health.verdict import Verdict
from tests.stream.health.simulator import (
    MINUTE,
    SECOND,
    SLOT,
    TICK,
    Membership,
    Partition,
    Scene,
    consume,
    watch,
)
from tests.stream.health.situations import EMPTY, LATE, LONG, STEADY
from tests.support.hypothesis_profiles import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.stream.health.simulator import Seen

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
    """Return a group whose partitions pause together, as one member makes them; `empty`: it leaves meanwhile."""
    commits = commits_with_pause(at, length, rate, every)
    parts = [Partition(STEADY, commits, owner=0, subscribed=1) for _ in range(partitions)]
    away = (Membership(at + SECOND, EMPTY, 0), Membership(at + length)) if empty else ()
    return Scene(parts, memberships=(Membership(LONG), *away))


def faults(ticks: Sequence[Seen]) -> list[tuple[int, Verdict]]:
    """Return the times and verdicts of all ticks with a fault."""
    return [(each.time, each.verdict) for each in ticks if each.sick]


@pytest.mark.parametrize(
    ("seconds", "partitions", "offset"),
    [(10, 1, 0), (30, 3, 1), (44, 20, 9), (45, 1, 0), (45, 1, 1), (45, 1, 9), (45, 3, 1), (45, 20, 0)],
)
def test_a_first_pause_of_45_seconds_is_no_fault(seconds: int, partitions: int, offset: int) -> None:
    """A group that commits every second pauses once, for whatever reason, and reads on."""
    scene = pausing_group(seconds * SECOND, partitions=partitions, at=offset * SECOND)
    assert faults(watch(scene, -3 * MINUTE, 4 * MINUTE)) == []


@pytest.mark.parametrize("partitions", [1, 3])
def test_a_first_pause_during_a_deploy_is_no_fault(partitions: int) -> None:
    """The only member leaves, and its successor commits 45 seconds later."""
    scene = pausing_group(LONGEST, partitions=partitions, at=3 * SECOND, empty=True)
    assert faults(watch(scene, -3 * MINUTE, 4 * MINUTE)) == []


@pytest.mark.parametrize("rate", [120, 1_000])
def test_a_group_that_reads_slowly_after_its_pause_is_no_fault(rate: int) -> None:
    """What was written during the pause is read at this rate, while 100 records a second come."""
    assert faults(watch(pausing_group(LONGEST, rate=rate), -3 * MINUTE, 8 * MINUTE)) == []


@pytest.mark.parametrize("owned", [True, False], ids=["owners are known", "owners are not known"])
@pytest.mark.parametrize("members", [2, 3])
def test_the_pause_of_one_member_is_no_fault(members: int, *, owned: bool) -> None:
    """Its partitions stand still for 45 seconds while those of the other members do not."""
    parts = [
        Partition(STEADY, commits_with_pause(0, LONGEST if at == 0 else 0), owner=at if owned else -1)
        for at in range(members)
    ]
    scene = Scene(parts, memberships=[Membership(LONG, members=members)])
    assert faults(watch(scene, -3 * MINUTE, 4 * MINUTE)) == []


@pytest.mark.parametrize("restart", [-TICK, TICK, 3 * TICK], ids=["before", "at the beginning", "in the middle"])
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
    """Of any length up to 45 seconds, at any time within a tick, with any speed after it."""
    scene = pausing_group(seconds * SECOND, partitions=partitions, at=at * SECOND, rate=rate, every=every * SECOND)
    assert faults(watch(scene, -2 * MINUTE, 5 * MINUTE)) == []


def test_a_partition_that_resumes_after_its_siblings_has_no_poison_record() -> None:
    """After a pause of 44 seconds the first partitions are committed at once, and the last one five seconds later."""
    parts = [
        Partition(STEADY, commits_with_pause(0, (44 + late) * SECOND), owner=0, subscribed=1) for late in (0, 0, 7)
    ]
    assert faults(watch(Scene(parts), -2 * MINUTE, 3 * MINUTE)) == []


def test_a_longer_pause_is_a_fault() -> None:
    """The limit is one: a group that pauses for two minutes is stopped, for as long as it pauses."""
    found = faults(watch(pausing_group(2 * MINUTE), -3 * MINUTE, 5 * MINUTE))
    assert {verdict for _, verdict in found} == {V.STOPPED}
    assert LONGEST < found[0][0] <= LONGEST + 2 * TICK
    assert found[-1][0] < 2 * MINUTE + 2 * TICK


def test_a_long_pause_of_all_partitions_is_stopped_from_its_first_tick() -> None:
    """Partitions whose last records came at different times do not stand still beside partitions with progress."""
    parts = [
        Partition(STEADY, consume(STEADY, LONG, -seconds * SECOND, every=SECOND), owner=0, subscribed=1)
        for seconds in (0, 8, 17)
    ]
    assert {verdict for _, verdict in faults(watch(Scene(parts), -3 * MINUTE, 5 * MINUTE))} == {V.STOPPED}


def sick_until(until: int, kind: str) -> Scene:
    """Return a group whose last partition is sick in this way from noon until a time."""
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
    opened = 0 if kind == "held_back" else until
    away = (Membership(SECOND, EMPTY, 0), Membership(until - 2 * SECOND)) if kind == "no_members" else ()
    sick = Partition(
        STEADY,
        [*before, *meanwhile.get(kind, well)],
        owner=0,
        stable=lambda t: STEADY(opened if opened <= t < until else t),
    )
    return Scene([*parts, sick], memberships=(Membership(LONG), *away))


KINDS = ("stopped", "stalled", "poison_record", "no_members", "held_back", "falling_behind", "skewed", "rewound")


@pytest.mark.parametrize("kind", KINDS)
def test_a_sick_group_keeps_one_verdict_while_nothing_changes(kind: str) -> None:
    """Over 200 ticks after its first verdict."""
    ticks = [each for each in watch(sick_until(FOREVER - MINUTE, kind), -3 * MINUTE, 35 * MINUTE) if each.time > 0]
    first = next(at for at, each in enumerate(ticks) if each.sick)
    assert len(ticks) - first > 200 - 30
    assert {each.verdict for each in ticks[first:]} == {V(kind)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_group_is_well_again_within_two_ticks(kind: str) -> None:
    """Counted from the first tick at which no record waits for longer than two ticks."""
    wake = 6 * MINUTE + 3 * SECOND
    ticks = watch(sick_until(wake, kind), -3 * MINUTE, 14 * MINUTE)
    assert next(each.verdict for each in reversed(ticks) if each.time < wake) is V(kind)
    after = [each for each in ticks if each.time >= wake]
    well = next(at for at, each in enumerate(after) if max(each.result.window.time_lag.age) <= 2 * TICK)
    assert [(each.time, each.verdict) for each in after[well + 1 :] if each.sick] == []
