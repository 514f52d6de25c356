"""The pipeline of the job over rows, without Spark: fold, reduce, and the driver state at the end.

Tasks, state store and micro-batches are left out; fold, reduce and driver state are the same code as in the job. How
the rows are split into batches does not matter, because merging adjacent runs is associative.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
import pyarrow as pa

from stream.groups.decode_stats import DecodeStats
from stream.groups.driver_state import DriverState
from stream.groups.fold import Fold
from stream.groups.placement import Placement
from stream.groups.record_columns import RecordColumns
from stream.groups.reduce import reduce
from stream.groups.shard import ShardState, StateLimits, empty_state
from stream.offline.rows import OFFSETS_TOPIC, LogRow, batch_rows

ROWS_PER_BATCH: Final = 65_536
_SLOT_MS: Final = 30_000
_KEEP_SLOTS: Final = 10


class Replay:
    """Reads rows in any number of calls; `driver_state`, `shards` and `decode_stats` are current after each call.

    Nothing is dropped: dead groups and all their transitions are kept.
    """

    def __init__(self, *, slot_ms: int = _SLOT_MS, keep_slots: int = _KEEP_SLOTS) -> None:
        self.driver_state = DriverState()
        self.decode_stats = DecodeStats()
        self.shards: dict[int, ShardState] = {}
        """The state of each shard, as the state store has it."""
        self._limits = StateLimits(keep_slots, keep_transitions=None, dead_grace_ms=None)
        # One shard per offsets partition; more shards would only distribute the work.
        self._fold = Fold(Placement(1, 1), slot_ms=slot_ms, keep_slots=keep_slots)

    def read(self, rows: Iterable[LogRow], rows_per_batch: int = ROWS_PER_BATCH) -> None:
        """Apply the rows of the offsets topic; rows of other topics are skipped."""
        offsets_rows = (row for row in rows if row.topic == OFFSETS_TOPIC)
        for batch in batch_rows(offsets_rows, rows_per_batch):
            self.add(record_columns(batch))
        self.decode_stats = self._fold.stats

    def add(self, records: RecordColumns) -> None:
        """Apply records of the offsets topic, in log order within each of its partitions, which have one shard each."""
        self._fold.add(records)
        for shard, delta in self._fold.drain():
            state, change = reduce(self.shards.get(shard, empty_state()), [delta], self._limits)
            self.shards[shard] = state
            self.driver_state.apply(shard, change)


def record_columns(rows: list[LogRow], *, no_time: int = 0) -> RecordColumns:
    """Return the rows as columns, for `Fold` and tables. A record without a timestamp gets the time `no_time`."""
    return RecordColumns(
        offsets_partition=np.array([row.partition for row in rows], np.int32),
        position=np.array([row.offset for row in rows], np.int64),
        time=np.array([no_time if row.timestamp is None else row.timestamp for row in rows], np.int64),
        keys=pa.array([row.key for row in rows], pa.binary()),
        values=pa.array([row.value for row in rows], pa.binary()),
    )
