"""The search for the groups of a client or host."""

from stream.groups.membership.model import MemberClient, Membership, find_groups

BILLING = (MemberClient("m1", "app", "/10.0.0.1"), MemberClient("m2", "web", "/10.0.0.2"))
MEMBERSHIPS = {
    "billing": Membership("consumer", "Stable", 2, clients=BILLING),
    "mail": Membership("classic", "Stable", 1, clients=(MemberClient("m3", "app", "10.0.0.2"),)),
    "empty": Membership("classic", "Empty", 0),
}


FOUND = {
    ("app", None): {"billing", "mail"},
    ("ap", None): set(),
    (None, "10.0.0.2"): {"billing", "mail"},
    (None, "/10.0.0.2"): {"billing", "mail"},
    # The client and the host of different members do not match.
    ("app", "10.0.0.2"): {"mail"},
    (None, None): {"billing", "mail"},
}


def test_groups_with_a_member() -> None:
    """One member has the client id and is on the host; a group without members is never found."""
    assert {(client, host): find_groups(MEMBERSHIPS, client, host) for client, host in FOUND} == FOUND
