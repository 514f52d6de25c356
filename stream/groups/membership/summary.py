"""Membership summaries: the part of a membership that group histories need.

`membership.memberships` evaluates all of a group when a reader asks for it. A history evaluates the group after every
operation in the log, so this module decodes each record once, and nothing of the blobs inside. A property test holds
kind and state equal to those of `membership.memberships`.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, NamedTuple, TypeAlias, get_args

from decoders import scalar
from decoders.errors import DecodeError
from decoders.group_events import GroupKind, MemberRecorded
from decoders.interpret import event_of
from decoders.javatext import java_text
from decoders.schema import Fields, RecordContent
from decoders.tables import BY_NUMBER, types_with
from stream.groups.lifecycle.record import digest
from stream.groups.membership.model import CLASSIC, SIMPLE, identity
from stream.groups.membership.modern_group import ModernGroup
from stream.groups.shard import MembershipRecords

NEWER_KINDS: Final[tuple[GroupKind, ...]] = get_args(GroupKind)
"""Consumer, share and streams. A group with records of two newer kinds for a moment is of the first of them."""

(_CLASSIC_GROUP,) = types_with(RecordContent.CLASSIC_GROUP)
CLASSIC_GROUP_TYPE: Final = _CLASSIC_GROUP
"""The only record type of classic groups."""

KIND_OF_TYPE: Final[Mapping[int, GroupKind]] = {
    number: kind for kind in NEWER_KINDS for number in types_with(group_kind=kind)
}

SUBSCRIBED_TOPICS_TYPES: Final = types_with(RecordContent.SUBSCRIBED_TOPICS)
"""Types that make no group if a group has no other records."""
TOPIC_NAME_TYPES: Final = types_with(RecordContent.SUBSCRIBED_TOPICS, RecordContent.SHARE_TOPICS)
"""Types with the names of topic ids."""
TARGET_TYPES: Final = types_with(RecordContent.TARGET_ASSIGNMENT)
TARGET_EPOCH_TYPES: Final = types_with(RecordContent.TARGET_EPOCH)
"""Types that are written whenever a group gets a target assignment."""
MEMBERSHIP_TYPES: Final = frozenset(KIND_OF_TYPE) - TARGET_TYPES - TOPIC_NAME_TYPES
"""Types from which the membership of a newer group is read."""
STATE_TYPES: Final = MEMBERSHIP_TYPES - types_with(RecordContent.RESOLVED_REGEX)
"""Types from which the state of a newer group is read."""


def record_type_of(key: bytes) -> int:
    """Return the record type of a key: its first int16."""
    return key[1] if not key[0] else int.from_bytes(key[:2], "big", signed=True)


_Change = tuple[AbstractSet[str], AbstractSet[str]]
_Records: TypeAlias = "_ClassicRecord | _NewerRecords"

_CLASSIC_FIELDS: Final = frozenset(
    ("protocol_type", "generation", "current_state_timestamp", "members", "member_id", "group_instance_id")
)
"""The fields that are decoded of a classic group."""
_KIND_OF_TYPE: Final = {number: kind for number, kind in KIND_OF_TYPE.items() if number not in SUBSCRIBED_TOPICS_TYPES}
"""The newer kind of a group that has a record of this type."""
_LONG: Final = 1024
"""Bytes of a record of which the rows are dropped; for most, dropping them costs more than they do."""
_NO_NAMES: Final = frozenset[str]()
_NO_CHANGE: Final = (_NO_NAMES, _NO_NAMES)


class MembershipSummary(NamedTuple):
    """The summary of a group. A named tuple for speed: one is created for every record of a classic group."""

    kind: str
    state: str | None
    members: int
    # Digests of the members' identities.
    names: AbstractSet[str]
    # The number that a rebalance increments: the generation of a classic group, the assignment epoch of a newer one.
    number: int | None
    state_time: int | None = None
    protocol_type: str | None = None


class MembershipSummaries:
    """The summaries of some groups, updated by their records. A record costs the same in a group of any size."""

    def __init__(self) -> None:
        # By group and kind.
        self._records: dict[str, dict[str, _Records]] = {}

    def apply(self, records: MembershipRecords) -> None:
        """Apply records: the newest per key, or all of them in log order."""
        keys = records.keys.to_pylist()
        for group, key, value in zip(groups_of(keys), keys, records.values.to_pylist(), strict=True):
            self.apply_record(group, key, value)

    def apply_record(self, group: str, key: bytes, value: bytes | None) -> _Change:
        """Apply one record of a group; return the digests of the members that are new, and of those that are gone."""
        number = record_type_of(key)
        newer_kind = _KIND_OF_TYPE.get(number)
        if newer_kind is None and number != CLASSIC_GROUP_TYPE:
            return _NO_CHANGE
        kind = newer_kind or CLASSIC
        by_kind = self._records.setdefault(group, {})
        if kind not in by_kind:
            by_kind[kind] = _ClassicRecord() if newer_kind is None else _NewerRecords(newer_kind)
        before, applied = _valid(by_kind), by_kind[kind]
        arrived, gone = applied.apply(key, value)
        after = _valid(by_kind)
        if before is after:
            return (arrived, gone) if applied is after else _NO_CHANGE
        names_before = set[str]() if before is None else set(before.names)
        if before is applied:
            names_before = (names_before - arrived) | gone
        names = set[str]() if after is None else set(after.names)
        return names - names_before, names_before - names

    def get(self, group: str) -> MembershipSummary | None:
        """Return a group's summary; None if it has no membership record. The next record changes its `names`."""
        records = _valid(self._records.get(group, {}))
        return None if records is None else records.summary

    def forget(self, group: str) -> None:
        """Forget the records of a group."""
        self._records.pop(group, None)

    def groups(self) -> Collection[str]:
        """Return the names of the groups that have membership records."""
        return [group for group, by_kind in self._records.items() if _valid(by_kind) is not None]


