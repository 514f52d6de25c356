"""The play on record against the replay of today's code, and the machinery that plays and compares."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import pytest

from sandbox.scenarios import official
from sandbox.scenarios.comparison import GroupComparison, ObservedGroup, differences
from sandbox.scenarios.everything import CAPTURES, SCENARIOS
from sandbox.scenarios.history import ExpectedTransition, ExpectedTransitions, created, dead, emptied, rebalanced
from sandbox.scenarios.official import GroupFacts, MemberFacts
from sandbox.scenarios.progress import OFFSETS_PARTITIONS, RESERVED_PARTITION, group_name
from sandbox.scenarios.recording import faults, recorded_rounds
from sandbox.scenarios.replay_observer import RETENTION, IncrementalReplay
from stream.groups.placement import partition_for
from stream.offline.replay import ROWS_PER_BATCH

if TYPE_CHECKING:
    from sandbox.scenarios.history import GroupHistory

NAMES: Final = tuple(scenario.name for scenario in SCENARIOS)
MEMBER: Final = MemberFacts("m", "c", "/127.0.0.1", None, (("t", 0),))
STABLE: Final = GroupFacts("classic", "Stable", (MEMBER,), ((("t", 0), 5),), "range")
JOINED: Final = ExpectedTransitions((created(), rebalanced(came=1)), (emptied(1), dead("expired")))


@pytest.fixture(scope="module")
def wrong() -> dict[str, list[str]]:
    """Hold the whole play on record against a replay; give what is wrong, by scenario."""
    story, found = IncrementalReplay(), dict[str, list[str]]()
    for look, rows in recorded_rounds(CAPTURES, SCENARIOS):
        findings = story.go_on(rows, look.topics)
        for scene in look.scenes:
            told = faults(dataclasses.replace(look, scenes=[scene]), findings)
            found.setdefault(scene.scenario, []).extend(told)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_history_on_record_is_found_as_it_was(wrong: dict[str, list[str]], name: str) -> None:
    """After each step transitions are exactly the expected ones, and state, members and offsets the official tool's."""
    assert not wrong[name], "\n".join(wrong[name])


def test_what_is_found_does_not_depend_on_batch_borders() -> None:
    """Read record by record, by sevens and in one go, every group has the same history and the same facts."""
    one, seven, whole = IncrementalReplay(1), IncrementalReplay(7), IncrementalReplay(ROWS_PER_BATCH)
    for look, rows in recorded_rounds(CAPTURES, SCENARIOS):
        found = whole.go_on(rows, look.topics)
        assert one.go_on(rows, look.topics) == found
        assert seven.go_on(rows, look.topics) == found


def test_a_record_that_is_lost_is_found_missing() -> None:
    """The comparison can fail: without one partition of the log its groups are missing."""
    story, said = IncrementalReplay(), []
    for look, rows in recorded_rounds(CAPTURES, SCENARIOS):
        said += faults(look, story.go_on((row for row in rows if row.partition != 1), look.topics))
    assert any("found None, the tool says" in fault for fault in said)
    assert any("transitions: found nothing; expected created" in fault for fault in said)


@pytest.mark.parametrize(
    ("found", "fits"),
    [
        pytest.param((created(), rebalanced(came=1)), True, id="all that is certain"),
        pytest.param((created(), rebalanced(came=1), emptied(1)), True, id="time has added one"),
        pytest.param((created(), rebalanced(came=1), emptied(1), dead("expired")), True, id="time has added all"),
        pytest.param((created(),), False, id="one is missing"),
        pytest.param((created(), rebalanced(came=2)), False, id="another number of members"),
        pytest.param((created(), rebalanced(came=1), dead("expired")), False, id="one between them is missing"),
        pytest.param((created(), rebalanced(came=1), emptied(1), dead("deleted")), False, id="another cause"),
        pytest.param((created(), rebalanced(came=1), emptied(1), dead("expired"), created()), False, id="one more"),
    ],
)
def test_transitions_are_exactly_the_expected_ones(found: tuple[ExpectedTransition, ...], *, fits: bool) -> None:
    """Nothing may be missing, nothing may be added but what time adds, in its order."""
    assert JOINED.fit(found) is fits
    scene = GroupComparison("s", "g", 0, "", JOINED, STABLE)
    assert (not scene.faults(ObservedGroup(STABLE, found))) is fits


