"""The whole tick: laws that hold for any group, and the texts about one group."""

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from stream.health.evaluator import Evaluator
from stream.health.inputs import GroupStage
from stream.health.verdict import SEVERITY, Severity, Verdict
from tests.stream.health.simulator import (
    HOUR,
    MINUTE,
    NOON,
    SECOND,
    SLOT,
    TICK,
    Membership,
    Partition,
    Scene,
    by_list,
    consume,
    evenly,
    look,
    watch,
    watch_together,
)
from tests.support.hypothesis_profiles import examples

STEADY = evenly(100)
V = Verdict


@st.composite
def reader(draw: st.DrawFn) -> Scene:
    """Return a group whose commits are at the end; records come in any pattern: evenly, in bursts, hardly at all."""
    times = draw(st.lists(st.integers(-20 * MINUTE, 5 * MINUTE), max_size=20))
    bursts = draw(st.lists(st.tuples(st.integers(-20 * MINUTE, 5 * MINUTE), st.integers(1, 300)), max_size=4))
    end = by_list(sorted([*times, *(at + n * 10 for at, size in bursts for n in range(size))]) or [0])
    every, repeats = draw(st.integers(1, 40)), draw(st.booleans())
    commits = consume(end, -20 * MINUTE, 5 * MINUTE, every=every * SECOND, repeats=repeats)
    stage = draw(st.sampled_from([GroupStage.STABLE, GroupStage.OFFSETS_ONLY]))
    return Scene([Partition(end, commits)], memberships=[Membership(-HOUR, stage)])


@examples(2)
@given(st.lists(reader(), min_size=5, max_size=5))
def test_a_group_that_reads_everything_never_has_a_fault(scenes: list[Scene]) -> None:
    """A group whose commits are at the end has no fault, for any records and any commit interval."""
    assert [each for own in watch_together(scenes, -3 * MINUTE, 5 * MINUTE) for each in own if each.sick] == []


@examples(2)
@given(st.lists(st.tuples(st.integers(1, 60), st.integers(1, 1_000)), min_size=5, max_size=5))
def test_a_stopped_group_is_found_at_any_commit_interval_and_rate(kinds: list[tuple[int, int]]) -> None:
    """The fault is found after one commit interval and within two intervals, two slots and three ticks."""
    ends = [evenly(rate) for _, rate in kinds]
    scenes = [
        Scene([Partition(end, consume(end, -25 * MINUTE, 0, every=every * SECOND))])
        for end, (every, _) in zip(ends, kinds, strict=True)
    ]
    for (every, _), ticks in zip(kinds, watch_together(scenes, -2 * MINUTE, 4 * MINUTE), strict=True):
        found = next(each.time for each in ticks if each.verdict is V.STOPPED)
        assert every * SECOND < found <= 2 * (every + SLOT // SECOND) * SECOND + 3 * TICK


def test_the_finding_of_a_group_is_that_of_its_worst_partition() -> None:
    """The finding has the number of partitions, the worst one, the start time, the evidence and the next step."""
    stuck = [Partition(STEADY, consume(STEADY, -HOUR, at)) for at in (-10 * SECOND, 0)]
    scene = Scene([*stuck, Partition(evenly(1), consume(evenly(1), -HOUR, -10 * SECOND))])
    finding = watch(scene, -2 * MINUTE, 2 * MINUTE)[-1].result.group_finding(0)
    assert finding.verdict is V.STOPPED
    assert finding.severity is Severity.CRITICAL
    assert finding.sentence.startswith("orders-0 has had no commit for 2 min 10 s, where ")
    assert finding.sentence.endswith(" Partitions with this verdict: 3 of 3.")
    assert finding.since == NOON + 50 * SECOND
    assert finding.evidence["lag"] == 13_000
    assert finding.evidence["commit_time"] == NOON - 10 * SECOND
    assert finding.next_step


def test_a_shown_fault_that_has_passed_has_the_sentence_of_the_present() -> None:
    """The sentence describes the present numbers, because the sentence of the fault would not fit them."""
    commits = [*consume(STEADY, -HOUR, 0), *consume(STEADY, 2 * MINUTE, HOUR)]
    finding = watch(Scene([Partition(STEADY, commits)]), -2 * MINUTE, 2 * MINUTE)[-1].result.group_finding(0)
    assert finding.verdict is V.STOPPED
    assert finding.sentence == "orders-0: Still shown as stopped until this has lasted: All records are read."


def test_a_group_with_a_short_history_is_undecided() -> None:
    """A lag of unknown age gets no verdict, and the sentence gives the reason."""
    old = Scene([Partition(STEADY, consume(STEADY, -HOUR, -10 * MINUTE))])
    first = watch(old, 0, 0)[0]
    assert first.verdict is V.UNKNOWN
    assert first.result.row_finding(0).sentence.startswith(
        "Not observed for long enough to decide: 60,000 offsets unread"
    )
    assert watch(old, 0, MINUTE)[-1].verdict is V.STOPPED


def test_a_group_without_offsets_is_unknown() -> None:
    """The sentence of the group gives the reason."""
    seen = look(Scene([Partition(STEADY, consume(STEADY, -HOUR, 0))]), 0)
    two = {
        field.name: getattr(seen.groups, field.name).repeat(2)
        for field in dataclasses.fields(seen.groups)
        if field.name != "names"
    }
    seen = dataclasses.replace(seen, groups=dataclasses.replace(seen.groups, names=["billing", "idle"], **two))
    finding = Evaluator().evaluate(seen).group_finding(1)
    assert (finding.verdict, finding.sentence) == (V.UNKNOWN, "The group has committed no offsets.")
    assert SEVERITY[finding.verdict] < Severity.WARNING
