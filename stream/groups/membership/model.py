"""The membership of a group of any kind, as a value."""

import dataclasses
from collections.abc import Mapping
from typing import Final

CLASSIC: Final = "classic"
SIMPLE: Final = "simple"

Owned = tuple[tuple[str | bytes, int], ...]
"""Topics (names, or ids as in the records of newer kinds) with the owned partitions as a bit mask."""


@dataclasses.dataclass(frozen=True, slots=True)
class MemberClient:
    """A member of a group as findings about the group name it. None: not in the records."""

    member_id: str
    client_id: str
    client_host: str
    instance_id: str | None = None
    # Time (ms) without a heartbeat after which the coordinator removes the member.
    session_timeout: int | None = None
    # The topics that it subscribes to; None also for members that have a topology instead.
    subscribed: frozenset[str] | None = None
    # The partitions that it owns, including those to be revoked; None also for what is not partitions of topics.
    owned: Owned | None = dataclasses.field(default=None, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Membership:
    """A group according to its membership records. None: not in the records."""

    kind: str
    state: str | None
    members: int
    protocol_type: str | None = None
    protocol: str | None = None
    generation: int | None = None
    # When the broker last saw the state change, in ms, if the record has it (`currentStateTimestamp`).
    state_time: int | None = None
    # The members' identities (`identity`), so that memberships of different times can be compared.
    member_names: frozenset[str] = frozenset()
    # Topics that at least one member subscribes to; None: unknown.
    subscribed: frozenset[str] | None = None
    group_epoch: int | None = None
    assignment_epoch: int | None = None
    # The number of members without assignment, and of static members that have left temporarily.
    idle: int | None = None
    away: int | None = None
    # The number of regular expressions whose topics are not in the log (yet): `subscribed` lacks these topics. Or 1 if
    # the subscription is too long to be kept (`LongSubscriptions`).
    unresolved: int = 0
    # The partitions that the members own, including those to be revoked; None: unknown, or not partitions of topics.
    owned: Owned | None = dataclasses.field(default=None, repr=False)
    # The members, in no particular order.
    clients: tuple[MemberClient, ...] = dataclasses.field(default=(), repr=False)


def identity(member_id: str, instance_id: str | None) -> str:
    """Return the member id, or `static:<instance id>`, which a static member keeps when it rejoins."""
    return member_id if instance_id is None else f"static:{instance_id}"


def find_groups(memberships: Mapping[str, Membership], client: str | None, host: str | None) -> frozenset[str]:
    """Return the groups that have a member of this client id and on this host; None: any.

    Hosts are compared without the slash that Java puts before an address.
    """
    address = None if host is None else host.removeprefix("/")
    return frozenset(
        group
        for group, membership in memberships.items()
        if any(
            (client is None or each.client_id == client)
            and (address is None or each.client_host.removeprefix("/") == address)
            for each in membership.clients
        )
    )
