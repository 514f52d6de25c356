"""The job from the offsets topic to the changes of each micro-batch.

bytes - decode, fold -> deltas (per task) - reduce -> shards (state store) - changes -> `on_batch` on the driver
"""

import dataclasses
from collections.abc import Callable, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from stream.groups.shard import StateLimits
from stream.process_memory import empty_pandas
from stream.spark import delta_source
from stream.spark import shard_processor as processor
from stream.spark.reading_options import ReadingOptions
from stream.spark.shard_processor import ShardProcessor


@dataclasses.dataclass(frozen=True, slots=True)
class PipelineOptions:
    """The parameters of the job; `stream.config.options` explains the sizes."""

    reading: ReadingOptions
    checkpoint: str
    trigger_seconds: float
    rules: StateLimits
    """Limits of the state of a shard. `live_from` has the first live position per offsets partition."""
    live_from: Mapping[int, int]
    marker: str | None = None
    """A file of the checkpoint that each executor must see; None without executors."""


def start(spark: SparkSession, job: PipelineOptions, on_batch: Callable[[pa.Table, int], None]) -> StreamingQuery:
    """Start the query. `on_batch` gets, once per finished micro-batch, a table (shard, change, tallies).

    After a crash it may get the same batch again, never a different one with the same number.
    """
    return write(changes(delta_source.deltas(spark, job.reading), job), job, on_batch)


def changes(deltas: DataFrame, job: PipelineOptions) -> DataFrame:
    """Return the changes per shard: the deltas of all tasks, reduced per shard."""
    reducer = ShardProcessor(job.reading.placement, job.rules, job.live_from, job.marker)
    with empty_pandas():
        return deltas.groupBy("shard").transformWithState(reducer, processor.OUTPUT, "update", "None")


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
