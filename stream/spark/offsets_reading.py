"""What a task does: fetches its ranges of the offsets topic, decodes and folds them."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from decoders.log.vectors import LogColumns
from stream.checkpoint.spark_offsets import TOPIC
from stream.cluster.records.ranges import OffsetRange, ReadTally
from stream.cluster.records.read import ROWS, read_records
from stream.groups.codec import pack
from stream.groups.decode_stats import DecodeFault, DecodeStats
from stream.groups.fold import Fold
from stream.groups.placement import Placement
from stream.groups.record_columns import RecordColumns
from stream.groups.shard import ShardDelta, empty_delta
from stream.process_memory import release_memory
from stream.spark.batch_plan import ReadRange
from stream.spark.reading_options import ReadingOptions
from stream.spark.task_progress import ProgressSender
from stream.spark.topic_ends import cluster_of

_SCHEMA: Final = pa.schema([("shard", pa.int32()), ("delta", pa.binary()), ("tally", pa.string())])
FOLDED_SCHEMA: Final = _SCHEMA.append(pa.field("change", pa.binary()))
"""Schema of the files with deltas that were folded before the query starts; one row per record batch.

`change` is what the delta changes in an empty state.
"""


def read_deltas(options: ReadingOptions, ranges: Sequence[ReadRange]) -> Iterator[pa.RecordBatch]:
    """Fetch and fold these ranges; yield one row per shard. Raises ClusterError."""
    rows = delta_rows(_folded(options, ranges), options.placement)
    # The worker would keep what a catch-up took beside what follows here, and beside other tasks after this one.
    release_memory()
    yield from rows
    release_memory()


def _folded(options: ReadingOptions, ranges: Sequence[ReadRange]) -> Fold:
    """Return the fold of all records of these ranges."""
    fold = Fold(options.placement, slot_ms=options.slot_ms, keep_slots=options.keep_slots)
    cluster, wanted, tally = cluster_of(options.access), [OffsetRange(*each) for each in ranges], ReadTally()

    def add_aborted(partition: int, producer: int, records: LogColumns) -> None:
        fold.add_aborted(producer, RecordColumns.of_partition(partition, *records))

    with contextlib.ExitStack() as stack:
        progress = ProgressSender(*options.progress_address) if options.progress_address else None
        if progress:
            stack.callback(progress.close)
        reads = read_records(
            cluster, TOPIC, wanted, rows=ROWS, ahead=True, limit=options.limit, tally=tally, on_aborted=add_aborted
        )
        for read in reads:
            fold.add(RecordColumns(read.partition, read.offset, read.timestamp, read.keys, read.values))
            if progress:
                progress.add(read.positions)
    _count(tally, fold.stats)
    return fold


def _count(tally: ReadTally, stats: DecodeStats) -> None:
    """Add what the reader counted: batches that cannot be decoded, and offsets that were passed without being read."""
    for fault, batches in tally.faults.items():
        stats.faults[DecodeFault(None, None, fault.value)] += batches
    for reason, offsets in tally.skipped.items():
        stats.skipped[reason.value] += offsets


def delta_rows(fold: Fold, placement: Placement) -> Iterator[pa.RecordBatch]:
    """Yield one row per shard and reset the fold; the first row carries the decode statistics."""
    tally: str | None = fold.stats.to_json()
    for shard, delta in fold.drain():
        yield _row(shard, delta, tally)
        tally = None
    if tally is not None and fold.stats:
        # Records without a group, mostly malformed ones, change no shard; their statistics need a row all the same.
        yield _row(placement.shard(0, ""), empty_delta(), tally)


def folded_rows(path: str) -> list[pa.RecordBatch] | None:
    """Return the rows of a file of folded deltas, whose records are counted; None if it is not there, or incomplete."""
    try:
        with pa.ipc.open_file(path) as file:
            if file.schema != FOLDED_SCHEMA:
                return None
            rows = (file.get_batch(number) for number in range(file.num_record_batches))
            return [pa.record_batch([*row.columns[:2], pa.nulls(1, pa.string())], schema=_SCHEMA) for row in rows]
    except (OSError, pa.ArrowException):
        return None


def _row(shard: int, delta: ShardDelta, tally: str | None) -> pa.RecordBatch:
    return pa.record_batch([[shard], [pack(delta)], [tally]], schema=_SCHEMA)
