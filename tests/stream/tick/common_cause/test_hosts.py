"""Tests of the recent hosts of the members of groups."""

from __future__ import annotations

from stream.groups.membership.model import MemberClient, Membership
from stream.tick.common_cause.hosts import RecentHosts

MINUTE = 60_000


def membership(*hosts: str) -> Membership:
    """Return the membership of a group with a member on each host."""
    clients = tuple(MemberClient(f"m-{host}", "c", f"/{host}") for host in hosts)
    return Membership("classic", "Stable" if hosts else "Empty", len(hosts), clients=clients)


def test_a_host_is_remembered_after_its_members_left() -> None:
    """A failed host leaves its groups empty; the host is kept for a quarter of an hour."""
    recent = RecentHosts()
    recent.update({"g": membership("a", "b")}, 0)
    recent.update({"g": membership("b")}, MINUTE)
    assert recent.of("g") == {"a", "b"}
    recent.update({"g": membership("b")}, 10 * MINUTE)
    assert recent.of("g") == {"a", "b"}
    recent.update({"g": membership("b")}, 17 * MINUTE)
    assert recent.of("g") == {"b"}


def test_a_group_that_is_gone_has_no_hosts() -> None:
    """A removed group and a group that was never known have no hosts."""
    recent = RecentHosts()
    recent.update({"g": membership("a")}, 0)
    recent.update({"other": membership("b")}, 1)
    assert (recent.of("g"), recent.of("other"), recent.of("none")) == (frozenset(), {"b"}, frozenset())
