"""What the membership records (types 2 and up) of a shard say of its groups: kind, state, members.

The living records are kept as bytes, the newest per key, and what they say is worked out when it is asked for: each
answer is a function of these records alone, so it is the same whether the log was read from its beginning, after
compaction, or twice. A group that only has offsets is not told here at all: that is what makes it simple.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from decoders import scalar
from decoders.columnar import decode_keys
from decoders.errors import DecodeError
from decoders.events import ClassicGroupRecorded
from decoders.group_events import PartitionMetadataRecorded, ShareTopicsRecorded
from decoders.interpret import events
from stream.groups.membership import classic, members
from stream.groups.membership.members import Member
from stream.groups.membership.model import CLASSIC, SIMPLE, Membership
from stream.groups.membership.modern_group import ModernGroup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    import pyarrow as pa

    from decoders.group_events import GroupKind
    from stream.groups.shard import MembershipRecords

__all__ = ["CLASSIC", "SIMPLE", "Member", "Membership", "Memberships"]

_GROUP_METADATA: Final = 2
_PARTITION_METADATA: Final = 4
_SHARE_TOPICS: Final = 15
# Kafka's record types of each newer kind of group. Should a group be between two of them for a moment, the first is it.
_TYPES: Final[dict[GroupKind, frozenset[int]]] = {
    "consumer": frozenset((3, 4, 5, 6, 7, 8, 16)),
    "share": frozenset((10, 11, 12, 13, 14, 15)),
    "streams": frozenset((17, 19, 20, 21, 22, 23)),
}
_KIND_OF: Final = {number: kind for kind, numbers in _TYPES.items() for number in numbers}
_TARGETS: Final = frozenset((7, 13, 21))
_NAMES: Final = frozenset((_PARTITION_METADATA, _SHARE_TOPICS))
_STATE: Final = frozenset(_KIND_OF) - _TARGETS - _NAMES
_ANY_GROUP: Final = b"\x00\x02\x00\x00"
"""A classic group's key with an empty name: the value says all but the name, which is known."""
_FEW: Final = 32
"""Up to so many keys are read faster one by one than as a column."""
_ROSTERS_KEPT: Final = 16
"""Rosters that are kept to go on with: those of groups whose records come one by one, as in a rebalance."""