def test_after_a_restart_of_the_broker_the_same_members_may_rebalance() -> None:
    """That one transition is passed over, and only behind the restart; members that come or go are not."""
    calm = ExpectedTransitions((created(), rebalanced(came=1)), ())
    restless = dataclasses.replace(calm, restless_after=2)
    among_themselves = (created(), rebalanced(came=1), rebalanced())
    assert restless.fit(among_themselves)
    assert not calm.fit(among_themselves)
    assert not restless.fit((created(), rebalanced(), rebalanced(came=1)))
    assert not restless.fit((created(), rebalanced(came=1), rebalanced(came=1)))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        pytest.param({"kind": "consumer"}, "kind", id="kind"),
        pytest.param({"state": "Empty"}, "state", id="state"),
        pytest.param({"strategy": "roundrobin"}, "strategy", id="strategy"),
        pytest.param({"offsets": ((("t", 0), 6),)}, "offsets", id="an offset"),
        pytest.param({"offsets": ()}, "offsets", id="no offset"),
        pytest.param({"members": ()}, "members", id="no member"),
        pytest.param({"members": (dataclasses.replace(MEMBER, host="/10.0.0.1"),)}, "host", id="a host"),
        pytest.param({"members": (dataclasses.replace(MEMBER, assignment=()),)}, "assignment", id="an assignment"),
        pytest.param({"group_epoch": 3}, None, id="what the tool does not tell"),
        pytest.param({"offsets": None}, None, id="what the witness does not tell"),
    ],
)
def test_every_fact_is_compared(change: dict[str, object], named: str | None) -> None:
    """A difference is named by its field; what one side does not tell is no difference."""
    said = differences(dataclasses.replace(STABLE, **change), STABLE)  # type: ignore[arg-type]
    assert [fault.split(":")[0].split(" of ")[0] for fault in said] == ([] if named is None else [named])


def test_a_group_that_is_there_for_one_side_only_is_a_fault() -> None:
    """A living group that is not shown, and one that is shown and gone, are told; both gone is agreement."""
    transitions = (created(), rebalanced(came=1))
    there, gone = GroupComparison("s", "g", 0, "", JOINED, STABLE), GroupComparison("s", "g", 0, "", JOINED, None)
    assert there.faults(ObservedGroup(None, transitions))
    assert gone.faults(ObservedGroup(STABLE, transitions))
    assert not gone.faults(ObservedGroup(None, transitions))


def test_the_scenarios_are_told_apart() -> None:
    """Names are unique, every history has steps, and who must be alone in its partition is."""
    assert len({scenario.name for scenario in SCENARIOS}) == len(SCENARIOS)
    assert all(scenario.steps for scenario in SCENARIOS)
    alone = [scenario for scenario in SCENARIOS if scenario.alone]
    assert len(alone) == 1
    assert _partition(alone[0]) == RESERVED_PARTITION
    assert RESERVED_PARTITION not in {_partition(scenario) for scenario in SCENARIOS if not scenario.alone}


def _partition(scenario: GroupHistory) -> int:
    return partition_for(group_name(scenario), OFFSETS_PARTITIONS)


def test_every_word_and_cause_is_played() -> None:
    """The histories have every transition there is, with every cause that a healthy cluster can show."""
    played = {(each.what, each.cause) for scenario in SCENARIOS for each in scenario.found_after(None).certain}
    words = {"created", "rebalanced", "emptied", "reborn", "converted"}
    causes = {"expired", "deleted", "topic deleted"}
    assert played == {(word, None) for word in words} | {
        (end, cause) for end in ("forgotten", "dead") for cause in causes
    }
    assert RETENTION.retention_ms == 60_000


@pytest.mark.parametrize(
    ("text", "settled"),
    [
        pytest.param("ACTIVE: 0:[0,1]; 1:[0]; TARGET-ACTIVE: 0:[0,1]; 1:[0];", True, id="all tasks run"),
        pytest.param("ACTIVE: 0:[0]; TARGET-ACTIVE: 0:[0,1];", False, id="one is still to come"),
        pytest.param("TARGET-ACTIVE: 0:[0,1];", False, id="none runs yet"),
        pytest.param(None, False, id="none is given out yet"),
    ],
)
def test_a_streams_member_is_settled_when_it_runs_what_it_should(text: str | None, *, settled: bool) -> None:
    """The tool prints active tasks and those that are wanted in one column."""
    row = {
        "MEMBER": "m", "CLIENT-ID": "c", "ASSIGNMENTS": text, "MEMBER-EPOCH": "3", "TARGET-ASSIGNMENT-EPOCH": "3",
    }  # fmt: skip
    assert official._streams_member(row).settled is settled


def test_assignments_are_read_with_any_topic_name() -> None:
    """Topics and partitions come apart, several of each."""
    assert official._partitions("orders:0,10;pay.ments-2:3") == (("orders", 0), ("orders", 10), ("pay.ments-2", 3))
    assert official._partitions(None) == ()
