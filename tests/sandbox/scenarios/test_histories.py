"""The recorded run compared with a replay by the current code, and tests of the comparison itself."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import pytest

from sandbox.clients.group_names import RESERVED_PARTITION, group_name
from sandbox.scenarios import official
from sandbox.scenarios.comparison import GroupComparison, ObservedGroup, differences
from sandbox.scenarios.everything import CAPTURES, HISTORIES
from sandbox.scenarios.history import ExpectedTransition, ExpectedTransitions, created, dead, emptied, rebalanced
from sandbox.scenarios.official import GroupFacts, MemberFacts
from sandbox.scenarios.progress import OFFSETS_PARTITIONS
from sandbox.scenarios.recording import faults, recorded_rounds
from sandbox.scenarios.replay_observer import RETENTION, IncrementalReplay
from stream.groups.placement import partition_for
from stream.offline.replay import ROWS_PER_BATCH

if TYPE_CHECKING:
    from sandbox.scenarios.history import GroupHistory

NAMES: Final = tuple(history.name for history in HISTORIES)
MEMBER: Final = MemberFacts("m", "c", "/127.0.0.1", None, (("t", 0),))
STABLE: Final = GroupFacts("classic", "Stable", (MEMBER,), ((("t", 0), 5),), "range")
JOINED: Final = ExpectedTransitions((created(), rebalanced(came=1)), (emptied(1), dead("expired")))


@pytest.fixture(scope="module")
def differences_by_history() -> dict[str, list[str]]:
    """Compare the whole recorded run with a replay; returns the differences by history."""
    replay, found = IncrementalReplay(), dict[str, list[str]]()
    for recorded, rows in recorded_rounds(CAPTURES, HISTORIES):
        observed = replay.read(rows, recorded.topics)
        for each in recorded.comparisons:
            wrong = faults(dataclasses.replace(recorded, comparisons=[each]), observed)
            found.setdefault(each.history, []).extend(wrong)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_replay_of_a_recorded_history_finds_what_was_recorded(
    differences_by_history: dict[str, list[str]], name: str
) -> None:
    """Transitions are exactly the expected ones after each step; states, members and offsets are the tool's."""
    assert not differences_by_history[name], "\n".join(differences_by_history[name])


def test_replay_does_not_depend_on_batch_borders() -> None:
    """A replay by one record, by seven or at once gives every group the same history and the same facts."""
    one, seven, whole = IncrementalReplay(1), IncrementalReplay(7), IncrementalReplay(ROWS_PER_BATCH)
    for recorded, rows in recorded_rounds(CAPTURES, HISTORIES):
        found = whole.read(rows, recorded.topics)
        assert one.read(rows, recorded.topics) == found
        assert seven.read(rows, recorded.topics) == found


def test_lost_records_are_differences() -> None:
    """The comparison finds the missing groups of a log without one partition."""
    replay, wrong = IncrementalReplay(), []
    for recorded, rows in recorded_rounds(CAPTURES, HISTORIES):
        wrong += faults(recorded, replay.read((row for row in rows if row.partition != 1), recorded.topics))
    assert any("found None, the tool shows" in fault for fault in wrong)
    assert any("transitions: found nothing; expected created" in fault for fault in wrong)


@pytest.mark.parametrize(
    ("found", "fits"),
    [
        pytest.param((created(), rebalanced(came=1)), True, id="all certain transitions"),
        pytest.param((created(), rebalanced(came=1), emptied(1)), True, id="one possible transition"),
        pytest.param((created(), rebalanced(came=1), emptied(1), dead("expired")), True, id="all possible transitions"),
        pytest.param((created(),), False, id="missing transition"),
        pytest.param((created(), rebalanced(came=2)), False, id="another number of members"),
        pytest.param((created(), rebalanced(came=1), dead("expired")), False, id="missing transition in the middle"),
        pytest.param((created(), rebalanced(came=1), emptied(1), dead("deleted")), False, id="another cause"),
        pytest.param(
            (created(), rebalanced(came=1), emptied(1), dead("expired"), created()), False, id="additional transition"
        ),
    ],
)
def test_transitions_are_exactly_the_expected_ones(found: tuple[ExpectedTransition, ...], *, fits: bool) -> None:
    """No transition may be missing, and only those of expiration may be added, in their order."""
    assert JOINED.fit(found) is fits
    comparison = GroupComparison("h", "g", 0, "", JOINED, STABLE)
    assert (not comparison.faults(ObservedGroup(STABLE, found))) is fits


