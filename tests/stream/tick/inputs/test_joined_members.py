"""Tests of the members that joined a group last, from tick to tick."""

from __future__ import annotations

import dataclasses

from stream.groups.membership.model import MemberClient, Membership, identity
from stream.tick.inputs.joined_members import JoinedMembers

A, B, C = (MemberClient(name, f"client-{name}", "/10.0.0.7") for name in "abc")


def group(*clients: MemberClient, generation: int = 1) -> Membership:
    """Return a group with these members."""
    names = frozenset(identity(each.member_id, each.instance_id) for each in clients)
    return Membership(
        "classic", "Stable", len(clients), generation=generation, member_names=names, clients=tuple(clients)
    )


def test_members_that_were_not_there_at_the_last_tick_have_joined() -> None:
    """New members are listed until the next rebalance, by the number of their group in the list of the current tick."""
    joined = JoinedMembers()
    assert joined.update(["g"], {"g": group(A)}) == {}
    second = group(A, B, C, generation=2)
    assert joined.update(["f", "g"], {"g": second}) == {1: (B, C)}
    assert joined.update(["g"], {"g": second}) == {0: (B, C)}
    assert joined.update(["g"], {"g": dataclasses.replace(second, state="CompletingRebalance")}) == {0: (B, C)}
    assert joined.update(["g"], {"g": group(A, generation=3)}) == {}


def test_no_member_has_joined_at_the_first_tick_with_a_group() -> None:
    """The members of a new group may be old; a group that was removed and returns is a new group."""
    joined = JoinedMembers()
    assert joined.update(["g"], {"g": group(A, B)}) == {}
    assert joined.update(["g"], {}) == {}
    assert joined.update(["g"], {"g": group(C)}) == {}


def test_a_static_member_that_rejoins_has_not_joined() -> None:
    """The member id of a static member that rejoins is new, its instance id is not."""
    joined = JoinedMembers()
    old = dataclasses.replace(A, instance_id="i-1")
    joined.update(["g"], {"g": group(old)})
    assert joined.update(["g"], {"g": group(dataclasses.replace(old, member_id="a-2"), B, generation=2)}) == {0: (B,)}
