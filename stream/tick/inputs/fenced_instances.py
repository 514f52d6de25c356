"""Static members whose instance id two clients use: each of them fences the other, again and again (KIP-345).

The coordinator gives the partitions of an instance id to the client that joined last, under a new member id and without
a rebalance. A single client that restarts often also gets new member ids, but does not change its place. So two clients
are known if an instance returns to an earlier client after another one had it.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Final, NamedTuple

from stream.health.inputs import FencedInstance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream.groups.membership.model import Membership

_LEAST_CHANGES: Final = 3
_KEPT_MS: Final = 300_000
_KEPT: Final = 32


class _Seen(NamedTuple):
    time: int
    member_id: str
    place: tuple[str, str]
    """Client id and host."""


class FencedInstances:
    """Remembers the member ids of each instance. Used by the tick thread only."""

    def __init__(self) -> None:
        self._memberships: dict[str, Membership] = {}
        self._seen: dict[tuple[str, str], collections.deque[_Seen]] = {}

    def update(
        self, groups: Sequence[str], memberships: Mapping[str, Membership], now: int
    ) -> dict[int, FencedInstance]:
        """Return the instance of each group that changed most often lately, by the position of the group in `groups`.

        `now` is in ms. Groups without such an instance have no entry.
        """
        previous, self._memberships = self._memberships, {}
        found = {}
        for number, name in enumerate(groups):
            membership = memberships.get(name)
            if membership is None or not any(client.instance_id for client in membership.clients):
                continue
            self._memberships[name] = membership
            if previous.get(name) is not membership:
                self._record(name, membership, now)
            fenced = [
                self._fenced(name, client.instance_id, now) for client in membership.clients if client.instance_id
            ]
            changes = [each for each in fenced if each is not None]
            if changes:
                found[number] = max(changes, key=lambda each: each.changes)
        self._seen = {key: seen for key, seen in self._seen.items() if key[0] in self._memberships}
        return found

    def _record(self, group: str, membership: Membership, now: int) -> None:
        for client in membership.clients:
            if client.instance_id:
                seen = self._seen.setdefault((group, client.instance_id), collections.deque(maxlen=_KEPT))
                if not seen or seen[-1].member_id != client.member_id:
                    seen.append(_Seen(now, client.member_id, (client.client_id, client.client_host)))

    def _fenced(self, group: str, instance: str, now: int) -> FencedInstance | None:
        seen = self._seen[group, instance]
        recent = [each for each in list(seen)[1:] if now - each.time <= _KEPT_MS]
        places = [each.place for each in list(seen)[-len(recent) - 1 :]]
        returns = any(
            places[at] != places[at + 1] and places[at] in places[at + 2 :] for at in range(max(len(places) - 1, 0))
        )
        if len(recent) < _LEAST_CHANGES or not returns:
            return None
        return FencedInstance(instance, len(recent), recent[0].time)