def test_rebalances_without_a_change_of_members_are_allowed_after_a_restart_of_the_broker() -> None:
    """A rebalance without a change of members is ignored only after the restart; a change of members never is."""
    without_restart = ExpectedTransitions((created(), rebalanced(came=1)), ())
    with_restart = dataclasses.replace(without_restart, restarted_after=2)
    rebalanced_again = (created(), rebalanced(came=1), rebalanced())
    assert with_restart.fit(rebalanced_again)
    assert not without_restart.fit(rebalanced_again)
    assert not with_restart.fit((created(), rebalanced(), rebalanced(came=1)))
    assert not with_restart.fit((created(), rebalanced(came=1), rebalanced(came=1)))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        pytest.param({"kind": "consumer"}, "kind", id="kind"),
        pytest.param({"state": "Empty"}, "state", id="state"),
        pytest.param({"strategy": "roundrobin"}, "strategy", id="strategy"),
        pytest.param({"offsets": ((("t", 0), 6),)}, "offsets", id="other offset"),
        pytest.param({"offsets": ()}, "offsets", id="no offset"),
        pytest.param({"members": ()}, "members", id="no member"),
        pytest.param({"members": (dataclasses.replace(MEMBER, host="/10.0.0.1"),)}, "host", id="other host"),
        pytest.param({"members": (dataclasses.replace(MEMBER, assignment=()),)}, "assignment", id="other assignment"),
        pytest.param({"group_epoch": 3}, None, id="not shown by the tool"),
        pytest.param({"offsets": None}, None, id="not shown by the observer"),
    ],
)
def test_every_fact_is_compared(change: dict[str, object], named: str | None) -> None:
    """A difference starts with the name of its field; a field that one side does not show is no difference."""
    found = differences(dataclasses.replace(STABLE, **change), STABLE)  # type: ignore[arg-type]
    assert [fault.split(":")[0].split(" of ")[0] for fault in found] == ([] if named is None else [named])


def test_a_group_that_only_one_side_shows_is_a_difference() -> None:
    """A missing group and a removed group that is shown are differences. None on both sides agrees."""
    transitions = (created(), rebalanced(came=1))
    present, removed = GroupComparison("h", "g", 0, "", JOINED, STABLE), GroupComparison("h", "g", 0, "", JOINED, None)
    assert present.faults(ObservedGroup(None, transitions))
    assert removed.faults(ObservedGroup(STABLE, transitions))
    assert not removed.faults(ObservedGroup(None, transitions))


def test_histories_are_distinct() -> None:
    """Names are unique, every history has steps, and exactly one group is in the reserved offsets partition."""
    assert len({history.name for history in HISTORIES}) == len(HISTORIES)
    assert all(history.steps for history in HISTORIES)
    reserved = [history for history in HISTORIES if history.reserved]
    assert len(reserved) == 1
    assert _partition(reserved[0]) == RESERVED_PARTITION
    assert RESERVED_PARTITION not in {_partition(history) for history in HISTORIES if not history.reserved}


def _partition(history: GroupHistory) -> int:
    return partition_for(group_name(history.name, OFFSETS_PARTITIONS, reserved=history.reserved), OFFSETS_PARTITIONS)


def test_every_transition_and_cause_is_covered() -> None:
    """The histories have every transition, with every cause that a healthy cluster can show."""
    covered = {(each.what, each.cause) for history in HISTORIES for each in history.found_after(None).certain}
    without_cause = {"created", "rebalanced", "emptied", "reborn", "converted"}
    causes = {"expired", "deleted", "topic deleted"}
    assert covered == {(what, None) for what in without_cause} | {
        (end, cause) for end in ("forgotten", "dead") for cause in causes
    }
    assert RETENTION.retention_ms == 60_000


@pytest.mark.parametrize(
    ("text", "settled"),
    [
        pytest.param("ACTIVE: 0:[0,1]; 1:[0]; TARGET-ACTIVE: 0:[0,1]; 1:[0];", True, id="all tasks run"),
        pytest.param("ACTIVE: 0:[0]; TARGET-ACTIVE: 0:[0,1];", False, id="one task is missing"),
        pytest.param("TARGET-ACTIVE: 0:[0,1];", False, id="no task runs yet"),
        pytest.param(None, False, id="no task is assigned yet"),
    ],
)
def test_a_streams_member_is_settled_when_it_runs_its_target_tasks(text: str | None, *, settled: bool) -> None:
    """The active tasks and the target tasks, which the tool prints in one column, are compared."""
    row = {
        "MEMBER": "m", "CLIENT-ID": "c", "ASSIGNMENTS": text, "MEMBER-EPOCH": "3", "TARGET-ASSIGNMENT-EPOCH": "3",
    }  # fmt: skip
    assert official._streams_member(row).settled is settled


def test_assignments_are_parsed_with_any_topic_name() -> None:
    """Topics with dots, hyphens and several partitions are split; no assignment gives no partitions."""
    assert official._partitions("orders:0,10;pay.ments-2:3") == (("orders", 0), ("orders", 10), ("pay.ments-2", 3))
    assert official._partitions(None) == ()
