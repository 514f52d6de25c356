"""Offsets partitions that an open transaction holds back, and the groups whose commits it hides. Values only.

The job reads committed records, so a transaction that stays open on a partition of `__consumer_offsets` hides all that
is behind it: groups that work look as if they had stopped. While that lasts their coordinators are asked instead.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from exporters.readmodel import NAME, OFFSETS_HELD_BACK, TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.groups.driver_state import GroupColumns
    from stream.groups.membership.memberships import Memberships
    from stream.health.columns import Flags


@dataclasses.dataclass(frozen=True, slots=True)
class BlockedOffsetsPartition:
    """One offsets partition that is held back, and by whom. None: that is not known."""

    offsets_partition: int
    since: int
    """Since when (ms): the start of the transaction, else when the gap was first seen."""
    producer_id: int | None = None
    transactional_id: str | None = None
    hanging: bool | None = None
    """Whether nobody is going to end it."""


@dataclasses.dataclass(frozen=True, slots=True)
class HiddenCommits:
    """The fleet of one tick as its readers should see it."""

    fleet: GroupColumns
    """With the commits that were asked for; the very same object where there are none."""
    asked: Flags
    """Which rows of the fleet have such a commit. Its time is when it was first seen, which is after it was made."""
    partitions: Mapping[int, BlockedOffsetsPartition] = dataclasses.field(default_factory=dict)
    """The offsets partitions that are held back, each by its number."""
    groups: frozenset[str] = frozenset()
    """The groups that their coordinators answer for now."""
    hidden: frozenset[str] = frozenset()
    """Groups of these partitions that nobody has answered for (yet): their commits may be newer than is known."""
    unread: frozenset[str] = frozenset()
    """Groups of whose records the job may not have read all: a tombstone that it has not read is not missing."""
    members: Mapping[str, Memberships] = dataclasses.field(default_factory=dict)
    """By group the membership records of those that have newer ones than the job has read."""


def holders(held: HiddenCommits) -> pa.Table:
    """Give who holds which offsets partition back (schema OFFSETS_HELD_BACK), by partition."""
    rows = [dataclasses.astuple(each) for _, each in sorted(held.partitions.items())]
    partition, since, producer, name, hanging = zip(*rows, strict=True) if rows else ((),) * 5
    return pa.table(
        [
            pa.array(partition, pa.int32()),
            pa.array(since, pa.int64()).cast(TIMESTAMP),
            pa.array(producer, pa.int64()),
            pa.array(name, pa.string()).dictionary_encode().cast(NAME),
            pa.array(hanging, pa.bool_()),
        ],
        schema=OFFSETS_HELD_BACK,
    )


def nothing_held_back(fleet: GroupColumns) -> HiddenCommits:
    """Say that the log tells everything."""
    return HiddenCommits(fleet, np.zeros(len(fleet.runs), np.bool_))
