"""Simulated groups: faults are found in time with their cause, and unusual but healthy groups have none."""

import collections
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import pytest

from stream.health.hysteresis import UNDECIDED
from stream.health.inputs import NO_OWNER
from stream.health.verdict import Verdict
from tests.stream.health.simulator import (
    MINUTE,
    TICK,
    GroupTick,
    Membership,
    Partition,
    Scene,
    Seen,
    evenly,
    new_evaluator,
    verdicts,
    watch,
    watch_together,
)
from tests.stream.health.situations import HEALTHY, LATE, NOTICED, SICK, Situation, lasting, steady

EVERY: Final = {each.story: each for each in (*HEALTHY, *SICK, *NOTICED)}
SAMPLE: Final = (
    *("stopped", "held_back", "no_leader", "no_members", "unassigned", "aborting", "rewound"),
    "a transaction after a long rest before a marker",
    "a poison record",
    "a group that falls behind",
    "a group that leaves its backlog behind",
    "an offset that is removed too early",
    "two clients that commit one partition",
    "commits the last offset it has read",
    "a planned reset",
)
"""Situations of each family of rules, and for each memory of a row that a restart must keep.

The families are progress, log, membership and offsets; the memories are rests, jumps, turns, forgotten offsets, known
ends, and verdicts that are shown and withdrawn. Long tests hold the law for all situations.
"""


def watched(situations: Iterable[Situation]) -> list[tuple[Situation, list[GroupTick]]]:
    """Watch whole situations; those with the same ticks and the same kind of monitor together."""
    together: dict[tuple[int, bool, tuple[int, ...], str], list[tuple[Situation, Scene]]] = collections.defaultdict(
        list
    )
    for each in situations:
        scene = each.scene()
        away = tuple(t - each.start for t in range(each.start, each.until, each.tick) if scene.away(t))
        together[each.tick, scene.tails is None, away, each.story if scene.clients else ""].append((each, scene))
    found = []
    for (tick, _, _, alone), some in together.items():
        if alone:
            found += [(each, watch(scene, each.start, each.until, tick=tick)) for each, scene in some]
        else:
            first, last = [each.start for each, _ in some], [each.until for each, _ in some]
            ticks = watch_together([scene for _, scene in some], first, last, tick=tick)
            found += [(each, of_one) for (each, _), of_one in zip(some, ticks, strict=True)]
    return found


def faults_of(situation: Situation, ticks: Sequence[GroupTick | Seen]) -> list[str]:
    """Return what is wrong with the ticks of a situation with a fault or a notice."""
    found = [each.time for each in ticks if each.verdict is situation.wanted]
    if not found:
        return [f"never found: {verdicts(ticks, situation.start)}"]
    over = situation.until if situation.ends_at is None else situation.ends_at
    calls = [each.time for each in ticks if each.sick]
    no_lag = next((each.time for each in ticks if each.time >= over and each.age <= 2 * TICK), over)
    late = [each for each in ticks if each.time > max(over + 3 * TICK, no_lag + TICK)]
    faults = {
        f"found at {found[0]}": situation.known_at <= found[0] <= situation.known_at + situation.within * TICK,
        f"verdicts {verdicts(ticks, found[0], over)}": verdicts(ticks, found[0], over)
        <= {situation.wanted, *situation.on_the_way},
        "not shown until it is over": all(each.sick for each in ticks if calls and calls[0] <= each.time <= over),
        "another fault before it": {each.verdict for each in ticks if each.time < found[0] and each.sick}
        <= set(situation.on_the_way),
        "no tick after its end": bool(late) or situation not in SICK or situation.ends_at is None,
        "not withdrawn": situation not in SICK or not any(each.sick for each in late),
    }
    return [fault for fault, is_right in faults.items() if not is_right]


@pytest.mark.timeout(1_800)
def test_a_fault_is_shown_within_three_ticks_and_an_unusual_but_healthy_group_has_none() -> None:
    """The fault is shown with its own verdict, with no other fault before it, and until it is over.

    The verdict is not shown before the fault can be known. No fault is shown later than three ticks after its end: one
    to see the first commit, and two to withdraw it. While the group still catches up, the end is the first tick at
    which no record waits for longer than two ticks. A healthy group has no fault at any tick, from the first one of the
    monitor on.
    """
    for situation, ticks in watched(EVERY.values()):
        if situation.wanted is None:
            assert [each for each in ticks if each.sick] == [], situation.story
        else:
            assert faults_of(situation, ticks) == [], situation.story


@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_a_sick_group_keeps_one_verdict_while_nothing_changes() -> None:
    """The groups of all kinds of faults keep their verdict for half an hour."""
    found = watched(lasting(until=LATE, ends_at=None, last=LATE - MINUTE))
    assert [(each.story, fault) for each, ticks in found for fault in faults_of(each, ticks)] == []


