"""The comparison of one group after one round: as Kafka's tools showed it and as each observer showed it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.scenarios.history import ExpectedTransition, ExpectedTransitions
    from sandbox.scenarios.official import GroupFacts


class Observer(Protocol):
    """Watches the groups and is compared with Kafka's tools."""

    name: str

    def observe(self) -> Mapping[str, ObservedGroup] | None:
        """Return what it has found of every group so far; None while it is unavailable, which is not an error."""


@dataclasses.dataclass(frozen=True, slots=True)
class ObservedGroup:
    """A group as an observer shows it. `facts` is None for a group that it does not show, or shows as dead."""

    facts: GroupFacts | None
    transitions: tuple[ExpectedTransition, ...]


@dataclasses.dataclass(slots=True)
class GroupComparison:
    """A group after a round, once it had settled: what the tools showed, and what each observer showed."""

    history: str
    group: str
    # The number of the round, from 0; None: the end.
    number: int | None
    description: str
    expected: ExpectedTransitions
    official: GroupFacts | None = None
    found: dict[str, ObservedGroup] = dataclasses.field(default_factory=dict)
    # Why the step could not be performed, or why the group did not settle.
    failure: str | None = None

    def all_faults(self) -> list[str]:
        """Return a line per difference, over all observers, or the failure alone."""
        if self.failure:
            return [self.failure]
        return [f"{name}: {fault}" for name in self.found for fault in self.faults_of(name)]

    def faults_of(self, observer: str) -> list[str]:
        """Return a line per difference of one observer; none while it was unavailable."""
        if self.failure:
            return [self.failure]
        return self.faults(self.found[observer]) if observer in self.found else []

    @property
    def unresolvable(self) -> bool:
        """True when waiting cannot help: the step failed, or an observer shows a transition that is not expected."""
        return self.failure is not None or not all(
            self.expected.may_fit(observed.transitions) for observed in self.found.values()
        )

    def faults(self, observed: ObservedGroup) -> list[str]:
        """Return a line per difference between an observer's group and the expected one; none when they agree."""
        wrong = [] if self.expected.fit(observed.transitions) else [self._other_transitions(observed)]
        official = None if self.expected.hidden else self.official
        if observed.facts is None or official is None:
            agree = observed.facts is official
            return wrong if agree else [*wrong, f"found {observed.facts}, the tool shows {official}"]
        return [*wrong, *differences(observed.facts, official)]

    def _other_transitions(self, observed: ObservedGroup) -> str:
        found, certain, possible = (
            ", ".join(map(str, some)) or "nothing"
            for some in (observed.transitions, self.expected.certain, self.expected.possible)
        )
        return f"transitions: found {found}; expected {certain}, then perhaps {possible}"


def differences(found: GroupFacts, official: GroupFacts) -> list[str]:
    """Return a line per field that differs; a field that one side does not show (None) is no difference."""
    wrong = [
        f"{field}: found {ours!r}, the tool shows {theirs!r}"
        for field in ("kind", "state", "offsets", "strategy", "group_epoch", "assignment_epoch")
        if (ours := getattr(found, field)) != (theirs := getattr(official, field)) and None not in (ours, theirs)
    ]
    if len(found.members) != len(official.members):
        return [*wrong, f"members: found {found.members}, the tool shows {official.members}"]
    for ours, theirs in zip(found.members, official.members, strict=True):
        for field in ("member_id", "client_id", "host", "instance_id", "assignment"):
            one, other = getattr(ours, field), getattr(theirs, field)
            if one != other and None not in (one, other):
                wrong.append(f"{field} of member {theirs.member_id}: found {one!r}, the tool shows {other!r}")
    return wrong
