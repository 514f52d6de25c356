"""The columns of one shard: commit runs, the newest record of every membership key, group histories, tombstones.

Three types share one layout, and the type says what a value may contain. `ShardDelta` is what one task read,
`ShardState` is what the state store keeps, and `ShardChange` is what one batch changed in a state.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar, Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream.groups.commits.run_table import Runs, no_runs
from stream.groups.commits.runs import NEVER
from stream.groups.commits.tombstones import AbortedCommits, OffsetTombstones
from stream.groups.lifecycle.record import HistoryTable
from stream.groups.record_columns import KeyTable

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
class _Shard:
    """What the three types have, up to the record at `position` of the offsets partition."""

    runs: Runs
    records: MembershipRecords
    position: int
    _: dataclasses.KW_ONLY
    time: int = NEVER
    """The newest timestamp (ms) of a record read; in a change, also of those before its batch."""
    aborts: AbortedCommits = dataclasses.field(default_factory=AbortedCommits.empty)
    """The aborted commits after the last commit of their key."""


@dataclasses.dataclass(frozen=True, slots=True)
class ShardState(_Shard):
    """The groups of one shard. Every run has commits, and every record and history has a value."""

    histories: HistoryTable = dataclasses.field(default_factory=HistoryTable.empty)


@dataclasses.dataclass(frozen=True, slots=True)
class ShardDelta(_Shard):
    """What one task read for a shard. A run without commits, and a record without a value, are deletions."""

    tombstones: OffsetTombstones = dataclasses.field(default_factory=OffsetTombstones.empty)
    """The offset tombstones among the records read."""


@dataclasses.dataclass(frozen=True, slots=True)
class ShardChange(_Shard):
    """What one batch changed in a state: the new rows of every key that was touched, and the offset tombstones.

    A run without commits, and a record or a history without a value, are deletions. A commit among `runs` ends the
    aborted commits before it.
    """

    histories: HistoryTable = dataclasses.field(default_factory=HistoryTable.empty)
    tombstones: OffsetTombstones = dataclasses.field(default_factory=OffsetTombstones.empty)
    """The offset tombstones among the records read."""


KEEP_TRANSITIONS: Final = 32
DEAD_GRACE_MS: Final = 3_600_000


@dataclasses.dataclass(frozen=True, slots=True)
class StateLimits:
    """How much a state keeps. None: everything, without end.

    `dead_grace_ms` is how long a dead group is kept; a group that returns within this time is recreated, not created.
    The state drops dead groups by the timestamps of the records that it reads, whenever it is touched. A timer would be
    one more thing that a replayed batch has to repeat, and a shard without records has nothing new to store.
    `live_from` is the position in the offsets partition from which transitions are live, not replayed history.
    `latest` is the time of the reader (ms), None without a clock. A timestamp of a record after it is wrong, and counts
    as this time: one record of tomorrow would else drop every group that dies today at once, also after a restart.
    """

    keep_slots: int
    keep_transitions: int | None = KEEP_TRANSITIONS
    dead_grace_ms: int | None = DEAD_GRACE_MS
    live_from: int = 0
    latest: int | None = None

    def in_partition(self, partition: int, live_from: Mapping[int, int], latest: int) -> Self:
        """Return the limits of the shards of an offsets partition; `live_from` has the position per partition."""
        return dataclasses.replace(self, live_from=live_from.get(partition, 0), latest=latest)


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
