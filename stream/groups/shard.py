"""The columns of one shard: commit runs, the newest record of every membership key, group histories, tombstones.

Three types share one layout, and the type says what a value may contain. `ShardDelta` is what one task read,
`ShardState` is what the state store keeps, and `ShardChange` is what one batch changed in a state.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import pyarrow as pa

from stream.groups.commits.run_table import Runs, no_runs
from stream.groups.commits.runs import NEVER
from stream.groups.commits.tombstones import AbortedCommits, OffsetTombstones
from stream.groups.lifecycle.record import HistoryTable
from stream.groups.record_columns import KeyTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOTHING_READ: Final = -1
"""Position of a shard that has read no record yet."""


@dataclasses.dataclass(frozen=True, slots=True)
class MembershipRecords(KeyTable):
    """Membership records (types 2 and up) as they stand in the log, in log order; a null value is a tombstone."""

    BYTES: ClassVar[Mapping[str, str]] = {"keys": "key", "values": "value"}

    keys: pa.BinaryArray
    values: pa.BinaryArray
    position: NDArray[np.int64]
    time: NDArray[np.int64]
    """Timestamp of the record itself, in ms."""
    packed: bytes | None = dataclasses.field(default=None, compare=False, repr=False)
    """The bytes that the table was read from, so that `codec` need not pack an unchanged table again."""


@dataclasses.dataclass(frozen=True, slots=True)
class ShardState:
    """The groups of one shard after the record at `position` of the offsets partition.

    Every run has commits, and every record and history has a value.
    """

    runs: Runs
    records: MembershipRecords
    position: int
    histories: HistoryTable = dataclasses.field(default_factory=HistoryTable.empty)
    time: int = NEVER
    """The newest timestamp (ms) of a record read."""
    aborts: AbortedCommits = dataclasses.field(default_factory=AbortedCommits.empty)
    """The aborted commits of each key since its last commit, see `aborts`."""


@dataclasses.dataclass(frozen=True, slots=True)
class ShardDelta:
    """What one task read for a shard, up to the record at `position` of the offsets partition.

    A run without commits, and a record without a value, are deletions.
    """

    runs: Runs
    records: MembershipRecords
    position: int
    tombstones: OffsetTombstones = dataclasses.field(default_factory=OffsetTombstones.empty)
    """The offset tombstones among the records read."""
    time: int = NEVER
    """The newest timestamp (ms) of a record read."""
    aborts: AbortedCommits = dataclasses.field(default_factory=AbortedCommits.empty)
    """The aborted commits read after the last commit of their key."""


@dataclasses.dataclass(frozen=True, slots=True)
class ShardChange:
    """What one batch changed in a state: the new rows of every key that was touched, and the offset tombstones.

    A run without commits, and a record or a history without a value, are deletions.
    """

    runs: Runs
    records: MembershipRecords
    position: int
    histories: HistoryTable = dataclasses.field(default_factory=HistoryTable.empty)
    tombstones: OffsetTombstones = dataclasses.field(default_factory=OffsetTombstones.empty)
    """The offset tombstones among the records read."""
    time: int = NEVER
    """The newest timestamp (ms) of a record read, also of those before this batch."""
    aborts: AbortedCommits = dataclasses.field(default_factory=AbortedCommits.empty)
    """The aborted commits of each key of which some were read. A commit among `runs` ends those before it."""


def newest_records(records: MembershipRecords) -> MembershipRecords:
    """Return the last record of each key, in the order of their positions."""
    if len(records) < 2:
        return records
    codes = records.keys.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    last = np.full(codes.max() + 1, -1, np.int64)
    last[codes] = np.arange(len(codes))  # the last assignment of an index wins
    return records if len(last) == len(records) else records.take(np.sort(last))


def empty_state() -> ShardState:
    """Return the state of a shard that has read nothing."""
    return ShardState(no_runs(), MembershipRecords.empty(), NOTHING_READ)


def empty_delta() -> ShardDelta:
    """Return the delta of a task that read no record of a shard."""
    return ShardDelta(no_runs(), MembershipRecords.empty(), NOTHING_READ)
