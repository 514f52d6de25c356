"""The members that joined each group with its last change of members, by comparing the memberships of two ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream.groups.membership.model import identity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream.groups.membership.model import MemberClient, Membership


class JoinedMembers:
    """Remembers the members of each group and who of them joined last. Used by the tick thread only.

    At the first tick with a group no member is known to have joined it. Of several rebalances between two ticks the
    members that joined with any of them are returned: compare their number with `GroupInputs.joined`.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[Membership, tuple[MemberClient, ...]]] = {}

    def update(
        self, groups: Sequence[str], memberships: Mapping[str, Membership]
    ) -> dict[int, tuple[MemberClient, ...]]:
        """Return the members that joined last, by the position of their group in `groups`; none: no entry."""
        previous, self._last = self._last, {}
        joined = {}
        for number, name in enumerate(groups):
            membership = memberships.get(name)
            if membership is None:
                continue
            last = previous.get(name)
            if last is None or last[0] is not membership:
                last = membership, _joined(last, membership)
            self._last[name] = last
            if last[1]:
                joined[number] = last[1]
        return joined


def _joined(
    last: tuple[Membership, tuple[MemberClient, ...]] | None, membership: Membership
) -> tuple[MemberClient, ...]:
    """Return who has joined since the last membership; the same as before while the group is the same."""
    if last is None:
        return ()
    before, joined = last
    if before.member_names == membership.member_names and before.generation == membership.generation:
        return joined
    return tuple(
        client
        for client in membership.clients
        if identity(client.member_id, client.instance_id) not in before.member_names
    )
