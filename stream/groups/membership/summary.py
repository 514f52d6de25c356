"""The outline of a group as its membership records show it: what its life is drawn from, and no more.

`membership.memberships` tells all of a group, when a reader asks. A life looks at a group after every operation that
the log has of it, so this reads each record once, and nothing of the blobs inside. The kind and the state come out as
they do there: that is a tested law.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from decoders import scalar
from decoders.errors import DecodeError
from decoders.interpret import events
from decoders.javatext import java_text
from decoders.tables import BY_NUMBER
from stream.groups.lifecycle.record import digest
from stream.groups.membership.model import CLASSIC, SIMPLE, identity
from stream.groups.membership.modern_group import ModernGroup, instance_id_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from decoders.group_events import GroupKind
    from decoders.records import Fields
    from stream.groups.shard import MembershipRecords

_GROUP_METADATA: Final = 2
# What is looked at of a classic group.
_SHOWN: Final = frozenset(
    ("protocol_type", "generation", "current_state_timestamp", "members", "member_id", "group_instance_id")
)
# Record types that make a group of each newer kind (a type 4 alone is a mere memory of topics), and of those the ones
# that say something of its state.
_ALIVE: Final[dict[GroupKind, frozenset[int]]] = {
    "consumer": frozenset((3, 5, 6, 7, 8, 16)),
    "share": frozenset((10, 11, 12, 13, 14, 15)),
    "streams": frozenset((17, 19, 20, 21, 22, 23)),
}
_STATE: Final = frozenset((3, 5, 6, 8, 10, 11, 12, 14, 17, 19, 20, 22, 23))


class MembershipSummary(NamedTuple):
    """A group at one moment. A named tuple, for one is made of every record of a classic group."""

    kind: str
    state: str | None
    members: int
    # Digests of the members' identities.
    names: frozenset[str]
    # What a rebalance raises: the generation of a classic group, the assignment epoch of the newer kinds.
    number: int | None
    state_time: int | None = None
    protocol_type: str | None = None


class MembershipSummaries:
    """The outlines of some groups, moved on by their records."""

    def __init__(self) -> None:
        self._classic: dict[str, MembershipSummary] = {}
        # Per group its living records, each with what it says.
        self._newer: dict[str, dict[bytes, Any]] = {}

    def apply(self, records: MembershipRecords) -> None:
        """Take records in, the newest per key or all of them in log order."""
        keys = records.keys.to_pylist()
        for group, key, value in zip(groups_of(keys), keys, records.values.to_pylist(), strict=True):
            self.note(group, key, value)

    def note(self, group: str, key: bytes, value: bytes | None) -> None:
        """Take one record of a group in."""
        if value is None:
            self._forget(group, key)
        elif record_type_of(key) == _GROUP_METADATA:
            read = scalar.read_value(BY_NUMBER[_GROUP_METADATA], value, _SHOWN)
            if read is not None:
                self._classic[group] = _classic(read)
        else:
            self._newer.setdefault(group, {})[key] = _said(key, value)

    def get(self, group: str) -> MembershipSummary | None:
        """Give a group's outline; None where it has no membership record.

        A group that is between two kinds for a moment is of the newer one, which Kafka writes first and deletes last.
        """
        living = self._newer.get(group)
        if living:
            numbers = set(map(record_type_of, living))
            for kind, alive in _ALIVE.items():
                if not alive.isdisjoint(numbers):
                    return _newer(kind, [said for key, said in living.items() if record_type_of(key) in alive])
        return self._classic.get(group)

    def groups(self) -> Collection[str]:
        """Name the groups that have membership records."""
        return self._classic.keys() | self._newer.keys()

    def _forget(self, group: str, key: bytes) -> None:
        if record_type_of(key) == _GROUP_METADATA:
            self._classic.pop(group, None)
        elif (living := self._newer.get(group)) is not None:
            living.pop(key, None)
            if not living:
                del self._newer[group]


def record_type_of(key: bytes) -> int:
    """Give the record type of a key."""
    return key[1] if not key[0] else int.from_bytes(key[:2], "big", signed=True)


def group_of(key: bytes) -> str:
    """Name the group of a membership key: all of them begin with their type and their group."""
    return java_text(key[4 : 4 + int.from_bytes(key[2:4], "big")])


def groups_of(keys: Sequence[bytes]) -> list[str]:
    """Name the group of each membership key; a key that comes again is looked at once."""
    names = {key: group_of(key) for key in set(keys)}
    return [names[key] for key in keys]


def _said(key: bytes, value: bytes) -> Any:
    """Give what a record of a newer kind says of the state; None if that is nothing."""
    if record_type_of(key) not in _STATE:
        return None
    read = scalar.decode(key, value)
    return None if isinstance(read, DecodeError) else events(read)[0]


def _classic(value: Fields) -> MembershipSummary:
    members = value["members"]
    state_time = value["current_state_timestamp"]
    return MembershipSummary(
        kind=CLASSIC if value["protocol_type"] or members else SIMPLE,
        state="Stable" if members else "Empty",
        members=len(members),
        names=frozenset([digest(identity(each["member_id"], each["group_instance_id"])) for each in members]),
        number=value["generation"],
        state_time=None if state_time == -1 else state_time,
        protocol_type=value["protocol_type"] or None,
    )


def _newer(kind: GroupKind, said: list[Any]) -> MembershipSummary:
    roster = ModernGroup(kind)
    for each in said:
        roster.apply(each)
    return MembershipSummary(
        kind=kind,
        state=roster.state,
        members=len(roster.members),
        names=frozenset(digest(identity(each.member_id, instance_id_of(each))) for each in roster.members.values()),
        number=roster.assignment_epoch,
    )
