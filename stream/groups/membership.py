"""What the membership records (types 2 and up) of a group say of it: kind, state, members.

Classic groups are told in full by their one record. Of the newer kinds the number of members is told by the keys that
live; their states are not derived here yet and stay unknown.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from decoders import scalar
from decoders.errors import DecodeError
from decoders.events import ClassicGroupRecorded
from decoders.interpret import events

if TYPE_CHECKING:
    from decoders.records import Record
    from stream.groups.shard import Records

CLASSIC: Final = "classic"
SIMPLE: Final = "simple"
_GROUP_METADATA: Final = 2
# Kafka's record types of each newer kind of group, and the one that stands once per member.
_KINDS: Final = {
    "consumer": (frozenset({3, 4, 5, 6, 7, 8, 16}), 5),
    "share": (frozenset({10, 11, 12, 13, 14, 15}), 10),
    "streams": (frozenset({17, 19, 20, 21, 22, 23}), 19),
}
_KIND_OF: Final = {number: kind for kind, (numbers, _) in _KINDS.items() for number in numbers}
_MEMBER_TYPES: Final = frozenset(member for _, member in _KINDS.values())


@dataclasses.dataclass(frozen=True, slots=True)
class Membership:
    """A group as its membership records show it. None: the log does not tell (or is not asked yet)."""

    kind: str
    state: str | None
    members: int
    protocol_type: str | None = None
    protocol: str | None = None
    generation: int | None = None


class Memberships:
    """The memberships of the groups of one shard."""

    def __init__(self) -> None:
        self.of: dict[str, Membership] = {}
        # Living keys of the newer kinds: group -> key -> record type.
        self._keys: dict[str, dict[bytes, int]] = {}
        self._classic: dict[str, Membership] = {}

    def apply(self, records: Records) -> None:
        """Take records in, the newest per key or all of them in log order."""
        touched = set()
        for key, value in zip(records.keys.to_pylist(), records.values.to_pylist(), strict=True):
            read = scalar.decode(key, value)
            if not isinstance(read, DecodeError):  # the fold let only sound ones through
                touched.add(self._note(key, read))
        for group in touched:
            self._tell(group)

    def _note(self, key: bytes, record: Record) -> str:
        number = record.type.number
        group: str = record.key["group" if number == _GROUP_METADATA else "group_id"]
        if number == _GROUP_METADATA:
            self._classic.pop(group, None)
            for event in events(record):
                if isinstance(event, ClassicGroupRecorded):
                    self._classic[group] = _classic(event)
        elif record.value is None:
            self._keys.get(group, {}).pop(key, None)
        else:
            self._keys.setdefault(group, {})[key] = number
        return group

    def _tell(self, group: str) -> None:
        living = self._keys.get(group)
        if living:
            numbers = list(living.values())
            kind = _KIND_OF[numbers[-1]]
            self.of[group] = Membership(kind, None, sum(number in _MEMBER_TYPES for number in numbers))
            return
        self._keys.pop(group, None)
        if group in self._classic:
            self.of[group] = self._classic[group]
        else:
            self.of.pop(group, None)


def _classic(event: ClassicGroupRecorded) -> Membership:
    """Read a classic group's record: without members it is Empty, with them it was Stable when it was written.

    Without a protocol type and members the group exists, but nobody has joined it.
    """
    members = len(event.members)
    return Membership(
        kind=CLASSIC if event.protocol_type or members else SIMPLE,
        state="Stable" if members else "Empty",
        members=members,
        protocol_type=event.protocol_type or None,
        protocol=event.protocol,
        generation=event.generation,
    )
