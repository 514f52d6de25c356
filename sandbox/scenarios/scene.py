"""A scene: one group after one step, as the official tools showed it and as each witness found it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.scenarios.official import GroupFacts
    from sandbox.scenarios.scenario import Expected


class Witness(Protocol):
    """Somebody who watches the groups and is held against the official tools."""

    name: str

    def look(self) -> Mapping[str, Finding]:
        """Give what it has found by now of every group."""


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """What a witness says of a group. `facts` is None for a group that it does not show as living."""

    facts: GroupFacts | None
    transitions: tuple[Expected, ...]


@dataclasses.dataclass(slots=True)
class Scene:
    """A group after a step, once it had settled: what the tools said, and each witness."""

    scenario: str
    group: str
    story: str
    # Transitions that are there by now for certain, and those that time may have added.
    expected: tuple[Expected, ...]
    possible: tuple[Expected, ...]
    official: GroupFacts | None
    found: dict[str, Finding] = dataclasses.field(default_factory=dict)
    # Why the step could not be played, or the group did not settle.
    failure: str | None = None

    def fits(self, finding: Finding) -> bool:
        """Tell whether a witness says what it must."""
        return self.transitions_fit(finding) and agree(finding.facts, self.official)

    def transitions_fit(self, finding: Finding) -> bool:
        """Tell whether the transitions are the expected ones, and no other."""
        found, certain = finding.transitions, len(self.expected)
        every = (*self.expected, *self.possible)
        return certain <= len(found) and found == every[: len(found)]


def agree(found: GroupFacts | None, official: GroupFacts | None) -> bool:
    """Compare field by field; what one side does not tell (None) is not compared."""
    if found is None or official is None:
        return found is official
    return not differences(found, official)


def differences(found: GroupFacts, official: GroupFacts) -> list[str]:
    """Name what differs."""
    wrong = [
        f"{field}: found {mine!r}, the tool says {theirs!r}"
        for field in ("kind", "state", "offsets", "strategy", "group_epoch", "assignment_epoch")
        if (mine := getattr(found, field)) != (theirs := getattr(official, field)) and None not in (mine, theirs)
    ]
    if len(found.members) != len(official.members):
        return [*wrong, f"members: found {found.members}, the tool says {official.members}"]
    for mine, theirs in zip(found.members, official.members, strict=True):
        for field in ("member_id", "client_id", "host", "instance_id", "assignment"):
            one, other = getattr(mine, field), getattr(theirs, field)
            if one != other and None not in (one, other):
                wrong.append(f"{field} of member {theirs.member_id}: found {one!r}, the tool says {other!r}")
    return wrong