class Memberships:
    """The memberships of the groups of one shard. Not thread-safe: the holder guards it."""

    def __init__(self) -> None:
        self._classic: dict[str, bytes] = {}
        self._newer: dict[GroupKind, dict[str, dict[bytes, bytes]]] = {kind: {} for kind in _TYPES}
        self._rosters: dict[str, ModernGroup] = {}
        self._told: dict[str, Membership] = {}
        self._stale: set[str] = set()
        self.faults: dict[str, Exception] = {}
        """Groups whose records could not be evaluated because of a fault of the program; `of` lacks them."""

    @property
    def by_group(self) -> Mapping[str, Membership]:
        """What is known of each group; the value of a group that no record touched stays the same object."""
        for group in self._stale:
            told = self._tell_or_fail(group)
            if told is None:
                self._told.pop(group, None)
            else:
                self._told[group] = told
        self._stale.clear()
        return self._told

    def apply(self, records: MembershipRecords) -> AbstractSet[str]:
        """Take records in, the newest per key or all of them in log order; give the groups that they are about."""
        keys = records.keys.to_pylist()
        touched = set()
        for group, key, value in zip(_groups_of(records.keys, keys), keys, records.values.to_pylist(), strict=True):
            if group is not None:  # the fold let only sound keys through
                touched.add(group)
                self._note(group, key, value)
        self._stale |= touched
        return touched

    def members(self, group: str, topic_names: Mapping[bytes, str] | None = None) -> tuple[Member, ...]:
        """Give the members of a group, by member id; none for a group that is not known.

        Records of the newer kinds know topics by id: `topic_names` joins the names that the cluster knows to those
        that the group's own records tell; an id without a name is shown as Kafka prints ids.
        """
        kind = self._kind(group)
        if kind is not None:
            roster = self._roster(kind, group, _STATE | _TARGETS)
            return members.of_roster(roster, {**self.topic_ids(group), **(topic_names or {})})
        event = self._event(group)
        return () if event is None else members.of_classic(event)

    def living(self, group: str) -> dict[bytes, bytes]:
        """Return a copy of the living records of a group by key: those from which its membership is told."""
        living = {} if group not in self._classic else {_classic_key(group): self._classic[group]}
        for of_kind in self._newer.values():
            living.update(of_kind.get(group, {}))
        return living

    def topic_ids(self, group: str | None = None) -> dict[bytes, str]:
        """Give the names of topic ids that the records of a group tell, or of all groups.

        Share groups tell them (type 15), and consumer groups up to Kafka 4.0 (type 4). Other records have ids only.
        """
        found: dict[bytes, str] = {}
        for of_kind in self._newer.values():
            for each in list(of_kind) if group is None else (group,):
                for event in _events(of_kind.get(each, {}), _NAMES):
                    found.update(_named(event))
        return found

    def _note(self, group: str, key: bytes, value: bytes | None) -> None:
        number = _number(key)
        if number == _GROUP_METADATA:
            if value is None:
                self._classic.pop(group, None)
            else:
                self._classic[group] = value
            return
        kind = _KIND_OF[number]
        of_kind = self._newer[kind]
        if value is not None:
            of_kind.setdefault(group, {})[key] = value
        elif (living := of_kind.get(group)) is not None:
            living.pop(key, None)
            if not living:
                del of_kind[group]
        roster = self._rosters.get(group)
        if roster is not None and roster.kind == kind and number in _STATE:
            try:
                for event in _read(key, value):
                    roster.apply(event)
            except Exception:  # noqa: BLE001 - made again from the records when the group is asked for, which tells it
                del self._rosters[group]

    def _tell_or_fail(self, group: str) -> Membership | None:
        self.faults.pop(group, None)
        try:
            return self._tell(group)
        except Exception as error:  # noqa: BLE001 - one group must not end the evaluation of all others
            self.faults[group] = error
            self._rosters.pop(group, None)
            return None

    def _tell(self, group: str) -> Membership | None:
        kind = self._kind(group)
        if kind is not None:
            return self._kept_roster(kind, group).membership
        event = self._event(group)
        return None if event is None else classic.membership(event)

    def _kind(self, group: str) -> GroupKind | None:
        """Tell which newer kind a group is of; a classic group on its way there, or on its way back, is still newer."""
        for kind, of_kind in self._newer.items():
            living = of_kind.get(group)
            # A type 4 left behind makes no group: up to 4.0 it was a mere memory of topics.
            if living and not (len(living) == 1 and _number(next(iter(living))) == _PARTITION_METADATA):
                return kind
        return None

    def _kept_roster(self, kind: GroupKind, group: str) -> ModernGroup:
        roster = self._rosters.pop(group, None)
        if roster is None or roster.kind != kind:
            roster = self._roster(kind, group, _STATE)
        if len(self._rosters) >= _ROSTERS_KEPT:
            self._rosters.pop(next(iter(self._rosters)))
        self._rosters[group] = roster  # the newest stand last
        return roster

    def _roster(self, kind: GroupKind, group: str, numbers: frozenset[int]) -> ModernGroup:
        roster = ModernGroup(kind)
        for event in _events(self._newer[kind].get(group, {}), numbers):
            roster.apply(event)
        return roster

    def _event(self, group: str) -> ClassicGroupRecorded | None:
        value = self._classic.get(group)
        for event in () if value is None else _read(_ANY_GROUP, value):
            if isinstance(event, ClassicGroupRecorded):
                return event
        return None


def _classic_key(group: str) -> bytes:
    name = group.encode("utf-8", "surrogatepass")
    return _GROUP_METADATA.to_bytes(2, "big") + len(name).to_bytes(2, "big") + name


def _number(key: bytes) -> int:
    return int.from_bytes(key[:2], "big", signed=True)


def _groups_of(column: pa.BinaryArray, keys: list[bytes]) -> list[str | None]:
    """Name the group of each key; None where the key cannot be read."""
    if len(keys) <= _FEW:
        return [_group_of(key) for key in keys]
    read = decode_keys(column)
    named = zip(read.group.to_pylist(), read.declined.tolist(), keys, strict=True)
    return [_group_of(key) if declined else group for group, declined, key in named]


def _group_of(key: bytes) -> str | None:
    record = scalar.decode(key, None)
    if isinstance(record, DecodeError):
        return None
    group: str = record.key["group" if "group" in record.key else "group_id"]
    return group


def _events(living: Mapping[bytes, bytes], numbers: frozenset[int]) -> Iterator[Any]:
    """Read the living records of these types."""
    for key, value in list(living.items()):
        if _number(key) in numbers:
            yield from _read(key, value)


def _read(key: bytes, value: bytes | None) -> tuple[Any, ...]:
    record = scalar.decode(key, value)
    return () if isinstance(record, DecodeError) else events(record)  # the fold let only sound ones through


def _named(event: object) -> Iterator[tuple[bytes, str]]:
    if isinstance(event, PartitionMetadataRecorded):
        yield from ((topic_id, name) for topic_id, name, _ in event.topics)
    elif isinstance(event, ShareTopicsRecorded):
        yield from ((topic_id, name) for topic_id, name, _ in (*event.initializing, *event.initialized))
        yield from event.deleting
