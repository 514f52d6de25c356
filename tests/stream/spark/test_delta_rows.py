"""Deltas as rows for Spark: one row per shard, and the decode statistics of the task once."""

import numpy as np
import pyarrow as pa

from stream.groups.codec import unpack_delta
from stream.groups.decode_stats import DecodeStats
from stream.groups.fold import Fold
from stream.groups.placement import Placement
from stream.groups.record_columns import RecordColumns
from stream.groups.reduce import reduce
from stream.groups.shard import empty_state
from stream.spark.offsets_reading import delta_rows
from tests.support.commits import KEEP, SLOT_MS
from tests.support.raw import commit_key, commit_value


def rows_of(placement: Placement, records: list[tuple[int, int, bytes | None, bytes | None]]) -> list[pa.RecordBatch]:
    """Fold records (partition, offset, key, value) and return the rows."""
    partition, offset, key, value = zip(*records, strict=True) if records else ((), (), (), ())
    fold = Fold(placement, slot_ms=SLOT_MS, keep_slots=KEEP)
    fold.add(
        RecordColumns(
            np.array(partition, np.int32),
            np.array(offset, np.int64),
            np.full(len(records), 1_000, np.int64),
            pa.array(key, pa.binary()),
            pa.array(value, pa.binary()),
        )
    )
    return list(delta_rows(fold, placement))


def test_the_tally_is_in_one_row() -> None:
    """A task that changes many shards returns its tally once, in the row of the first delta."""
    records = [(n, 5, commit_key("g", "t", 0), commit_value(1, 1)) for n in range(4)]
    rows = rows_of(Placement(4, 1), [*records])
    assert [row.column("shard")[0].as_py() for row in rows] == [0, 1, 2, 3]
    assert [row.column("tally")[0].is_valid for row in rows] == [True, False, False, False]
    state, _ = reduce(empty_state(), [unpack_delta(rows[0].column("delta")[0].as_py())], KEEP)
    assert state.position == 5


def test_skipped_offsets_are_counted() -> None:
    """A task whose whole range was deleted returns the number of skipped offsets to the driver."""
    fold = Fold(Placement(4, 1), slot_ms=SLOT_MS, keep_slots=KEEP)
    fold.stats.skipped["deleted"] += 9
    (row,) = delta_rows(fold, Placement(4, 1))
    assert DecodeStats.from_json(row.column("tally")[0].as_py()).skipped == {"deleted": 9}
