"""The work of each task: folds Arrow batches of records into one packed delta per touched shard (`groups.fold`)."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from stream.groups.codec import pack
from stream.groups.fold import Fold, RecordColumns
from stream.groups.shard import empty_delta
from stream.spark.task_progress import ProgressSender

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream.groups.placement import Placement
    from stream.groups.shard import ShardDelta

OUTPUT: Final = "shard int, delta binary, tally string"
"""Columns of the deltas. `tally` has the decode statistics of the task, in its first row only."""

_SCHEMA: Final = pa.schema([("shard", pa.int32()), ("delta", pa.binary()), ("tally", pa.string())])
_FOLD_ROWS: Final = 65_536
_FOLD_BYTES: Final = 64 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class FoldTask:
    """The function of `mapInArrow`. Spark pickles it for every task, so its fields are small values."""

    placement: Placement
    slot_ms: int
    keep_slots: int
    progress_address: tuple[str, int] | None
    """Address of the `ProgressReceiver` of the driver; None: no progress reports."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Fold the records of a task into one delta per shard; the first row carries the decode statistics."""
        fold = Fold(self.placement, slot_ms=self.slot_ms, keep_slots=self.keep_slots)
        with contextlib.ExitStack() as stack:
            progress = ProgressSender(self.progress_address) if self.progress_address else None
            if progress:
                stack.callback(progress.close)
            for batch in _larger(batches):
                fold.add(_batch(batch))
                if progress:
                    progress.add(batch)
        tally: str | None = fold.stats.to_json()
        for shard, delta in fold.drain():
            yield _row(shard, delta, tally)
            tally = None
        if tally is not None and fold.stats:
            # Records without a group, mostly malformed ones, change no shard; their statistics need a row all the same.
            yield _row(self.placement.shard(0, ""), empty_delta(), tally)


def _row(shard: int, delta: ShardDelta, tally: str | None) -> pa.RecordBatch:
    return pa.record_batch([[shard], [pack(delta)], [tally]], schema=_SCHEMA)


def _larger(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield consecutive batches in larger tables: Spark's are small to bound memory, and a fold has a fixed cost."""
    pending: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        pending.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _FOLD_ROWS or size >= _FOLD_BYTES:
            yield pa.Table.from_batches(pending)
            pending, rows, size = [], 0, 0
    if pending:
        yield pa.Table.from_batches(pending)


def _batch(table: pa.Table) -> RecordColumns:
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    return RecordColumns(
        offsets_partition=columns["partition"].to_numpy(zero_copy_only=False),
        position=columns["offset"].to_numpy(zero_copy_only=False),
        time=columns["timestamp"].cast(pa.int64()).to_numpy(zero_copy_only=False) // 1000,
        keys=columns["key"],
        values=columns["value"],
    )
