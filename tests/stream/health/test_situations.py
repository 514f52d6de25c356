"""Simulated groups: faults are found in time with their cause, and unusual but healthy groups have none."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

import pytest

from stream.health.evaluator import Evaluator
from stream.health.hysteresis import UNDECIDED
from stream.health.inputs import NO_OWNER
from stream.health.limits import HealthLimits
from stream.health.verdict import Verdict
from tests.stream.health.simulator import MINUTE, SLOT, TICK, Membership, Partition, Scene, consume, evenly, watch
from tests.stream.health.situations import HEALTHY, KNOWN_TO_BE_LONG, NOTICED, SICK

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.stream.health.simulator import Seen
    from tests.stream.health.situations import Situation


@dataclasses.dataclass(frozen=True)
class Tick:
    """The result of one tick of a situation."""

    time: int
    verdict: Verdict
    sick: bool
    sentence: str


@dataclasses.dataclass(frozen=True)
class Replayed:
    """A situation watched from its start to its end, and the packed state in its middle, as a restart finds it."""

    scene: Scene
    ticks: list[Tick]
    packed: bytes


def middle_of(situation: Situation) -> int:
    """Return a time at which the fault has been found, with ticks after it."""
    middle = (situation.known_at + 4 * TICK) if situation.wanted else min(3 * TICK, situation.until - 20 * TICK)
    return max(middle - middle % TICK, situation.start + TICK)


@functools.cache
def replay(situation: Situation) -> Replayed:
    """Watch a whole situation, once for all tests of it."""
    scene, evaluator = situation.scene(), Evaluator(HealthLimits(tick=TICK, slot=SLOT))
    middle = middle_of(situation)
    seen = watch(scene, situation.start, middle, evaluator=evaluator, tick=situation.tick)
    packed = evaluator.pack()
    assert packed is not None
    behind = middle + situation.tick - (middle - situation.start) % situation.tick
    seen += watch(scene, behind, situation.until, evaluator=evaluator, tick=situation.tick)
    ticks = [Tick(each.time, each.verdict, each.sick, sentence(each) if each.sick else "") for each in seen]
    return Replayed(scene, ticks, packed)


def sentence(seen: Seen) -> str:
    """Return the sentence of the group."""
    return seen.result.group_finding(0).sentence


@pytest.mark.parametrize("situation", [*HEALTHY, KNOWN_TO_BE_LONG], ids=lambda each: each.story)
def test_an_unusual_but_healthy_group_never_has_a_fault(situation: Situation) -> None:
    """The group has no fault at any tick, from the first tick of the monitor on."""
    assert [each for each in replay(situation).ticks if each.sick] == []


@pytest.mark.parametrize("situation", [*SICK, *NOTICED], ids=lambda each: each.story)
def test_a_fault_is_shown_within_three_ticks_after_it_can_be_known(situation: Situation) -> None:
    """The fault is shown with its own verdict, with no other fault before it, and until it is over.

    The verdict is not shown before the fault can be known.
    """
    ticks = replay(situation).ticks
    found = [each.time for each in ticks if each.verdict is situation.wanted]
    assert found, {each.verdict for each in ticks}
    assert situation.known_at <= found[0] <= situation.known_at + 3 * TICK
    over = situation.ends_at if situation.ends_at is not None else situation.until
    during = {each.verdict for each in ticks if found[0] <= each.time <= over}
    assert during <= {situation.wanted, *situation.on_the_way}
    calls = [each.time for each in ticks if each.sick]
    assert all(each.sick for each in ticks if calls and calls[0] <= each.time <= over)
    early = {each.verdict for each in ticks if each.time < found[0] and each.sick}
    assert early <= set(situation.on_the_way)


@pytest.mark.parametrize("situation", [each for each in SICK if each.ends_at is not None], ids=lambda each: each.story)
def test_a_fault_that_is_over_is_withdrawn(situation: Situation) -> None:
    """No fault is shown later than three ticks after its end: one to see the first commit, and two to withdraw it."""
    assert situation.ends_at is not None
    late = [each for each in replay(situation).ticks if each.time > situation.ends_at + 3 * TICK]
    assert late
    assert not any(each.sick for each in late)


def test_a_group_with_unknown_commits_keeps_its_verdict() -> None:
    """New commits may exist that have not been read yet, so no other verdict is possible."""
    scene = Scene([Partition(evenly(100), consume(evenly(100), -20 * MINUTE, 0))], read_until=lambda t: min(t, 0))
    late = [each for each in watch(scene, -6 * MINUTE, 5 * MINUTE) if each.time > MINUTE]
    assert {int(each.result.rule_verdict[0]) for each in late} == {UNDECIDED}
    assert {each.verdict for each in late} == {Verdict.OK}


@pytest.mark.parametrize("story", ["at rest", "stopped", "rebalancing"])
def test_a_group_before_an_unreadable_tail_is_unknown_with_the_missing_right(story: str) -> None:
    """The group may have read everything; the sentence names the missing right."""
    (situation,) = (each for each in HEALTHY if each.story == f"{story} before a marker that may not be read")
    scene = situation.scene()
    (late,) = (each for each in watch(scene, situation.start, -10 * MINUTE) if each.time == -10 * MINUTE)
    finding = late.result.group_finding(0)
    assert (finding.verdict, finding.evidence["reason"], finding.evidence["lag"]) == (
        Verdict.UNKNOWN,
        "not_authorized",
        1,
    )
    assert "1 offset left may be transaction markers" in finding.sentence
    assert "lagwarden has no right to Read topic orders" in finding.sentence
    assert "Grant Read on topic orders" in finding.next_step


def constantly(value: int) -> Callable[[int], int]:
    """Return a function of time whose value does not change."""
    return lambda _: value


@pytest.mark.parametrize("end", [0, 500], ids=["never written", "all records deleted"])
def test_an_empty_partition_without_a_commit_is_caught_up(end: int) -> None:
    """Clients do not commit an empty partition; the other partitions decide the verdict of the group."""
    read = Partition(evenly(100), consume(evenly(100), -20 * MINUTE, 5 * MINUTE), owner=0)
    empty = Partition(constantly(end), [], log_start=constantly(end), owner=0)
    late = watch(Scene([read, empty]), -6 * MINUTE, 0)[2:]
    assert {each.of(1) for each in late} == {Verdict.CAUGHT_UP}
    assert {each.verdict for each in late} <= {Verdict.OK, Verdict.CAUGHT_UP}
    assert late[-1].result.row_finding(1).sentence == "The partition is empty: there is nothing to read."


def test_a_partition_with_records_and_without_a_commit_is_unknown() -> None:
    """The monitor cannot know whether the group begins with these records."""
    read = Partition(evenly(100), consume(evenly(100), -20 * MINUTE, 5 * MINUTE), owner=0)
    full = Partition(constantly(500), [], log_start=constantly(400), owner=0)
    assert {each.of(1) for each in watch(Scene([read, full]), -6 * MINUTE, 0)} == {Verdict.UNKNOWN}


def test_a_partition_without_owner_is_unknown_and_then_unassigned() -> None:
    """The partition is unknown while a member may still get it, and unassigned after that."""
    read = Partition(evenly(100), consume(evenly(100), -20 * MINUTE, 20 * MINUTE), owner=0)
    left = Partition(evenly(1, start=0), [], owner=NO_OWNER, subscribed=1)
    scene = Scene([read, left], memberships=[Membership(-10 * MINUTE, members=2)])
    ticks = watch(scene, -6 * MINUTE, 10 * MINUTE)
    found = [(each.time, each.of(1)) for each in ticks if each.time >= 3 * TICK]
    assert {verdict for time, verdict in found if time <= 6 * MINUTE} == {Verdict.UNKNOWN}
    assert {verdict for time, verdict in found if time > 6 * MINUTE + 3 * TICK} == {Verdict.UNASSIGNED}
    (early,) = (each for each in ticks if each.time == MINUTE)
    finding = early.result.row_finding(1)
    assert finding.sentence.startswith("None of the group's 2 members owns this partition yet")
    assert "60 offsets unread" in finding.sentence
    assert "metadata.max.age.ms" in finding.next_step


@pytest.mark.parametrize("situation", [*HEALTHY, *SICK, *NOTICED], ids=lambda each: each.story)
def test_a_restart_of_the_monitor_changes_no_verdict(situation: Situation) -> None:
    """A monitor without history continues from the packed verdicts: no verdict alternates or is lost.

    A fault is shown at each tick until it is over, and is then withdrawn in time. All other groups have none.
    """
    whole, middle = replay(situation), middle_of(situation)
    before = [each for each in whole.ticks if each.time <= middle][-1]
    second = Evaluator(HealthLimits(tick=TICK, slot=SLOT), packed=whole.packed)
    until = min(situation.until, middle + 20 * TICK)
    after = watch(whole.scene, middle + 2 * TICK, until, evaluator=second)
    over = until if situation.ends_at is None else situation.ends_at
    during = [each for each in after if each.time <= over]
    assert during
    if situation in SICK:
        assert before.sick
        assert all(each.sick for each in during)
        assert not any(each.sick for each in after if each.time > over + 3 * TICK)
    else:
        assert not any(each.sick for each in after)
    if situation.wanted is not None:
        shown = {each.verdict for each in during}
        assert shown <= {before.verdict, situation.wanted, *situation.on_the_way}
        assert situation.wanted in shown
