"""The job from the offsets topic to the changes of each micro-batch.

bytes - decode, fold -> deltas (per task) - reduce -> shards (state store) - changes -> `on_batch` on the driver
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from stream.spark import fold_task, source
from stream.spark import shard_processor as processor
from stream.spark.fold_task import FoldTask
from stream.spark.shard_processor import ShardProcessor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from stream.groups.placement import Placement
    from stream.groups.reduce import StateLimits


@dataclasses.dataclass(frozen=True, slots=True)
class PipelineOptions:
    """The parameters of the job; `stream.config.options` explains the sizes."""

    partitions: Sequence[int]
    security: Mapping[str, str]
    """The source's `kafka.*` options: addresses and login (`stream.config.java_login.spark_kafka_options`)."""
    placement: Placement
    checkpoint: str
    tasks: int
    trigger_seconds: float
    max_offsets_per_trigger: int
    slot_ms: int
    rules: StateLimits
    """Limits of the state of a shard. `live_from` has the first live position per offsets partition."""
    live_from: Mapping[int, int]
    progress_address: tuple[str, int] | None


def start(spark: SparkSession, job: PipelineOptions, on_batch: Callable[[pa.Table, int], None]) -> StreamingQuery:
    """Start the query. `on_batch` gets, once per finished micro-batch, a table (shard, change, tallies).

    After a crash it may get the same batch again, never a different one with the same number.
    """
    records = source.offsets_topic(
        spark,
        partitions=job.partitions,
        max_offsets_per_trigger=job.max_offsets_per_trigger,
        security=job.security,
    )
    return write(changes(records, job), job, on_batch)


def changes(records: DataFrame, job: PipelineOptions) -> DataFrame:
    """Return the changes per shard: records decoded, folded per task and reduced per shard."""
    fold = FoldTask(job.placement, job.slot_ms, job.rules.keep_slots, job.progress_address)
    return (
        # Few tasks read all partitions one after the other: a Python worker per partition costs more than it reads.
        # A partition is never split, so a key has one task and its commits come in order.
        records.coalesce(job.tasks)
        .mapInArrow(fold, fold_task.OUTPUT)
        .groupBy("shard")
        .transformWithState(ShardProcessor(job.placement, job.rules, job.live_from), processor.OUTPUT, "update", "None")
    )


def write(changed: DataFrame, job: PipelineOptions, on_batch: Callable[[pa.Table, int], None]) -> StreamingQuery:
    """Start the query that passes the changes of each micro-batch to the driver."""

    def collect(batch: DataFrame, number: int) -> None:
        on_batch(batch.toArrow(), number)

    return (
        changed.writeStream.outputMode("update")
        .queryName("lagwarden")
        .option("checkpointLocation", job.checkpoint)
        .foreachBatch(collect)
        .trigger(processingTime=f"{job.trigger_seconds} seconds")
        .start()
    )
