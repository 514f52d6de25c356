"""What a tick wants to have asked beyond ends and surroundings, as the tick sees it. Nothing is asked here.

`Enquiries` is who asks; `Silent` asks nobody, for where there is no cluster: the rules that live on answers are then
silent too.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Protocol

from stream.tick.hidden_commits.model import nothing_held_back
from stream.tick.inputs.builder import Asked

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from stream.groups.driver_state import FleetColumns
    from stream.health.columns import Ints
    from stream.health.features.partition_history import Memory
    from stream.health.features.window import Window
    from stream.health.inputs import Observed
    from stream.tick.context import Surroundings
    from stream.tick.hidden_commits.model import HeldBack


class Enquiries(Protocol):
    """Asks the cluster, tick after tick, in the order of the methods. Nothing of it raises; `now` is Unix seconds."""

    def ask_first(self, fleet: FleetColumns, now: float) -> None:
        """Ask for commits that were hidden at the last tick, before the ends of this one are read."""

    @property
    def touched(self) -> frozenset[str]:
        """Groups whose membership records the fleet of the next tick must have."""

    def follow(self, positions: Mapping[int, int]) -> None:
        """Note how far the offsets partitions had been read before the fleet was made."""

    @property
    def topics(self) -> frozenset[str]:
        """Topics that groups have commits of which the log may not tell yet: their ends are needed too."""

    def held_back(self, fleet: FleetColumns, ends: pa.Table, around: Surroundings, now: float) -> HeldBack:
        """Ask for the commits that open transactions hide."""

    def asked(self, fleet: FleetColumns, ends: pa.Table, around: Surroundings, now: float) -> Asked:
        """Ask what health needs: retention, transactions, tails; expiry is put in by the caller."""

    def seeding(self, seen: Observed) -> tuple[Ints, Ints] | None:
        """Give times and offsets for `Memory.seed`, once, at the first tick."""

    def note(self, window: Window) -> None:
        """Learn from what was judged what is worth asking at the next tick."""

    def narrow(self, window: Window, memory: Memory) -> None:
        """Ask for what would make the ages of unread records known to the tick; the memory learns of it."""


class Silent:
    """Asks nobody."""

    topics: frozenset[str] = frozenset()
    touched: frozenset[str] = frozenset()

    def follow(self, positions: Mapping[int, int]) -> None:
        """See Enquiries."""

    def ask_first(self, fleet: FleetColumns, now: float) -> None:
        """See Enquiries."""

    def held_back(self, fleet: FleetColumns, ends: pa.Table, around: Surroundings, now: float) -> HeldBack:  # noqa: ARG002 - the protocol's
        """See Enquiries."""
        return nothing_held_back(fleet)

    def asked(self, fleet: FleetColumns, ends: pa.Table, around: Surroundings, now: float) -> Asked:  # noqa: ARG002 - the protocol's
        """See Enquiries."""
        return Asked()

    def seeding(self, seen: Observed) -> tuple[Ints, Ints] | None:  # noqa: ARG002 - the protocol's
        """See Enquiries."""
        return None

    def note(self, window: Window) -> None:
        """See Enquiries."""

    def narrow(self, window: Window, memory: Memory) -> None:
        """See Enquiries."""


class Repeated(Silent):
    """Repeats what was answered before, for a trial with some of the same groups."""

    def __init__(self, asked: Asked) -> None:
        # Tails are numbered by the topics of the whole fleet; without them a lag is taken for data.
        self._asked = dataclasses.replace(asked, tails=None)

    def asked(self, fleet: FleetColumns, ends: pa.Table, around: Surroundings, now: float) -> Asked:  # noqa: ARG002 - the protocol's
        """See Enquiries."""
        return self._asked
