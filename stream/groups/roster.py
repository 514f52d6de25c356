"""A group of a newer kind (consumer, share, streams) as its records add up: epochs, members, and the state they make.

Kafka writes these groups piece by piece: the group's epoch, the target assignment's epoch, and per member what it is
and what it owns. The state is never written; it follows from the pieces, as in ConsumerGroup#maybeUpdateGroupState and
its siblings.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from decoders import group_events as facts

if TYPE_CHECKING:
    from collections.abc import Callable

    from decoders.group_events import Kind

_STABLE: Final = "stable"
_INITIAL_EPOCH: Final = 0
"""Of a group or an assignment that has no record yet: 0 up to 4.2, 1 from 4.3 on; no written epoch is below either."""


@dataclasses.dataclass(frozen=True, slots=True)
class Owned:
    """Where one member stands: its epoch, and whether it has nothing to give up or to wait for."""

    member_epoch: int
    stable: bool


@dataclasses.dataclass(slots=True)
class Roster:
    """The living records of one group, summed up."""

    kind: Kind
    group_epoch: int = _INITIAL_EPOCH
    assignment_epoch: int = _INITIAL_EPOCH
    validated_topology_epoch: int | None = None
    topology_epoch: int | None = None
    members: set[str] = dataclasses.field(default_factory=set)
    owned: dict[str, Owned] = dataclasses.field(default_factory=dict)
    # Living records; when the last one goes, the group is gone.
    records: set[bytes] = dataclasses.field(default_factory=set)

    def apply(self, event: object) -> None:
        """Take one fact in; those that make no state (targets, regular expressions, share state) change nothing."""
        take = _TAKE.get(type(event))
        if take is not None:
            take(self, event)

    @property
    def state(self) -> str | None:
        """The state as Kafka's tools print it; None where the log does not tell."""
        if not self.members:
            return "Empty"
        if self.kind == "share":
            return "Stable"
        if self.kind == "streams" and not self._topology_is_valid():
            # That a topology is valid was kept in memory only by 4.1; from 4.2 on it is written.
            told = self.topology_epoch is None or self.validated_topology_epoch is not None
            return "NotReady" if told else None
        if self.group_epoch > self.assignment_epoch:
            return "Assigning"
        return "Stable" if all(map(self._reconciled, self.members)) else "Reconciling"

    def _topology_is_valid(self) -> bool:
        return self.topology_epoch is not None and self.topology_epoch == self.validated_topology_epoch

    def _reconciled(self, member: str) -> bool:
        owned = self.owned.get(member)
        return owned is not None and owned.stable and owned.member_epoch == self.assignment_epoch


def _group_epoch(roster: Roster, event: facts.GroupEpochRecorded) -> None:
    roster.group_epoch = event.group_epoch
    roster.validated_topology_epoch = event.validated_topology_epoch


def _assigned(roster: Roster, event: facts.MemberAssigned | facts.StreamsMemberAssigned) -> None:
    # The layout of 3.7 has no state of the member: then only its epoch tells.
    roster.owned[event.member_id] = Owned(event.member_epoch, event.member_state in (_STABLE, None))


def _joined(roster: Roster, event: Any) -> None:
    roster.members.add(event.member_id)


def _set(name: str, value_of: Callable[[Any], int | None]) -> Callable[[Roster, Any], object]:
    def take(roster: Roster, event: Any) -> None:
        setattr(roster, name, value_of(event))

    return take


_TAKE: Final[dict[type, Callable[[Roster, Any], object]]] = {
    facts.GroupEpochRecorded: _group_epoch,
    facts.GroupEpochForgotten: _set("group_epoch", lambda _: _INITIAL_EPOCH),
    facts.TargetAssignmentRecorded: _set("assignment_epoch", lambda event: event.assignment_epoch),
    facts.TargetAssignmentForgotten: _set("assignment_epoch", lambda _: -1),
    facts.ConsumerMemberRecorded: _joined,
    facts.ShareMemberRecorded: _joined,
    facts.StreamsMemberRecorded: _joined,
    facts.MemberForgotten: lambda roster, event: roster.members.discard(event.member_id),
    facts.MemberAssigned: _assigned,
    facts.StreamsMemberAssigned: _assigned,
    facts.MemberAssignmentForgotten: lambda roster, event: roster.owned.pop(event.member_id, None),
    facts.StreamsTopologyRecorded: _set("topology_epoch", lambda event: event.topology_epoch),
    facts.StreamsTopologyForgotten: _set("topology_epoch", lambda _: None),
}
