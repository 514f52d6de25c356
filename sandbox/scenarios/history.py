"""A scenario: the history of one group as data, and what must be found of it after each step.

Owns the vocabulary only. What an action does is in `actions`, who plays it in `play`, the histories themselves in
`classic`, `newer`, `ends` and `expiring`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.scenarios.actions import HistoryAction

GONE: None = None
"""The state of a group that the official tool does not know."""


@dataclasses.dataclass(frozen=True, slots=True)
class ExpectedTransition:
    """One transition that must have been found: what happened, how many members came and went, why it ended.

    Words: created, rebalanced, emptied, reborn, converted, forgotten, dead.
    """

    what: str
    came: int = 0
    went: int = 0
    # Of forgotten and dead only: expired, deleted, topic deleted, unknown.
    cause: str | None = None

    def __str__(self) -> str:
        numbers = f"(+{self.came} -{self.went})" if self.came or self.went else ""
        return f"{self.what}{numbers}" + (f" [{self.cause}]" if self.cause else "")


@dataclasses.dataclass(frozen=True, slots=True)
class ExpectedTransitions:
    """Transitions that are there for certain, and those behind them that time may have added by now."""

    certain: tuple[ExpectedTransition, ...]
    possible: tuple[ExpectedTransition, ...]
    # See Step.
    hidden: bool = False
    # The broker was restarted after this many of them. From then on classic members may rebalance among themselves:
    # what the leader's metadata shows while a broker starts can make it ask for that.
    restless_after: int | None = None

    def fit(self, found: tuple[ExpectedTransition, ...]) -> bool:
        """Tell whether these transitions are the ones that must have been found, and no other."""
        return len(self.certain) <= len(self._calm(found)) and self.may_fit(found)

    def may_fit(self, found: tuple[ExpectedTransition, ...]) -> bool:
        """Tell whether they are, as far as they go."""
        calm = self._calm(found)
        return calm == (*self.certain, *self.possible)[: len(calm)]

    def _calm(self, found: tuple[ExpectedTransition, ...]) -> tuple[ExpectedTransition, ...]:
        if self.restless_after is None:
            return found
        before, after = found[: self.restless_after], found[self.restless_after :]
        return (*before, *(each for each in after if each != rebalanced()))


@dataclasses.dataclass(frozen=True, slots=True)
class HistoryStep:
    """What is done, and how the group looks once it has settled, by the official tool.

    After the actions every client of the group commits where it stands, unless `commits` is false.
    """

    story: str
    actions: tuple[HistoryAction, ...]
    # As the tools print it; None: the tool does not know the group.
    state: str | None
    members: int = 0
    # The transitions that this step adds.
    finds: tuple[ExpectedTransition, ...] = ()
    commits: bool = True
    # The tool knows the group only from the broker's memory (from a transaction that is open, or until the broker looks
    # for what has expired): in the log nothing is left of it, or nothing has come yet.
    hidden: bool = False
    # Partitions that members own in all; None: all of the topics that living clients subscribe to.
    owned: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class GroupHistory:
    """The history of one group, which is called like the scenario.

    `topics` (short name -> partitions) are the scenario's own and are there before it begins.
    """

    name: str
    tool: Literal["consumer", "share", "streams"]
    topics: Mapping[str, int]
    steps: tuple[HistoryStep, ...]
    # What time alone adds after the last step (offsets.retention.minutes): it ends with a death, or with offsets gone.
    ends: tuple[ExpectedTransition, ...] = ()
    # The offsets (short topic, partition) that are gone then, of a group that lives on.
    forgets: tuple[tuple[str, int], ...] = ()
    # Done again and again while time passes.
    meanwhile: tuple[HistoryAction, ...] = ()
    # Nobody else may live in its partition of the offsets topic: an open transaction holds all of it back.
    alone: bool = False

    def step(self, number: int) -> HistoryStep:
        """Give the step of a round (from 0); when the history is told, its last."""
        return self.steps[min(number, len(self.steps) - 1)]

    def over(self, number: int) -> bool:
        """Tell whether the history is told by this round."""
        return number >= len(self.steps)

    def story(self, number: int | None) -> str:
        """Tell a round in words; None: the end."""
        if number is None:
            return "in the end, when time has passed"
        return f"{number + 1}. {'nothing more is done' if self.over(number) else self.step(number).story}"

    def found_after(self, number: int | None) -> ExpectedTransitions:
        """Give what must have been found after a round; None: in the end, when time has passed."""
        certain = tuple(found for each in self.steps[: None if number is None else number + 1] for found in each.finds)
        if number is None:
            return ExpectedTransitions((*certain, *self.ends), (), restless_after=len(certain))
        return ExpectedTransitions(certain, self.ends if self.over(number) else (), hidden=self.step(number).hidden)


def created() -> ExpectedTransition:
    """Say that the group appeared."""
    return ExpectedTransition("created")


def reborn() -> ExpectedTransition:
    """Say that the group appeared again after a death."""
    return ExpectedTransition("reborn")


def rebalanced(came: int = 0, went: int = 0) -> ExpectedTransition:
    """Say that partitions were given out anew."""
    return ExpectedTransition("rebalanced", came, went)


def emptied(went: int) -> ExpectedTransition:
    """Say that the last members went."""
    return ExpectedTransition("emptied", went=went)


def converted() -> ExpectedTransition:
    """Say that the group went over to the other protocol."""
    return ExpectedTransition("converted")


def forgotten(cause: str) -> ExpectedTransition:
    """Say that some of its offsets went."""
    return ExpectedTransition("forgotten", cause=cause)


def dead(cause: str) -> ExpectedTransition:
    """Say that nothing is left of it."""
    return ExpectedTransition("dead", cause=cause)
