"""State and driver state for tests: records in, changes and columns out, without Spark."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from stream.cluster.partition_offsets import ENDS
from stream.groups.commits.run_table import no_runs
from stream.groups.driver_state import DriverState
from stream.groups.fold import Fold
from stream.groups.placement import Placement
from stream.groups.record_columns import RecordColumns
from stream.groups.reduce import reduce
from stream.groups.row_order import NO_EVENTS
from stream.groups.shard import NOTHING_READ, MembershipRecords, ShardChange, ShardDelta, StateLimits, empty_state
from tests.support.commits import KEEP, SLOT_MS

Raw = tuple[bytes | None, bytes | None]
Timed = tuple[int, bytes | None, bytes | None]
"""A record's timestamp (ms), key and value."""


class ShardReader:
    """Reads the records of one offsets partition into its state, as in the state store, and into the driver state."""

    def __init__(self, limits: StateLimits | None = None) -> None:
        self.driver_state = DriverState()
        self.state = empty_state()
        self.change = ShardChange(no_runs(), MembershipRecords.empty(), NOTHING_READ)
        self.events = NO_EVENTS
        self.limits = limits or StateLimits(KEEP)
        self._position = 0

    def read(self, records: Sequence[Raw], time: int = 0) -> ShardChange:
        """Reduce a batch of records with this timestamp (ms), and return the change."""
        return self.apply(delta_of([(time, *record) for record in records], self._position))

    def apply(self, delta: ShardDelta) -> ShardChange:
        """Reduce a delta and return the change; `events` are those of the change."""
        self._position = max(self._position, delta.position + 1)
        self.state, self.change = reduce(self.state, [delta], self.limits)
        self.events = self.driver_state.apply(0, self.change)
        return self.change


def delta_of(records: Sequence[Timed], position: int, cuts: Sequence[int] = ()) -> ShardDelta:
    """Return the delta of records from this position on, folded in Arrow batches that are split at `cuts`."""
    fold = Fold(Placement(1, 1), slot_ms=SLOT_MS, keep_slots=KEEP)
    borders = [0, *sorted(min(cut, len(records)) for cut in cuts), len(records)]
    for begin, end in itertools.pairwise(borders):
        fold.add(batch_of(records[begin:end], position + begin))
    ((_, delta),) = fold.drain()
    return delta


def batch_of(records: Sequence[Timed], position: int) -> RecordColumns:
    """Return consecutive records of one partition as the columns that a fold reads."""
    return RecordColumns(
        np.zeros(len(records), np.int32),
        np.arange(position, position + len(records)),
        np.array([time for time, _, _ in records], np.int64),
        pa.array([key for _, key, _ in records], pa.binary()),
        pa.array([value for _, _, value in records], pa.binary()),
    )


def ends_of(
    rows: Sequence[tuple[str, int, int | None, int | None, int | None, str | None]],
    leaders: Mapping[tuple[str, int], int] | None = None,
    epochs: Mapping[tuple[str, int], int] | None = None,
) -> pa.Table:
    """Return ends as the cluster does: topic, partition, high watermark, last stable offset, log start, error.

    `leaders` has the brokers that lead partitions, `epochs` their epochs, by topic and partition; all others have no
    known leader and no known epoch.
    """
    ordered = sorted(rows, key=lambda row: row[:2])
    full = [(*row, (leaders or {}).get(row[:2]), (epochs or {}).get(row[:2])) for row in ordered]
    columns = list(zip(*full, strict=True)) or [()] * len(ENDS)
    arrays = []
    for column, field in zip(columns, ENDS, strict=True):
        is_dictionary = pa.types.is_dictionary(field.type)
        array = pa.array(column, pa.string() if is_dictionary else field.type)
        arrays.append(array.dictionary_encode().cast(field.type) if is_dictionary else array)
    return pa.table(arrays, schema=ENDS)
