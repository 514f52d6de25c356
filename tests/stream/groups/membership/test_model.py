"""The search for the groups of a client or host."""

from __future__ import annotations

import pytest

from stream.groups.membership.model import MemberClient, Membership, find_groups

BILLING = (MemberClient("m1", "app", "/10.0.0.1"), MemberClient("m2", "web", "/10.0.0.2"))
MEMBERSHIPS = {
    "billing": Membership("consumer", "Stable", 2, clients=BILLING),
    "mail": Membership("classic", "Stable", 1, clients=(MemberClient("m3", "app", "10.0.0.2"),)),
    "empty": Membership("classic", "Empty", 0),
}


@pytest.mark.parametrize(
    ("client", "host", "groups"),
    [
        pytest.param("app", None, {"billing", "mail"}, id="client"),
        pytest.param("ap", None, set(), id="part of a client id"),
        pytest.param(None, "10.0.0.2", {"billing", "mail"}, id="host"),
        pytest.param(None, "/10.0.0.2", {"billing", "mail"}, id="host with the slash of Java"),
        pytest.param("app", "10.0.0.2", {"mail"}, id="client and host of different members do not match"),
        pytest.param(None, None, {"billing", "mail"}, id="any member"),
    ],
)
def test_groups_with_a_member(client: str | None, host: str | None, groups: set[str]) -> None:
    """One member has the client id and is on the host; a group without members is never found."""
    assert find_groups(MEMBERSHIPS, client, host) == groups
