"""One scenario's part in a play: which step it is at, and whether its group looks as it must by the official tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sandbox.scenarios.comparison import GroupComparison
from sandbox.scenarios.group import ScenarioGroup
from stream.groups.placement import partition_for

if TYPE_CHECKING:
    from sandbox.clients.java_clients import JavaClients, Offset
    from sandbox.scenarios.history import GroupHistory, HistoryStep
    from sandbox.scenarios.official import GroupFacts

OFFSETS_PARTITIONS: Final = 5
RESERVED_PARTITION: Final = 0
"""The partition of the offsets topic for scenarios that must be alone in theirs."""


def group_name(scenario: GroupHistory) -> str:
    """Call the group like its scenario, with a number behind it where that puts it into the wrong partition."""
    name, number = scenario.name, 1
    while (partition_for(name, OFFSETS_PARTITIONS) == RESERVED_PARTITION) != scenario.alone:
        number += 1
        name = f"{scenario.name}-{number}"
    return name


class HistoryProgress:
    """A scenario on its stage. `official` is the newest that the tools said of the group."""

    def __init__(self, desk: JavaClients, scenario: GroupHistory) -> None:
        self.scenario: Final = scenario
        self.stage: Final = ScenarioGroup(desk, group_name(scenario))
        self.official: GroupFacts | None = None
        self.failure: str | None = None
        # The last offsets that the tools have told.
        self._offsets: list[Offset] = []

    # --- steps ---

    def act(self, number: int) -> None:
        """Do what the step says."""
        for action in () if self.scenario.over(number) else self.scenario.step(number).actions:
            action.perform(self.stage)

    def commit(self, number: int) -> None:
        """Let the clients commit where they stand; in every round, so that what they use stays young."""
        if self.scenario.over(number):
            self.keep_going()
        elif self.scenario.step(number).commits:
            self.stage.commit_all()

    def keep_young(self, number: int) -> None:
        """Commit anew what an empty group has in the middle of its history: waiting for others must not end it."""
        step, official = self.scenario.step(number), self.official
        if official is None or self.scenario.alone or not step.commits or number >= len(self.scenario.steps) - 1:
            return
        if official.offsets is not None:
            self._offsets = [(topic, partition, offset) for (topic, partition), offset in official.offsets]
        if official.state == step.state == "Empty" and self._offsets:
            self.stage.restore(self._offsets)

    def keep_going(self) -> None:
        """Do what goes on while time passes."""
        if self.scenario.steps[-1].commits:
            self.stage.commit_all()
        for action in self.scenario.meanwhile:
            action.perform(self.stage)

    # --- how it looks ---

    def unsettled(self, number: int) -> str | None:
        """Say why the group does not look as it must; None when it does."""
        step, official = self.scenario.step(number), self.official
        if self.scenario.over(number) and self.scenario.ends:
            return None  # time may have taken it already
        if official is None or step.state is None:
            return None if official is None and step.state is None else f"the tool says {official}"
        owned = self._owned(step)
        looks = (official.state, len(official.members))
        if looks != (step.state, step.members):
            return f"it is {looks}, not {(step.state, step.members)}"
        if official.kind != "streams" and official.owned != owned:
            return f"its members own {official.owned} partitions, not {owned}"
        if step.state == "Stable" and not all(member.settled for member in official.members):
            return f"members move: {official.members}"
        return None

    def _owned(self, step: HistoryStep) -> int:
        if step.owned is not None or not step.members:
            return step.owned or 0
        return self.stage.wanted_partitions

    def unended(self) -> str | None:
        """Say what time has yet to do; None when all is done."""
        official, ends = self.official, self.scenario.ends
        if not ends:
            return None
        if ends[-1].what == "dead":
            return None if official is None else f"it is still {official.state}"
        places = {place for place, _ in (official and official.offsets) or ()}
        left = [short for short in self.scenario.forgets if (self.stage.topic(short[0]), short[1]) in places]
        return f"offsets are still there: {left}" if left else None

    # --- what came of it ---

    def scene(self, number: int | None) -> GroupComparison:
        """Give the scene of a round, or of the end, without what the tools and the witnesses say."""
        return GroupComparison(
            self.scenario.name,
            self.stage.group,
            number,
            self.scenario.story(number),
            self.scenario.found_after(number),
            failure=self.failure,
        )