def test_a_group_has_the_same_verdicts_alone_and_beside_others() -> None:
    """Law: one evaluation of many groups gives each of them the verdicts of an evaluation of this group alone."""
    for situation, ticks in watched(EVERY[kind] for kind in ("stopped", "no_members", "unassigned")):
        alone = watch(situation.scene(), situation.start, 3 * MINUTE)
        assert [(each.time, each.verdict) for each in alone] == [
            (each.time, each.verdict) for each in ticks if each.time <= 3 * MINUTE
        ]


def after_restart(situation: Situation) -> list[str]:
    """Return what is wrong after a restart in the middle of a situation, when its fault has been found."""
    middle = (situation.known_at + 4 * TICK) if situation.wanted else min(3 * TICK, situation.until - 20 * TICK)
    middle = max(middle - middle % TICK, situation.start + TICK)
    scene, first = situation.scene(), new_evaluator()
    before = watch(scene, situation.start, middle, evaluator=first, tick=situation.tick)[-1]
    until = min(situation.until, middle + 20 * TICK)
    after = watch(scene, middle + 2 * TICK, until, evaluator=new_evaluator(first.pack()))
    over = until if situation.ends_at is None else situation.ends_at
    during = [each for each in after if each.time <= over]
    sick = [each.sick for each in during]
    late = [each for each in after if each.sick and (situation not in SICK or each.time > over + 3 * TICK)]
    faults = {
        "no tick": bool(during),
        "fault lost": situation not in SICK or all([before.sick, *sick]),
        "fault too many": not late,
        f"{verdicts(during, middle)} after {before.verdict}": situation.wanted is None
        or (
            situation.wanted in verdicts(during, middle)
            and verdicts(during, middle) <= {before.verdict, situation.wanted, *situation.on_the_way}
        ),
    }
    return [fault for fault, is_right in faults.items() if not is_right]


@pytest.mark.parametrize(
    "stories",
    [
        pytest.param(SAMPLE, id="sample"),
        *(
            pytest.param(list(EVERY)[part::4], marks=[pytest.mark.long, pytest.mark.timeout(3_600)], id=f"part {part}")
            for part in range(4)
        ),
    ],
)
def test_a_restart_of_the_monitor_changes_no_verdict(stories: Sequence[str]) -> None:
    """A monitor without history continues from the packed verdicts: no verdict alternates or is lost.

    A fault is shown at each tick until it is over, and is then withdrawn in time. All other groups have none.
    """
    assert [(story, fault) for story in stories for fault in after_restart(EVERY[story])] == []


def test_a_group_with_unknown_commits_keeps_its_verdict() -> None:
    """New commits may exist that have not been read yet, so no other verdict is possible."""
    scene = Scene([steady(0)], read_until=lambda t: min(t, 0))
    late = [each for each in watch(scene, -6 * MINUTE, 5 * MINUTE) if each.time > MINUTE]
    assert {int(each.result.rule_verdict[0]) for each in late} == {UNDECIDED}
    assert {each.verdict for each in late} == {Verdict.OK}


@pytest.mark.parametrize("story", ["at rest", "stopped"])
def test_a_group_before_an_unreadable_tail_is_unknown_with_the_missing_right(story: str) -> None:
    """The group may have read everything; the sentence names the missing right."""
    situation = EVERY[f"{story} before a marker that may not be read"]
    finding = watch(situation.scene(), -14 * MINUTE, -10 * MINUTE)[-1].result.group_finding(0)
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
    read = steady(5 * MINUTE, owner=0)
    empty = Partition(constantly(end), [], log_start=constantly(end), owner=0)
    late = watch(Scene([read, empty]), -2 * MINUTE, 0)[2:]
    assert {each.of(1) for each in late} == {Verdict.CAUGHT_UP}
    assert {each.verdict for each in late} <= {Verdict.OK, Verdict.CAUGHT_UP}
    assert late[-1].result.row_finding(1).sentence == "The partition is empty: there is nothing to read."


def test_a_partition_without_owner_is_unknown_and_then_unassigned() -> None:
    """The partition is unknown while a member may still get it, and unassigned after that."""
    left = Partition(evenly(1, start=0), [], owner=NO_OWNER, subscribed=1)
    scene = Scene([steady(owner=0), left], memberships=[Membership(-10 * MINUTE, members=2)])
    ticks = watch(scene, -6 * MINUTE, 10 * MINUTE)
    found = [(each.time, each.of(1)) for each in ticks if each.time >= 3 * TICK]
    assert {verdict for time, verdict in found if time <= 6 * MINUTE} == {Verdict.UNKNOWN}
    assert {verdict for time, verdict in found if time > 6 * MINUTE + 3 * TICK} == {Verdict.UNASSIGNED}
    (early,) = (each for each in ticks if each.time == MINUTE)
    finding = early.result.row_finding(1)
    assert finding.sentence.startswith("None of the group's 2 members owns this partition yet")
    assert "60 offsets unread" in finding.sentence
    assert "metadata.max.age.ms" in finding.next_step
