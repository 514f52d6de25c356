"""What the membership records (types 2 and up) of a shard say of its groups: kind, state, members.

A classic group is told in full by its one record, a newer one by many (`stream.groups.roster`). A group that only has
offsets is not told here at all: that is what makes it simple.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from decoders import scalar
from decoders.errors import DecodeError
from decoders.events import ClassicGroupForgotten, ClassicGroupRecorded
from decoders.interpret import events
from stream.groups.roster import Roster

if TYPE_CHECKING:
    from decoders.group_events import Kind
    from decoders.records import Record
    from stream.groups.shard import Records

CLASSIC: Final = "classic"
SIMPLE: Final = "simple"
_GROUP_METADATA: Final = 2
# Kafka's record types of each newer kind of group.
_TYPES: Final[dict[Kind, tuple[int, ...]]] = {
    "consumer": (3, 4, 5, 6, 7, 8, 16),
    "share": (10, 11, 12, 13, 14, 15),
    "streams": (17, 19, 20, 21, 22, 23),
}
_KIND_OF: Final = {number: kind for kind, numbers in _TYPES.items() for number in numbers}


@dataclasses.dataclass(frozen=True, slots=True)
class Membership:
    """A group as its membership records show it. None: the log does not tell."""

    kind: str
    state: str | None
    members: int
    protocol_type: str | None = None
    protocol: str | None = None
    generation: int | None = None
    # When the broker last saw the state change, in ms, where the record tells (`currentStateTimestamp`).
    state_time: int | None = None
    # Who is in it, so that two moments can be compared: member ids, and `static:<instance id>` of static members.
    member_names: frozenset[str] = frozenset()
    # Topics that any member subscribes to; None: not known.
    subscribed: frozenset[str] | None = None
    group_epoch: int | None = None
    assignment_epoch: int | None = None
    # Members with nothing assigned, and static members that are away.
    idle: int | None = None
    away: int | None = None


class Memberships:
    """The memberships of the groups of one shard."""

    def __init__(self) -> None:
        self.of: dict[str, Membership] = {}
        self._rosters: dict[str, Roster] = {}
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
        if number == _GROUP_METADATA:
            return self._note_classic(record)
        group: str = record.key["group_id"]
        roster = self._rosters.get(group)
        if roster is None or roster.kind != _KIND_OF[number]:
            if record.value is None:
                return group  # the tombstones of a kind that this group is not, or not any more
            roster = self._rosters[group] = Roster(_KIND_OF[number])
        for event in events(record):
            roster.apply(event)
        if record.value is None:
            roster.records.discard(key)
            if not roster.records:
                del self._rosters[group]
        else:
            roster.records.add(key)
        return group

    def _note_classic(self, record: Record) -> str:
        group: str = record.key["group"]
        for event in events(record):
            if isinstance(event, ClassicGroupRecorded):
                self._classic[group] = _classic(event)
            elif isinstance(event, ClassicGroupForgotten):
                self._classic.pop(group, None)
        return group

    def _tell(self, group: str) -> None:
        roster = self._rosters.get(group)
        if roster is not None:
            self.of[group] = Membership(roster.kind, roster.state, len(roster.members))
        elif group in self._classic:
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
