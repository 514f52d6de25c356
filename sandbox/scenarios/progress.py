"""One history in a run: which step it has reached, and whether its group has settled according to Kafka's tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sandbox.clients.group_names import group_name
from sandbox.scenarios.comparison import GroupComparison
from sandbox.scenarios.group import HistoryGroup

if TYPE_CHECKING:
    from sandbox.clients.java_clients import JavaClients, Offset
    from sandbox.scenarios.history import GroupHistory, HistoryStep
    from sandbox.scenarios.official import GroupFacts

OFFSETS_PARTITIONS: Final = 5


class HistoryProgress:
    """A history with its group. `official` is the group as Kafka's tools showed it last; None: they do not know it."""

    def __init__(self, java_clients: JavaClients, history: GroupHistory) -> None:
        self.history: Final = history
        name = group_name(history.name, OFFSETS_PARTITIONS, reserved=history.reserved)
        self.group: Final = HistoryGroup(java_clients, name)
        self.official: GroupFacts | None = None
        self.failure: str | None = None
        # The offsets that the tools showed last.
        self._offsets: list[Offset] = []

    # --- steps ---

    def perform(self, number: int) -> None:
        """Perform the actions of a step; nothing after the last one."""
        for action in () if self.history.over(number) else self.history.step(number).actions:
            action.perform(self.group)

    def commit(self, number: int) -> None:
        """Commit the positions of all clients, in every round, so that offsets that are in use do not expire."""
        if self.history.over(number):
            self.keep_alive()
        elif self.history.step(number).commits:
            self.group.commit_all()

    def refresh_offsets(self, number: int) -> None:
        """Commit the offsets of an empty group again between its steps: waiting for other groups must not expire it."""
        step, official = self.history.step(number), self.official
        if official is None or self.history.reserved or not step.commits or number >= len(self.history.steps) - 1:
            return
        if official.offsets is not None:
            self._offsets = [(topic, partition, offset) for (topic, partition), offset in official.offsets]
        if official.state == step.state == "Empty" and self._offsets:
            self.group.restore(self._offsets)

    def keep_alive(self) -> None:
        """Do what goes on while time passes: commits of the clients, and the actions of `meanwhile`."""
        if self.history.steps[-1].commits:
            self.group.commit_all()
        for action in self.history.meanwhile:
            action.perform(self.group)

    # --- state ---

    def unsettled(self, number: int) -> str | None:
        """Return how the group differs from the state that the step expects; None when it does not."""
        step, official = self.history.step(number), self.official
        if self.history.over(number) and self.history.ends:
            return None  # it may have expired already
        if official is None or step.state is None:
            return None if official is None and step.state is None else f"the tool shows {official}"
        owned = self._owned(step)
        actual = (official.state, len(official.members))
        if actual != (step.state, step.members):
            return f"state and members are {actual}, not {(step.state, step.members)}"
        if official.kind != "streams" and official.owned != owned:
            return f"its members own {official.owned} partitions, not {owned}"
        if step.state == "Stable" and not all(member.settled for member in official.members):
            return f"members reconcile: {official.members}"
        return None

    def _owned(self, step: HistoryStep) -> int:
        if step.owned is not None or not step.members:
            return step.owned or 0
        return self.group.subscribed_partitions

    def unended(self) -> str | None:
        """Return what has yet to expire; None when everything has."""
        official, ends = self.official, self.history.ends
        if not ends:
            return None
        if ends[-1].what == "dead":
            return None if official is None else f"it is still {official.state}"
        places = {place for place, _ in (official and official.offsets) or ()}
        left = [short for short in self.history.removed if (self.group.topic(short[0]), short[1]) in places]
        return f"offsets are still there: {left}" if left else None

    # --- comparison ---

    def comparison(self, number: int | None) -> GroupComparison:
        """Return the comparison of a round, or of the end (None), without what tools and observers show."""
        return GroupComparison(
            self.history.name,
            self.group.group,
            number,
            self.history.describe(number),
            self.history.found_after(number),
            failure=self.failure,
        )
