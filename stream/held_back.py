"""Offsets partitions that an open transaction holds back, and the groups whose commits it hides. Values only.

The job reads committed records, so a transaction that stays open on a partition of `__consumer_offsets` hides all that
is behind it: groups that work look as if they had stopped. While that lasts their coordinators are asked instead.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.groups.fleet import FleetColumns
    from stream.health.columns import Flags


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetsHeldBack:
    """One offsets partition that is held back, and by whom. None: that is not known."""

    offsets_partition: int
    since: int
    """Since when (ms): the start of the transaction, else when the gap was first seen."""
    producer_id: int | None = None
    transactional_id: str | None = None
    hanging: bool | None = None
    """Whether nobody is going to end it."""


@dataclasses.dataclass(frozen=True, slots=True)
class HeldBack:
    """The fleet of one tick as its readers should see it."""

    fleet: FleetColumns
    """With the commits that were asked for; the very same object where there are none."""
    asked: Flags
    """Which rows of the fleet have such a commit. Its time is when it was first seen, which is after it was made."""
    partitions: Mapping[int, int] = dataclasses.field(default_factory=dict)
    """Since when (ms) each offsets partition is held back."""
    groups: frozenset[str] = frozenset()
    """The groups that their coordinators answer for now."""
    hidden: frozenset[str] = frozenset()
    """Groups of these partitions that nobody has answered for (yet): their commits may be newer than is known."""


def nothing_held_back(fleet: FleetColumns) -> HeldBack:
    """Say that the log tells everything."""
    return HeldBack(fleet, np.zeros(len(fleet.runs), np.bool_))
