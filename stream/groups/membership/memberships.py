"""The memberships of a shard's groups, read from membership records (types 2 and up): kind, state, members.

The newest record of each key is kept as bytes and evaluated when the membership is read. A membership is a function of
these records alone, so it is the same whether the log was read from its beginning, after compaction, or twice. A group
with offsets only has no membership here: it is a simple group.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

import pyarrow as pa

from decoders import scalar
from decoders.columnar import decode_keys
from decoders.errors import DecodeError
from decoders.events import ClassicGroupRecorded
from decoders.group_events import GroupKind, PartitionMetadataRecorded, ShareTopicsRecorded
from decoders.interpret import event_of
from stream.groups.membership import classic, members, summary
from stream.groups.membership.members import Member
from stream.groups.membership.model import CLASSIC, SIMPLE, LongSubscriptions, Membership
from stream.groups.membership.modern_group import ModernGroup
from stream.groups.shard import MembershipRecords

__all__ = ["CLASSIC", "SIMPLE", "Member", "Membership", "Memberships"]

_NAMELESS_KEY: Final = summary.CLASSIC_GROUP_TYPE.to_bytes(2, "big") + b"\x00\x00"
"""The key of a classic group with an empty name, to decode a value whose group is already known."""
_REPLACED: Final = "\ufffd"
"""What decoding puts in the place of bytes that are not UTF-8."""
_MAX_SCALAR_KEYS: Final = 32
"""Up to this number of keys, decoding one by one is faster than as a column."""
_CACHED_GROUPS: Final = 16
"""Number of newer groups that are kept decoded, for groups whose records come one by one, as in a rebalance."""
_CACHED_BYTES: Final = 4 << 20
"""Limit of the records of the groups that are kept decoded; decoded they need about ten times as much."""


class Memberships:
    """The memberships of the groups of one shard. Not thread-safe: the owner holds a lock."""

    def __init__(self, subscriptions: LongSubscriptions | None = None) -> None:
        """Start without groups. `subscriptions` bounds those of several shards; None: of this one."""
        self._subscriptions = subscriptions or LongSubscriptions()
        self._classic: dict[str, bytes] = {}
        self._classic_keys: dict[str, bytes] = {}
        """The keys of classic groups whose name was not valid UTF-8, which cannot be built from the decoded name."""
        self._newer: dict[GroupKind, dict[str, dict[bytes, bytes]]] = {kind: {} for kind in summary.NEWER_KINDS}
        self._cache: dict[str, ModernGroup] = {}
        self._bytes: Counter[str] = Counter()
        """By newer group, the bytes of its records."""
        self._evaluated: dict[str, Membership] = {}
        self._stale: set[str] = set()
        self.faults: dict[str, Exception] = {}
        """Groups whose evaluation failed because of a fault of the program; `by_group` lacks them."""

    @property
    def by_group(self) -> Mapping[str, Membership]:
        """The membership of each group; the same object as before if no record changed the group."""
        for group in sorted(self._stale):
            membership = self._subscriptions.bounded(group, self._evaluate_or_record_fault(group))
            if membership is None:
                self._evaluated.pop(group, None)
            else:
                self._evaluated[group] = membership
        self._stale.clear()
        return self._evaluated

    def apply(self, records: MembershipRecords) -> AbstractSet[str]:
        """Apply records, the newest per key or all of them in log order; return their groups.

        A group whose records stay the same is not evaluated again: the first batch has the records of the first read.
        """
        keys = records.keys.to_pylist()
        touched = set()
        for group, key, value in zip(_groups_of(records.keys, keys), keys, records.values.to_pylist(), strict=True):
            if group is not None:  # the fold passes on readable keys only
                touched.add(group := sys.intern(group))  # names are keys in many places
                if self._apply_record(group, key, value):
                    self._stale.add(group)
        return touched

    def members(self, group: str, topic_names: Mapping[bytes, str] | None = None) -> tuple[Member, ...]:
        """Return the members of a group, by member id; none for an unknown group.

        Records of the newer kinds have topic ids. Names come from `topic_names` (those that the cluster knows) and from
        the group's own records; an id without a name is shown as Kafka prints ids.
        """
        kind = self._newer_kind(group)
        if kind is not None:
            modern = self._decode_group(kind, group, summary.MEMBERSHIP_TYPES | summary.TARGET_TYPES)
            names = {**self.topic_ids(group), **(topic_names or {})}
            return tuple(members.modern_member(modern, each, names) for _, each in sorted(modern.members.items()))
        event = self._classic_event(group)
        if event is None:
            return ()
        ordered = sorted(event.members, key=lambda each: each.member_id)
        return tuple(members.classic_member(event, each) for each in ordered)

    def records_of(self, group: str) -> dict[bytes, bytes]:
        """Return a copy of the current membership records of a group, by key."""
        records = {} if group not in self._classic else {self._classic_key(group): self._classic[group]}
        for groups in self._newer.values():
            records.update(groups.get(group, {}))
        return records

    def topic_ids(self, group: str | None = None) -> dict[bytes, str]:
        """Return the topic names by id that are in the records of a group, or of all groups.

        Only share groups (type 15) and consumer groups up to Kafka 4.0 (type 4) store names. Other records have ids.
        """
        names: dict[bytes, str] = {}
        for groups in self._newer.values():
            for name in list(groups) if group is None else (group,):
                for event in _decode(groups.get(name, {}), summary.TOPIC_NAME_TYPES):
                    names.update(_topic_names(event))
        return names

    def _apply_record(self, group: str, key: bytes, value: bytes | None) -> bool:
        """Apply a record, and return whether it differs from the one that the key had."""
        number = summary.record_type_of(key)
        if number == summary.CLASSIC_GROUP_TYPE:
            return self._apply_classic(group, key, value)
        kind = summary.KIND_OF_TYPE[number]
        groups = self._newer[kind]
        before = groups.get(group, {}).get(key)
        if before == value:
            return False
        self._bytes[group] += len(value or b"") - len(before or b"")
        if value is not None:
            groups.setdefault(group, {})[key] = value
        elif (records := groups.get(group)) is not None:
            records.pop(key, None)
            if not records:
                del groups[group]
                if not any(group in others for others in self._newer.values()):
                    del self._bytes[group]
        cached = self._cache.get(group)
        if cached is not None and cached.kind == kind and number in summary.MEMBERSHIP_TYPES:
            try:
                for event in _events(key, value):
                    cached.apply(event)
            except Exception:  # noqa: BLE001 - the next evaluation decodes the group again, and records the fault
                del self._cache[group]
        return True

    def _apply_classic(self, group: str, key: bytes, value: bytes | None) -> bool:
        is_new = self._classic.get(group) != value
        if value is None:
            self._classic.pop(group, None)
            self._classic_keys.pop(group, None)
        else:
            self._classic[group] = value
            if _REPLACED in group:
                self._classic_keys[group] = key
        return is_new

    def _evaluate_or_record_fault(self, group: str) -> Membership | None:
        self.faults.pop(group, None)
        try:
            return self._evaluate(group)
        except Exception as error:  # noqa: BLE001 - one group must not end the evaluation of all others
            self.faults[group] = error
            self._cache.pop(group, None)
            return None

    def _evaluate(self, group: str) -> Membership | None:
        kind = self._newer_kind(group)
        if kind is not None:
            return self._cached_group(kind, group).membership
        event = self._classic_event(group)
        return None if event is None else classic.membership(event)

    def _newer_kind(self, group: str) -> GroupKind | None:
        """Return the newer kind of a group, if it has one.

        A group that is being converted has records of both kinds and counts as newer.
        """
        for kind, groups in self._newer.items():
            records = groups.get(group)
            # Up to Kafka 4.0 a record of type 4 may remain when the group is gone: alone it makes no group.
            if records and not (
                len(records) == 1 and summary.record_type_of(next(iter(records))) in summary.SUBSCRIBED_TOPICS_TYPES
            ):
                return kind
        return None

    def _cached_group(self, kind: GroupKind, group: str) -> ModernGroup:
        modern = self._cache.pop(group, None)
        if modern is None or modern.kind != kind:
            modern = self._decode_group(kind, group, summary.MEMBERSHIP_TYPES)
        self._cache[group] = modern  # the most recently used is last
        while len(self._cache) > _CACHED_GROUPS or sum(map(self._bytes.__getitem__, self._cache)) > _CACHED_BYTES:
            self._cache.pop(next(iter(self._cache)))
        return modern

    def _decode_group(self, kind: GroupKind, group: str, types: frozenset[int]) -> ModernGroup:
        modern = ModernGroup(kind)
        for event in _decode(self._newer[kind].get(group, {}), types):
            modern.apply(event)
        return modern

    def _classic_key(self, group: str) -> bytes:
        name = group.encode("utf-8", "surrogatepass")
        built = summary.CLASSIC_GROUP_TYPE.to_bytes(2, "big") + len(name).to_bytes(2, "big") + name
        return self._classic_keys.get(group, built)

    def _classic_event(self, group: str) -> ClassicGroupRecorded | None:
        value = self._classic.get(group)
        for event in () if value is None else _events(_NAMELESS_KEY, value):
            if isinstance(event, ClassicGroupRecorded):
                return event
        return None


def _groups_of(column: pa.BinaryArray, keys: list[bytes]) -> list[str | None]:
    """Return the group of each key; None for an unreadable key."""
    if len(keys) <= _MAX_SCALAR_KEYS:
        return [_group_of(key) for key in keys]
    read = decode_keys(column)
    columns = zip(read.group.to_pylist(), read.declined.tolist(), keys, strict=True)
    return [_group_of(key) if declined else group for group, declined, key in columns]


def _group_of(key: bytes) -> str | None:
    record = scalar.decode(key, None)
    if isinstance(record, DecodeError):
        return None
    group: str = record.key["group" if "group" in record.key else "group_id"]
    return group


def _decode(records: Mapping[bytes, bytes], types: frozenset[int]) -> Iterator[Any]:
    """Yield the events of the records of these types."""
    for key, value in list(records.items()):
        if summary.record_type_of(key) in types:
            yield from _events(key, value)


def _events(key: bytes, value: bytes | None) -> tuple[Any, ...]:
    record = scalar.decode(key, value)
    return () if isinstance(record, DecodeError) else (event_of(record),)  # the fold passes on readable records only


def _topic_names(event: object) -> Iterator[tuple[bytes, str]]:
    if isinstance(event, PartitionMetadataRecorded):
        yield from ((topic_id, name) for topic_id, name, _ in event.topics)
    elif isinstance(event, ShareTopicsRecorded):
        yield from ((topic_id, name) for topic_id, name, _ in (*event.initializing, *event.initialized))
        yield from event.deleting
