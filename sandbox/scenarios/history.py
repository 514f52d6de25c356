"""The vocabulary of histories: what happens to one group, step by step, and the transitions each step must produce.

The actions are in `actions`, their execution in `runner`, the histories in `classic`, `newer` and `removals`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.scenarios.actions import HistoryAction

REMOVED: None = None
"""The state of a group that Kafka's tools do not know."""


@dataclasses.dataclass(frozen=True, slots=True)
class ExpectedTransition:
    """One transition that must be found: its name, how many members joined and left, and the cause of a removal.

    Names: created, rebalanced, emptied, reborn, converted, forgotten, dead, as in lagwarden's API.
    """

    what: str
    came: int = 0
    went: int = 0
    # Only for forgotten and dead: expired, deleted, topic deleted or unknown.
    cause: str | None = None

    def __str__(self) -> str:
        numbers = f"(+{self.came} -{self.went})" if self.came or self.went else ""
        return f"{self.what}{numbers}" + (f" [{self.cause}]" if self.cause else "")


@dataclasses.dataclass(frozen=True, slots=True)
class ExpectedTransitions:
    """Transitions that must be there, and those that may follow them because offsets expire."""

    certain: tuple[ExpectedTransition, ...]
    possible: tuple[ExpectedTransition, ...]
    # See HistoryStep.
    hidden: bool = False
    # The broker was restarted after this many transitions. From then on classic members may rebalance without a change
    # of members: the leader asks for that when the metadata of a starting broker is incomplete.
    restarted_after: int | None = None

    def fit(self, found: tuple[ExpectedTransition, ...]) -> bool:
        """Return whether these transitions are complete and none is unexpected."""
        return len(self.certain) <= len(self._without_rebalances(found)) and self.may_fit(found)

    def may_fit(self, found: tuple[ExpectedTransition, ...]) -> bool:
        """Return whether these transitions are expected; they may be incomplete."""
        transitions = self._without_rebalances(found)
        return transitions == (*self.certain, *self.possible)[: len(transitions)]

    def _without_rebalances(self, found: tuple[ExpectedTransition, ...]) -> tuple[ExpectedTransition, ...]:
        if self.restarted_after is None:
            return found
        earlier, later = found[: self.restarted_after], found[self.restarted_after :]
        return (*earlier, *(each for each in later if each != rebalanced()))


@dataclasses.dataclass(frozen=True, slots=True)
class HistoryStep:
    """Actions, and the state of the group that Kafka's tools must show once it has settled.

    After the actions every client of the group commits its positions, unless `commits` is false.
    """

    description: str
    actions: tuple[HistoryAction, ...]
    # As the tools print it; None: the tool does not know the group.
    state: str | None
    members: int = 0
    # The transitions that this step adds.
    finds: tuple[ExpectedTransition, ...] = ()
    commits: bool = True
    # The broker has the group only in memory (from an open transaction, or until the next check for expired offsets):
    # the log has no record of it yet, or only tombstones.
    hidden: bool = False
    # Partitions that the members own together; None: all of the topics that running clients subscribe to.
    owned: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class GroupHistory:
    """The history of one group, which has the name of the history.

    `topics` (short name -> partitions) belong to it alone and exist before it begins.
    """

    name: str
    tool: Literal["consumer", "share", "streams"]
    topics: Mapping[str, int]
    steps: tuple[HistoryStep, ...]
    # What expiration alone adds after the last step (offsets.retention.minutes): the group or some offsets are removed.
    ends: tuple[ExpectedTransition, ...] = ()
    # The offsets (short topic, partition) that are removed then, of a group that continues.
    removed: tuple[tuple[str, int], ...] = ()
    # Performed repeatedly while offsets expire.
    meanwhile: tuple[HistoryAction, ...] = ()
    # It needs an offsets partition of its own: its open transaction hides all later commits in the same partition.
    reserved: bool = False

    def step(self, number: int) -> HistoryStep:
        """Return the step of a round (from 0); after the end of the history the last one."""
        return self.steps[min(number, len(self.steps) - 1)]

    def over(self, number: int) -> bool:
        """Return whether the history has no step for this round."""
        return number >= len(self.steps)

    def describe(self, number: int | None) -> str:
        """Return a description of a round; None: the end."""
        if number is None:
            return "at the end, after expiration"
        return f"{number + 1}. {'no more actions' if self.over(number) else self.step(number).description}"

    def found_after(self, number: int | None) -> ExpectedTransitions:
        """Return what must be found after a round; None: at the end, after expiration."""
        certain = tuple(found for each in self.steps[: None if number is None else number + 1] for found in each.finds)
        if number is None:
            return ExpectedTransitions((*certain, *self.ends), (), restarted_after=len(certain))
        return ExpectedTransitions(certain, self.ends if self.over(number) else (), hidden=self.step(number).hidden)


def created() -> ExpectedTransition:
    """Return the transition of a group that appears."""
    return ExpectedTransition("created")


def reborn() -> ExpectedTransition:
    """Return the transition of a group that appears again after its removal."""
    return ExpectedTransition("reborn")


def rebalanced(came: int = 0, went: int = 0) -> ExpectedTransition:
    """Return the transition of a rebalance."""
    return ExpectedTransition("rebalanced", came, went)


def emptied(went: int) -> ExpectedTransition:
    """Return the transition of a group whose last members leave."""
    return ExpectedTransition("emptied", went=went)


def converted() -> ExpectedTransition:
    """Return the transition of a group that changes its protocol."""
    return ExpectedTransition("converted")


def forgotten(cause: str) -> ExpectedTransition:
    """Return the transition of a group that loses some of its offsets."""
    return ExpectedTransition("forgotten", cause=cause)


def dead(cause: str) -> ExpectedTransition:
    """Return the transition of a group that is removed."""
    return ExpectedTransition("dead", cause=cause)