class _ClassicRecord:
    """The record of a classic group."""

    def __init__(self) -> None:
        self.summary: MembershipSummary | None = None

    @property
    def exists(self) -> bool:
        return self.summary is not None

    @property
    def names(self) -> AbstractSet[str]:
        return _NO_NAMES if self.summary is None else self.summary.names

    def apply(self, _key: bytes, value: bytes | None) -> _Change:
        before = self.names
        read = None if value is None else scalar.read_value(BY_NUMBER[CLASSIC_GROUP_TYPE], value, _CLASSIC_FIELDS)
        if read is not None or value is None:
            self.summary = None if read is None else _summarize_classic(read)
        return self.names - before, before - self.names


class _NewerRecords:
    """The records of a group of a newer kind, as its state and how many members have each name."""

    def __init__(self, kind: GroupKind) -> None:
        self._group = ModernGroup(kind)
        self._keys: set[bytes] = set()
        self._members: Counter[str] = Counter()

    @property
    def exists(self) -> bool:
        return bool(self._keys)

    @property
    def names(self) -> AbstractSet[str]:
        return self._members.keys()

    @property
    def summary(self) -> MembershipSummary:
        group = self._group
        return MembershipSummary(group.kind, group.state, len(group.members), self.names, group.assignment_epoch)

    def apply(self, key: bytes, value: bytes | None) -> _Change:
        if value is None:
            self._keys.discard(key)
        else:
            self._keys.add(key)
        event = _state_event(key, value)
        member = getattr(event, "member_id", "")
        before = self._group.members.get(member)
        self._group.apply(event)
        after = self._group.members.get(member)
        if before is after:
            return _NO_CHANGE
        gone, arrived = self._count(before, -1), self._count(after, 1)
        return arrived - gone, gone - arrived

    def _count(self, member: MemberRecorded | None, change: int) -> AbstractSet[str]:
        """Change the number of members with the name of this member; return the name if that adds or removes it."""
        if member is None:
            return _NO_NAMES
        name = digest(identity(member.member_id, member.instance_id))
        before = self._members[name]
        self._members[name] = before + change
        if before and before + change:
            return _NO_NAMES
        if before:
            del self._members[name]
        return {name}


def _valid(by_kind: Mapping[str, _Records]) -> _Records | None:
    """Return the records that count of a group, None if it has none.

    A group that is being converted and has records of both kinds is of the newer kind, whose records Kafka writes
    first and deletes last.
    """
    for kind in (*NEWER_KINDS, CLASSIC):
        if kind in by_kind and by_kind[kind].exists:
            return by_kind[kind]
    return None


def group_of(key: bytes) -> str:
    """Return the group of a membership key: every such key begins with its type and its group."""
    return java_text(key[4 : 4 + int.from_bytes(key[2:4], "big")])


def groups_of(keys: Sequence[bytes]) -> list[str]:
    """Return the group of each membership key; equal keys are decoded once."""
    names = {key: group_of(key) for key in set(keys)}
    return [names[key] for key in keys]


def _state_event(key: bytes, value: bytes | None) -> Any:
    """Return the event of a newer group's record; None if the record does not affect the state.

    A record that cannot be decoded affects the state as its tombstone does.
    """
    if record_type_of(key) not in STATE_TYPES:
        return None
    read = scalar.decode(key, value)
    if isinstance(read, DecodeError):
        read = scalar.decode(key, None)
    event = None if isinstance(read, DecodeError) else event_of(read)
    return _without_rows(event) if value is not None and len(value) > _LONG else event


def _without_rows(event: Any) -> Any:
    """Return an event without topics and partitions, which need ten times the bytes of the record."""
    if event is None:
        return None
    rows = (field.name for field in dataclasses.fields(event) if isinstance(getattr(event, field.name), tuple))
    return dataclasses.replace(event, **dict.fromkeys(rows, ()))


def _summarize_classic(value: Fields) -> MembershipSummary:
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
