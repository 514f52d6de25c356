"""Offsets partitions blocked by an open transaction, and the groups whose commits it hides. Values only.

The job reads committed records, so an open transaction on a partition of `__consumer_offsets` hides all records behind
its last stable offset: groups that commit look as if they had stopped. Until it ends, the tick reads these records.
"""

import dataclasses
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from exporters.readmodel import OFFSETS_HELD_BACK, rows_table
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
    unread: int | None = None
    """The offsets behind the last stable offset that the last read did not reach."""


@dataclasses.dataclass(frozen=True, slots=True)
class HiddenCommits:
    """The driver state of one tick with what open transactions hide in the log."""

    state: GroupColumns
    """The driver state with the hidden records; the same object if there are none."""
    is_hidden: Flags
    """Mask of the rows whose last commit is behind the last stable offset."""
    blocked_partitions: Mapping[int, BlockedOffsetsPartition] = dataclasses.field(default_factory=dict)
    """The blocked offsets partitions by number."""
    read_groups: frozenset[str] = frozenset()
    """Groups of the blocked partitions that were read to their ends, and groups with a hidden commit."""
    unread_groups: frozenset[str] = frozenset()
    """Groups of the other blocked partitions: their commits may be newer than known."""
    hidden_groups: frozenset[str] = frozenset()
    """Groups with records that the job may not have read: a tombstone that is missing may be among them."""
    memberships: Mapping[str, Memberships] = dataclasses.field(default_factory=dict)
    """The membership records of groups that have newer ones than the job has read, by group."""


def blocked_partitions_table(hidden: HiddenCommits) -> pa.Table:
    """Return the blocked offsets partitions (schema OFFSETS_HELD_BACK), sorted by partition."""
    rows = (dataclasses.astuple(blocked) for _, blocked in sorted(hidden.blocked_partitions.items()))
    return rows_table(rows, OFFSETS_HELD_BACK)


def nothing_hidden(state: GroupColumns) -> HiddenCommits:
    """Return the result where the log hides nothing."""
    return HiddenCommits(state, np.zeros(len(state.runs), np.bool_))
