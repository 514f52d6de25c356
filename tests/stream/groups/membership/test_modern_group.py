"""The state of the newer kinds of groups, computed from their records."""

from __future__ import annotations

from typing import Any

import pytest

from decoders import group_events as facts
from stream.groups.membership.modern_group import ModernGroup


def member(name: str) -> facts.ConsumerMemberRecorded:
    """Return a member of a consumer group."""
    return facts.ConsumerMemberRecorded("g", name, None, None, "c", "/h", ("t",), None, 300, None, None, ())


def streams_member(name: str) -> facts.StreamsMemberRecorded:
    """Return a member of a streams group."""
    return facts.StreamsMemberRecorded("g", name, None, None, "c", "/h", 300, 1, "p", None, ())


def epoch(number: int, *, kind: Any = "consumer", valid: int | None = None) -> facts.GroupEpochRecorded:
    """Return the group epoch."""
    return facts.GroupEpochRecorded("g", kind, number, None, valid)


def target(number: int, kind: Any = "consumer") -> facts.TargetAssignmentRecorded:
    """Return the epoch of the target assignment."""
    return facts.TargetAssignmentRecorded("g", kind, number, None)


def owns(name: str, number: int, state: str | None = "stable") -> facts.MemberAssignmentRecorded:
    """Return the current assignment of a member."""
    return facts.MemberAssignmentRecorded("g", "consumer", name, number, number - 1, state, (), ())


def streams_owns(name: str, number: int) -> facts.StreamsMemberAssignmentRecorded:
    """Return the current assignment of a streams member."""
    return facts.StreamsMemberAssignmentRecorded("g", name, number, number - 1, "stable", (), (), (), (), (), ())


def topology(number: int) -> facts.StreamsTopologyRecorded:
    """Return a streams topology."""
    return facts.StreamsTopologyRecorded("g", number, ())


CONSUMER = [
    ("no members", [epoch(3)], "Empty", 0),
    ("member without a target assignment", [member("a"), epoch(2)], "Assigning", 1),
    ("target assignment without a current one", [member("a"), epoch(2), target(2)], "Reconciling", 1),
    ("member at the target epoch", [member("a"), epoch(2), target(2), owns("a", 2)], "Stable", 1),
    (
        "member with pending revocations",
        [member("a"), epoch(2), target(2), owns("a", 2, "unrevoked")],
        "Reconciling",
        1,
    ),
    ("one member is an epoch behind", [member("a"), epoch(3), target(3), owns("a", 2)], "Reconciling", 1),
    ("3.7 wrote no state of the member", [member("a"), epoch(2), target(2), owns("a", 2, None)], "Stable", 1),
    ("a static member is away", [member("a"), epoch(2), target(2), owns("a", -2)], "Reconciling", 1),
    (
        "last member left: Empty, although the assignment is an epoch behind",
        [
            member("a"),
            epoch(2),
            target(2),
            owns("a", 2),
            facts.MemberAssignmentRemoved("g", "consumer", "a"),
            facts.MemberRemoved("g", "consumer", "a"),
            epoch(3),
        ],
        "Empty",
        0,
    ),
    (
        "target assignment removed",
        [member("a"), epoch(2), target(2), owns("a", 2), facts.TargetAssignmentRemoved("g", "consumer")],
        "Assigning",
        1,
    ),
]
STREAMS = [
    ("no topology yet", [streams_member("a"), epoch(1, kind="streams")], "NotReady"),
    ("4.1 without a validated topology epoch", [streams_member("a"), topology(1), epoch(1, kind="streams")], None),
    (
        "the topology changed and is not validated yet",
        [streams_member("a"), topology(2), epoch(2, kind="streams", valid=1)],
        "NotReady",
    ),
    (
        "validated, assigned and reconciled",
        [
            streams_member("a"),
            topology(1),
            epoch(2, kind="streams", valid=1),
            target(2, "streams"),
            streams_owns("a", 2),
        ],
        "Stable",
    ),
    ("no members: Empty takes precedence over NotReady", [topology(2), epoch(2, kind="streams", valid=1)], "Empty"),
]


@pytest.mark.parametrize(
    ("records", "state", "members"), [row[1:] for row in CONSUMER], ids=[row[0] for row in CONSUMER]
)
def test_the_state_of_a_consumer_group(records: list[object], state: str, members: int) -> None:
    """Each example ends in the state that Kafka's tools print."""
    group = ModernGroup("consumer")
    for event in records:
        group.apply(event)
    assert (group.state, len(group.members)) == (state, members)


@pytest.mark.parametrize(("records", "state"), [row[1:] for row in STREAMS], ids=[row[0] for row in STREAMS])
def test_the_state_of_a_streams_group(records: list[object], state: str | None) -> None:
    """A group without a valid topology is NotReady. A state that the log does not show is unknown."""
    group = ModernGroup("streams")
    for event in records:
        group.apply(event)
    assert group.state == state


def test_the_state_of_a_share_group() -> None:
    """Share groups are either Empty or Stable."""
    group = ModernGroup("share")
    group.apply(epoch(5, kind="share"))
    assert group.state == "Empty"
    group.apply(facts.ShareMemberRecorded("g", "a", None, "c", "/h", ("t",)))
    assert group.state == "Stable"
