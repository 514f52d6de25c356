"""What a tick wants to have asked beyond ends and surroundings, as the tick sees it. Nothing is asked here.

`Enquiries` is who asks; `Silent` asks nobody, for where there is no cluster: the rules that live on answers are then
silent too.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Protocol

import numpy as np

from stream.observed import Asked

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from stream.groups.fleet import FleetColumns
    from stream.health.columns import Flags, Ints
    from stream.health.observed import Observed
    from stream.health.windows import Window
    from stream.surroundings import Surroundings


class HeldBack(Protocol):
    """What is asked from coordinators because an open transaction hides it from the log."""

    @property
    def partitions(self) -> Mapping[int, int]:
        """Offsets partitions that are held back, and since when (ms)."""

    @property
    def groups(self) -> frozenset[str]:
        """The groups that are answered by their coordinators."""

    @property
    def fleet(self) -> FleetColumns:
        """The fleet with those answers put in; the very one that was given where nothing is held back."""

    @property
    def asked(self) -> Flags:
        """Which rows of that fleet were put in."""


class Enquiries(Protocol):
    """Asks the cluster, tick after tick, in the order of the methods. Nothing of it raises; `now` is Unix seconds."""

    def held_back(self, fleet: FleetColumns, ends: pa.Table, around: Surroundings, now: float) -> HeldBack:
        """Ask for the commits that open transactions hide."""

    def asked(self, fleet: FleetColumns, ends: pa.Table, around: Surroundings, now: float) -> Asked:
        """Ask what health needs: retention, transactions, tails; expiry is put in by the caller."""

    def seeding(self, seen: Observed) -> tuple[Ints, Ints] | None:
        """Give times and offsets for `stream.health.memory.Memory.seed`, once, at the first tick."""

    def note(self, window: Window) -> None:
        """Learn from what was judged what is worth asking at the next tick."""


@dataclasses.dataclass(frozen=True, slots=True)
class NothingHeld:
    """Every commit is in the log."""

    fleet: FleetColumns
    partitions: Mapping[int, int] = dataclasses.field(default_factory=dict)
    groups: frozenset[str] = frozenset()

    @property
    def asked(self) -> Flags:
        """See HeldBack."""
        return np.zeros(len(self.fleet.runs), np.bool_)


class Silent:
    """Asks nobody."""

    def held_back(self, fleet: FleetColumns, ends: pa.Table, around: Surroundings, now: float) -> HeldBack:  # noqa: ARG002 - the protocol's
        """See Enquiries."""
        return NothingHeld(fleet)

    def asked(self, fleet: FleetColumns, ends: pa.Table, around: Surroundings, now: float) -> Asked:  # noqa: ARG002 - the protocol's
        """See Enquiries."""
        return Asked()

    def seeding(self, seen: Observed) -> tuple[Ints, Ints] | None:  # noqa: ARG002 - the protocol's
        """See Enquiries."""
        return None

    def note(self, window: Window) -> None:
        """See Enquiries."""
