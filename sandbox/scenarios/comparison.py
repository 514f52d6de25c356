"""A scene: one group after one step, as the official tools showed it and as each witness found it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.scenarios.history import ExpectedTransition, ExpectedTransitions
    from sandbox.scenarios.official import GroupFacts


class Observer(Protocol):
    """Somebody who watches the groups and is held against the official tools."""

    name: str

    def look(self) -> Mapping[str, ObservedGroup] | None:
        """Give what it has found by now of every group; None while it is away, which is no fault in itself."""


@dataclasses.dataclass(frozen=True, slots=True)
class ObservedGroup:
    """What a witness says of a group. `facts` is None for a group that it does not show as living."""

    facts: GroupFacts | None
    transitions: tuple[ExpectedTransition, ...]


@dataclasses.dataclass(slots=True)
class GroupComparison:
    """A group after a round, once it had settled: what the tools said, and each witness."""

    scenario: str
    group: str
    # Of the round, from 0; None: in the end.
    number: int | None
    story: str
    expected: ExpectedTransitions
    official: GroupFacts | None = None
    found: dict[str, ObservedGroup] = dataclasses.field(default_factory=dict)
    # Why the step could not be played, or the group did not settle.
    failure: str | None = None

    def all_faults(self) -> list[str]:
        """Say everything that is wrong with this scene."""
        if self.failure:
            return [self.failure]
        return [f"{name}: {fault}" for name in self.found for fault in self.faults_of(name)]

    def faults_of(self, witness: str) -> list[str]:
        """Say what is wrong with what one witness found; nothing while it was away."""
        if self.failure:
            return [self.failure]
        return self.faults(self.found[witness]) if witness in self.found else []

    @property
    def hopeless(self) -> bool:
        """Whether no time can make it right: it was not played, or a witness has found what was not there."""
        return self.failure is not None or not all(
            self.expected.may_fit(finding.transitions) for finding in self.found.values()
        )

    def faults(self, finding: ObservedGroup) -> list[str]:
        """Say what is wrong with what a witness found; nothing when all is as it must be."""
        wrong = [] if self.expected.fit(finding.transitions) else [self._other(finding)]
        official = None if self.expected.hidden else self.official
        if finding.facts is None or official is None:
            return wrong if finding.facts is official else [*wrong, f"found {finding.facts}, the tool says {official}"]
        return [*wrong, *differences(finding.facts, official)]

    def _other(self, finding: ObservedGroup) -> str:
        found, certain, possible = (
            ", ".join(map(str, some)) or "nothing"
            for some in (finding.transitions, self.expected.certain, self.expected.possible)
        )
        return f"transitions: found {found}; expected {certain}, then perhaps {possible}"


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
