"""The kinds of groups, and what is told of a group of any kind at one moment. A leaf: values only."""

from __future__ import annotations

import dataclasses
from typing import Final

CLASSIC: Final = "classic"
SIMPLE: Final = "simple"

Owned = tuple[tuple[str | bytes, int], ...]
"""Topics (by name, or by id as the newer kinds' records have them) with the partitions owned, as bits of a number."""


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
    # Regular expressions of members whose topics the log does not tell (yet): `subscribed` lacks them.
    unresolved: int = 0
    # What the members own together, with what they are still to give up; None: not known, or no topics' business.
    owned: Owned | None = dataclasses.field(default=None, repr=False)


def identity(member_id: str, instance_id: str | None) -> str:
    """Name a member so that a static one is the same when it comes back under another id."""
    return member_id if instance_id is None else f"static:{instance_id}"
