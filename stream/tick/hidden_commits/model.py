"""Offsets partitions blocked by an open transaction, and the groups whose commits it hides. Values only.

The job reads committed records, so an open transaction on a partition of `__consumer_offsets` hides all records behind
its last stable offset: groups that commit look as if they had stopped. Until it ends, their offsets are fetched from
their coordinators.
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
    """One blocked offsets partition and its oldest open transaction. None: not known."""

    offsets_partition: int
    since: int
    """Since when it is blocked (ms): the start of the transaction; if not known, when the gap was first seen."""
    producer_id: int | None = None
    transactional_id: str | None = None
    hanging: bool | None = None
    """True if no coordinator will end the transaction."""


@dataclasses.dataclass(frozen=True, slots=True)
class HiddenCommits:
    """The driver state of one tick with what open transactions hide in the log."""

    state: GroupColumns
    """The driver state with the fetched commits and hidden records; the same object if there are none."""
    fetched: Flags
    """Mask of the rows with a fetched commit. Its commit time is that of the first fetch, after the commit."""
    blocked_partitions: Mapping[int, BlockedOffsetsPartition] = dataclasses.field(default_factory=dict)
    """The blocked offsets partitions by number."""
    answered_groups: frozenset[str] = frozenset()
    """Groups with a valid answer of their coordinator."""
    unanswered_groups: frozenset[str] = frozenset()
    """Groups of the blocked partitions without an answer (yet): their commits may be newer than known."""
    unread_groups: frozenset[str] = frozenset()
    """Groups with records that the job may not have read: a tombstone that is missing may be among them."""
    memberships: Mapping[str, Memberships] = dataclasses.field(default_factory=dict)
    """The membership records of groups that have newer ones than the job has read, by group."""


def blocked_partitions_table(hidden: HiddenCommits) -> pa.Table:
    """Return the blocked offsets partitions (schema OFFSETS_HELD_BACK), sorted by partition."""
    rows = [dataclasses.astuple(blocked) for _, blocked in sorted(hidden.blocked_partitions.items())]
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


def nothing_hidden(state: GroupColumns) -> HiddenCommits:
    """Return the result where the log hides nothing."""
    return HiddenCommits(state, np.zeros(len(state.runs), np.bool_))
