"""Remembers the hosts of recent members of groups: when a host fails, its members are removed. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.groups.membership.model import Membership

_KEPT_MS: Final = 900_000
"""Time for which the host of a member is remembered after the member has left."""


class RecentHosts:
    """The hosts of groups, tick after tick. Memberships that have not changed cost nothing."""

    def __init__(self) -> None:
        self._memberships: dict[str, Membership] = {}
        # By group: the hosts of its members, and those that it had, each with when it was last seen (ms).
        self._current: dict[str, frozenset[str]] = {}
        self._earlier: dict[str, dict[str, int]] = {}

    def update(self, memberships: Mapping[str, Membership], now: int) -> None:
        """Record the memberships of all groups at `now` (ms)."""
        for group, membership in memberships.items():
            if self._memberships.get(group) is membership:
                continue
            self._memberships[group] = membership
            hosts = frozenset(client.client_host.removeprefix("/") for client in membership.clients)
            for host in self._current.get(group, frozenset()) - hosts:
                self._earlier.setdefault(group, {})[host] = now
            self._current[group] = hosts
        for group in self._memberships.keys() - memberships.keys():
            del self._memberships[group], self._current[group]
            self._earlier.pop(group, None)
        self._earlier = {
            group: kept
            for group, hosts in self._earlier.items()
            if (kept := {host: seen for host, seen in hosts.items() if now - seen <= _KEPT_MS})
        }

    def of(self, group: str) -> frozenset[str]:
        """Return the hosts of a group's members, including those that left recently."""
        return self._current.get(group, frozenset()) | self._earlier.get(group, {}).keys()
