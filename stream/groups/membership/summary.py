"""Membership summaries: the part of a membership that group histories need.

`membership.memberships` evaluates all of a group when a reader asks for it. A history evaluates the group after every
operation in the log, so this module decodes each record once, and nothing of the blobs inside. A property test holds
kind and state equal to those of `membership.memberships`.
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
from stream.groups.membership.record_types import CLASSIC_GROUP_TYPE, GROUP_TYPES, STATE_TYPES, record_type_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from decoders.group_events import GroupKind
    from decoders.records import Fields
    from stream.groups.shard import MembershipRecords

_CLASSIC_FIELDS: Final = frozenset(
    ("protocol_type", "generation", "current_state_timestamp", "members", "member_id", "group_instance_id")
)
"""The fields that are decoded of a classic group."""


class MembershipSummary(NamedTuple):
    """The summary of a group. A named tuple for speed: one is created for every record of a classic group."""

    kind: str
    state: str | None
    members: int
    # Digests of the members' identities.
    names: frozenset[str]
    # The number that a rebalance increments: the generation of a classic group, the assignment epoch of a newer one.
    number: int | None
    state_time: int | None = None
    protocol_type: str | None = None


class MembershipSummaries:
    """The summaries of some groups, updated by their records."""

    def __init__(self) -> None:
        self._classic: dict[str, MembershipSummary] = {}
        # By group and key, the event of each current record of a newer group; None if it does not affect the state.
        self._newer: dict[str, dict[bytes, Any]] = {}

    def apply(self, records: MembershipRecords) -> None:
        """Apply records: the newest per key, or all of them in log order."""
        keys = records.keys.to_pylist()
        for group, key, value in zip(groups_of(keys), keys, records.values.to_pylist(), strict=True):
            self.apply_record(group, key, value)

    def apply_record(self, group: str, key: bytes, value: bytes | None) -> None:
        """Apply one record of a group."""
        if value is None:
            self._remove(group, key)
        elif record_type_of(key) == CLASSIC_GROUP_TYPE:
            read = scalar.read_value(BY_NUMBER[CLASSIC_GROUP_TYPE], value, _CLASSIC_FIELDS)
            if read is not None:
                self._classic[group] = _summarize_classic(read)
        else:
            self._newer.setdefault(group, {})[key] = _state_event(key, value)

    def get(self, group: str) -> MembershipSummary | None:
        """Return a group's summary; None if it has no membership record.

        A group that is being converted and has records of both kinds is of the newer kind, whose records Kafka writes
        first and deletes last.
        """
        records = self._newer.get(group)
        if records:
            numbers = set(map(record_type_of, records))
            for kind, group_types in GROUP_TYPES.items():
                if not group_types.isdisjoint(numbers):
                    return _summarize_newer(
                        kind, [event for key, event in records.items() if record_type_of(key) in group_types]
                    )
        return self._classic.get(group)

    def groups(self) -> Collection[str]:
        """Return the names of the groups that have membership records."""
        return self._classic.keys() | self._newer.keys()

    def _remove(self, group: str, key: bytes) -> None:
        if record_type_of(key) == CLASSIC_GROUP_TYPE:
            self._classic.pop(group, None)
        elif (records := self._newer.get(group)) is not None:
            records.pop(key, None)
            if not records:
                del self._newer[group]


def group_of(key: bytes) -> str:
    """Return the group of a membership key: every such key begins with its type and its group."""
    return java_text(key[4 : 4 + int.from_bytes(key[2:4], "big")])


def groups_of(keys: Sequence[bytes]) -> list[str]:
    """Return the group of each membership key; equal keys are decoded once."""
    names = {key: group_of(key) for key in set(keys)}
    return [names[key] for key in keys]


def _state_event(key: bytes, value: bytes) -> Any:
    """Return the event of a newer group's record; None if the record does not affect the state."""
    if record_type_of(key) not in STATE_TYPES:
        return None
    read = scalar.decode(key, value)
    return None if isinstance(read, DecodeError) else events(read)[0]


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


def _summarize_newer(kind: GroupKind, state_events: list[Any]) -> MembershipSummary:
    group = ModernGroup(kind)
    for event in state_events:
        group.apply(event)
    return MembershipSummary(
        kind=kind,
        state=group.state,
        members=len(group.members),
        names=frozenset(digest(identity(each.member_id, instance_id_of(each))) for each in group.members.values()),
        number=group.assignment_epoch,
    )
