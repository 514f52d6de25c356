"""What a tick wants to have asked beyond ends and surroundings, as the tick sees it. Nothing is asked here.

`Lookups` is who asks; `NoLookups` asks nobody, for where there is no cluster: the rules that live on answers are then
silent too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from stream.tick.context import LookupResults
from stream.tick.hidden_commits.model import nothing_held_back

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.groups.driver_state import GroupColumns
    from stream.health.columns import Ints
    from stream.health.features.partition_history import PartitionHistory
    from stream.health.features.window import Window
    from stream.health.inputs import HealthInputs
    from stream.tick.ends_index import EndsIndex
    from stream.tick.hidden_commits.model import HiddenCommits


class Lookups(Protocol):
    """Asks the cluster, tick after tick, in the order of the methods. Nothing of it raises; `now` is Unix seconds."""

    def ask_first(self, fleet: GroupColumns, now: float) -> None:
        """Ask for commits that were hidden at the last tick, before the ends of this one are read."""

    @property
    def touched(self) -> frozenset[str]:
        """Groups whose membership records the fleet of the next tick must have."""

    def follow(self, positions: Mapping[int, int]) -> None:
        """Note how far the offsets partitions had been read before the fleet was made."""

    @property
    def topics(self) -> frozenset[str]:
        """Topics that groups have commits of which the log may not tell yet: their ends are needed too."""

    def held_back(self, fleet: GroupColumns, ends: EndsIndex, now: float) -> HiddenCommits:
        """Ask for the commits that open transactions hide."""

    def asked(self, fleet: GroupColumns, ends: EndsIndex, now: float) -> LookupResults:
        """Ask what health needs: retention, transactions, tails."""

    def seeding(self, seen: HealthInputs) -> tuple[Ints, Ints] | None:
        """Give times and offsets for `PartitionHistory.seed`, once, at the first tick."""

    def note(self, window: Window) -> None:
        """Learn from what was judged what is worth asking at the next tick."""

    def narrow(self, window: Window, memory: PartitionHistory) -> None:
        """Ask for what would make the ages of unread records known to the tick; the memory learns of it."""


class NoLookups:
    """Asks nobody."""

    topics: frozenset[str] = frozenset()
    touched: frozenset[str] = frozenset()

    def follow(self, positions: Mapping[int, int]) -> None:
        """See Enquiries."""

    def ask_first(self, fleet: GroupColumns, now: float) -> None:
        """See Enquiries."""

    def held_back(self, fleet: GroupColumns, ends: EndsIndex, now: float) -> HiddenCommits:  # noqa: ARG002 - the protocol's
        """See Enquiries."""
        return nothing_held_back(fleet)

    def asked(self, fleet: GroupColumns, ends: EndsIndex, now: float) -> LookupResults:  # noqa: ARG002 - the protocol's
        """See Enquiries."""
        return LookupResults()

    def seeding(self, seen: HealthInputs) -> tuple[Ints, Ints] | None:  # noqa: ARG002 - the protocol's
        """See Enquiries."""
        return None

    def note(self, window: Window) -> None:
        """See Enquiries."""

    def narrow(self, window: Window, memory: PartitionHistory) -> None:
        """See Enquiries."""
