"""The membership of a group of any kind, as a value."""

import dataclasses
import sys
import weakref
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from decoders.errors import MalformedBytes
from decoders.scalar import read_message
from decoders.tables import embedded
from stream.groups.short_cache import cache_short

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

    @property
    def member_names(self) -> frozenset[str]:
        """The members' identities (`identity`), so that memberships of different times can be compared."""
        return frozenset(identity(each.member_id, each.instance_id) for each in self.clients)


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


@cache_short(entries=1024, longest=4)
def _kept_once(owned: Owned) -> Owned:
    """Return an equal value: the members of many groups own the same partitions of the same topics."""
    return owned


HIGHEST: Final = 65_535
"""The highest partition in a mask. Assignments are written by clients and may contain any number."""


@cache_short(entries=4096, longest=64)
def partition_mask(partitions: tuple[int, ...]) -> int:
    """Return the mask of these partitions; those below 0 or above `HIGHEST` are ignored."""
    possible = [partition for partition in partitions if 0 <= partition <= HIGHEST]
    mask = bytearray(max(possible, default=0) // 8 + 1)  # an integer would be copied for each partition
    for partition in possible:
        mask[partition // 8] |= 1 << partition % 8
    return int.from_bytes(mask, "little")


def mask_of_first(count: int) -> int:
    """Return the mask of all partitions of a topic with this partition count."""
    return (1 << min(count, HIGHEST + 1)) - 1


def partitions_in_mask(mask: int) -> tuple[int, ...]:
    """Return the partitions in a mask, ascending."""
    return tuple(at for at, bit in enumerate(reversed(f"{mask:b}")) if bit == "1")


def merge_owned(rows: Iterable[tuple[str | bytes, tuple[int, ...]]]) -> Owned:
    """Return the union of the rows by topic, sorted; topics must be all names or all ids."""
    owned: dict[Any, int] = {}
    for topic, partitions in rows:
        name = sys.intern(topic) if type(topic) is str else topic
        owned[name] = owned.get(name, 0) | partition_mask(partitions)
    return _kept_once(tuple(sorted(owned.items())))


def union_of_shares(shares: Iterable[Owned]) -> Owned:
    """Return what several members own together, sorted by topic; topics must be all names or all ids."""
    owned: dict[Any, int] = {}
    for share in shares:
        for topic, mask in share:
            owned[topic] = owned.get(topic, 0) | mask
    return _kept_once(tuple(sorted(owned.items())))


MOST_BYTES: Final = 128 << 20
"""Limit of the memory for long subscriptions; decoded they need about five times the bytes of their records."""
_LONG: Final = 1_000
"""Topics from which on a subscription is long."""
_VERSION_BYTES: Final = 2
_COMMON: Final = 0
"""Every version of a subscription, including future ones, begins with the fields of version 0."""
_sets: weakref.WeakValueDictionary[int, frozenset[str]] = weakref.WeakValueDictionary()
"""The sets in use, by their hash."""


@cache_short(entries=4096, longest=1024)
def topics_of_blob(raw: bytes) -> frozenset[str] | None:
    """Return the topics in a classic member's subscription; None for zero bytes and for bytes that cannot be decoded.

    As the broker does to find offsets that must not expire (ClassicGroup#computeSubscribedTopics), it decodes the
    fields of version 0 in every version. One member that cannot be decoded makes the topics of the group unknown.
    """
    try:
        fields, _ = read_message(embedded.CONSUMER_SUBSCRIPTION, _COMMON, raw, _VERSION_BYTES)
    except MalformedBytes:
        return None
    return topic_set(fields["topics"])


def topic_set(topics: Iterable[str]) -> frozenset[str]:
    """Return the set of these topics; it is the same object as an equal set that is in use."""
    topics = frozenset(topics)
    known = _sets.get(hash(topics))
    if known is not None and known == topics:
        return known
    _sets[hash(topics)] = topics
    return topics


def union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return the union of the members' sets; it is the same object if all sets are equal, which is the usual case."""
    distinct = set(sets)
    if len(distinct) == 1:
        return distinct.pop()
    return topic_set(frozenset[str]().union(*distinct))


class LongSubscriptions:
    """Bounds the memory of the long subscriptions of all groups; a set that several groups share counts once."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        """Keep sets of up to `most` bytes in total."""
        self._most = most
        self._sets: dict[str, dict[int, frozenset[str]]] = {}
        self._users: Counter[int] = Counter()
        self._size: dict[int, int] = {}
        self.left_out: set[str] = set()
        """The groups whose subscriptions are not kept."""

    def bounded(self, group: str, membership: Membership | None) -> Membership | None:
        """Return the present membership of a group, with an unknown subscription if that would exceed the limit.

        The group stays as it is otherwise. The next record of the group decides again.
        """
        self._release(group)
        sets = {} if membership is None else _long_sets(membership)
        if membership is None or not sets:
            return membership
        size = {number: self._size.get(number) or _size(each) for number, each in sets.items()}
        if sum((self._size | size).values()) > self._most:
            self.left_out.add(group)
            clients = tuple(dataclasses.replace(each, subscribed=None) for each in membership.clients)
            return dataclasses.replace(membership, subscribed=None, clients=clients, unresolved=1)
        self._sets[group] = sets
        self._users.update(list(sets))
        self._size |= size
        return membership

    def _release(self, group: str) -> None:
        self.left_out.discard(group)
        for number in self._sets.pop(group, ()):
            self._users[number] -= 1
            if not self._users[number]:
                del self._users[number], self._size[number]


def _long_sets(membership: Membership) -> dict[int, frozenset[str]]:
    sets = (membership.subscribed, *(client.subscribed for client in membership.clients))
    return {id(each): each for each in sets if each is not None and len(each) >= _LONG}


def _size(topics: frozenset[str]) -> int:
    return sys.getsizeof(topics) + sum(map(sys.getsizeof, topics))
