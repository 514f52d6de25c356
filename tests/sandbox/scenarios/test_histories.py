"""The recorded run compared with a replay by the current code, and tests of the comparison itself."""

import dataclasses
from typing import Final

from sandbox.clients.group_names import RESERVED_PARTITION, group_name
from sandbox.scenarios.comparison import GroupComparison, ObservedGroup, differences
from sandbox.scenarios.everything import CAPTURES, HISTORIES
from sandbox.scenarios.history import ExpectedTransitions, GroupHistory, created, dead, emptied, rebalanced
from sandbox.scenarios.official import GroupFacts, MemberFacts
from sandbox.scenarios.progress import OFFSETS_PARTITIONS
from sandbox.scenarios.recording import faults, recorded_rounds
from sandbox.scenarios.replay_observer import RETENTION, IncrementalReplay
from stream.groups.placement import partition_for
from stream.offline.replay import ROWS_PER_BATCH

MEMBER: Final = MemberFacts("m", "c", "/127.0.0.1", None, (("t", 0),))
STABLE: Final = GroupFacts("classic", "Stable", (MEMBER,), ((("t", 0), 5),), "range")
JOINED: Final = ExpectedTransitions((created(), rebalanced(came=1)), (emptied(1), dead("expired")))


def test_replay_of_the_recorded_run_finds_what_was_recorded() -> None:
    """Transitions are exactly the expected ones after each step; states, members and offsets are the tool's.

    A replay by one record, by seven or at once gives every group the same history and the same facts.
    """
    one, seven, whole = IncrementalReplay(1), IncrementalReplay(7), IncrementalReplay(ROWS_PER_BATCH)
    compared, wrong = set(), []
    for recorded, rows in recorded_rounds(CAPTURES, HISTORIES):
        found = whole.read(rows, recorded.topics)
        compared |= {each.history for each in recorded.comparisons}
        wrong += faults(recorded, found)
        assert one.read(rows, recorded.topics) == found
        assert seven.read(rows, recorded.topics) == found
    assert wrong == []
    assert compared == {history.name for history in HISTORIES}


def test_lost_records_are_differences() -> None:
    """The comparison finds the missing groups of a log without one partition."""
    replay, wrong = IncrementalReplay(), []
    for recorded, rows in recorded_rounds(CAPTURES, HISTORIES):
        wrong += faults(recorded, replay.read((row for row in rows if row.partition != 1), recorded.topics))
    assert any("found None, the tool shows" in fault for fault in wrong)
    assert any("transitions: found nothing; expected created" in fault for fault in wrong)


CERTAIN: Final = (created(), rebalanced(came=1))
FITTING: Final = [CERTAIN, (*CERTAIN, emptied(1)), (*CERTAIN, emptied(1), dead("expired"))]
OTHERS: Final = [
    (created(),),
    (created(), rebalanced(came=2)),
    (*CERTAIN, dead("expired")),
    (*CERTAIN, emptied(1), dead("deleted")),
    (*CERTAIN, emptied(1), dead("expired"), created()),
]


def test_transitions_are_exactly_the_expected_ones() -> None:
    """No transition may be missing, and only those of expiration may be added, in their order."""
    comparison = GroupComparison("h", "g", 0, "", JOINED, STABLE)
    for found in (*FITTING, *OTHERS):
        assert JOINED.fit(found) is (found in FITTING), found
        assert (not comparison.faults(ObservedGroup(STABLE, found))) is (found in FITTING), found


def test_rebalances_without_a_change_of_members_are_allowed_after_a_restart_of_the_broker() -> None:
    """A rebalance without a change of members is ignored only after the restart; a change of members never is."""
    without_restart = ExpectedTransitions((created(), rebalanced(came=1)), ())
    with_restart = dataclasses.replace(without_restart, restarted_after=2)
    rebalanced_again = (created(), rebalanced(came=1), rebalanced())
    assert with_restart.fit(rebalanced_again)
    assert not without_restart.fit(rebalanced_again)
    assert not with_restart.fit((created(), rebalanced(), rebalanced(came=1)))
    assert not with_restart.fit((created(), rebalanced(came=1), rebalanced(came=1)))


FACTS: Final = [
    ({"kind": "consumer"}, ["kind"]),
    ({"state": "Empty"}, ["state"]),
    ({"strategy": "roundrobin"}, ["strategy"]),
    ({"offsets": ((("t", 0), 6),)}, ["offsets"]),
    ({"offsets": ()}, ["offsets"]),
    ({"members": ()}, ["members"]),
    ({"members": (dataclasses.replace(MEMBER, host="/10.0.0.1"),)}, ["host"]),
    ({"members": (dataclasses.replace(MEMBER, assignment=()),)}, ["assignment"]),
    # Not shown by the tool, and not shown by the observer.
    ({"group_epoch": 3}, []),
    ({"offsets": None}, []),
]


def test_every_fact_is_compared() -> None:
    """A difference starts with the name of its field; a field that one side does not show is no difference."""
    for change, named in FACTS:
        found = differences(dataclasses.replace(STABLE, **change), STABLE)  # type: ignore[arg-type]
        assert [fault.split(":")[0].split(" of ")[0] for fault in found] == named


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
