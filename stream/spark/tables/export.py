"""Exports tables to files: streams into Spark's file sink, which writes each record exactly once, by day."""

import dataclasses
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, to_date
from pyspark.sql.streaming.query import StreamingQuery

from stream.errors import ExitCode, Refusal
from stream.spark.errors import SparkCallError, SparkFailure, spark_call
from stream.spark.query import stop
from stream.spark.tables.source import FORMAT, ConsumerOffsets
from stream.tables.columns import TABLES, table_of

FORMATS: Final = ("parquet", "orc", "json")
EXPORTED: Final = tuple(name for name, table in TABLES.items() if table.streams)
_POLL_SECONDS: Final = 0.5
_GRACE_SECONDS: Final = 30.0


@dataclasses.dataclass(frozen=True, slots=True)
class ExportOptions:
    """What is exported: `to/TABLE/day=YYYY-MM-DD/`, with the progress of each query in `to/_checkpoints/TABLE`."""

    to: str
    tables: Sequence[str]
    format: str
    source: Mapping[str, str]
    """The options of the data source."""
    every: float | None
    """Seconds between two micro-batches; None: export what is there, and end."""


def check_export(options: ExportOptions) -> None:
    """Raise Refusal for a format or a table that cannot be exported, and for another format than that of the files."""
    if options.format not in FORMATS:
        raise Refusal(f"--format {options.format}", f"it must be one of {', '.join(FORMATS)}", ExitCode.USAGE)
    for name in options.tables:
        if not table_of(name).streams:
            what = f"table {name} is not exported, because a stream reads only new records"
            raise Refusal(what, f"export {', '.join(EXPORTED)}", ExitCode.USAGE)
        found = {file.suffix.removeprefix(".") for file in Path(options.to, name).glob("day=*/part-*")}
        for other in sorted(found & set(FORMATS) - {options.format}):
            # Spark reads a directory as one format.
            what = f"{options.to}/{name} has files of the format {other}"
            raise Refusal(what, f"use --format {other}, or another directory", ExitCode.USAGE)


def export(spark: SparkSession, options: ExportOptions, stopping: threading.Event) -> dict[str, int]:
    """Export until all is exported or `stopping` is set; return the number of rows by table.

    Raises Refusal if a query fails; what its batches wrote before stays, and the next export goes on after it.
    """
    spark.dataSource.register(ConsumerOffsets)
    # The default is a type of 96 bits without a time zone, which only Spark reads as it was meant.
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    try:
        with spark_call("export"):
            return run_to_end({name: _start(spark, options, name) for name in dict.fromkeys(options.tables)}, stopping)
    except SparkCallError as error:
        raise Refusal(str(error), "fix the cause and run the command again", ExitCode.QUERY_FAILED) from error


def _start(spark: SparkSession, options: ExportOptions, name: str) -> StreamingQuery:
    table = spark.readStream.format(FORMAT).options(**options.source).option("table", name).load()
    writer = (
        table.withColumn("day", to_date(col("record_time")))
        .writeStream.queryName(f"export of {name}")
        .format(options.format)
        .partitionBy("day")
        .option("path", f"{options.to}/{name}")
        .option("checkpointLocation", f"{options.to}/_checkpoints/{name}")
    )
    if options.every is None:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{options.every} seconds").start()


def run_to_end(queries: Mapping[str, StreamingQuery], stopping: threading.Event) -> dict[str, int]:
    """Return the number of rows that each query read, when all have ended.

    Each is stopped after its batch if `stopping` is set, or if one has failed. Raises SparkCallError for that one.
    """
    rows: dict[str, dict[int, int]] = {name: {} for name in queries}
    error = None
    running = True
    while running:
        running = any(query.isActive for query in queries.values())
        for name, query in queries.items():
            # Spark keeps a few reports. One without new records has the number of the next batch.
            for report in query._jsq.recentProgress():  # noqa: SLF001 -- as in `last_report`
                batch = report.batchId()
                rows[name][batch] = max(rows[name].get(batch, 0), report.numInputRows())
            error = error or query.exception()
        if running and (error is not None or stopping.wait(_POLL_SECONDS)):
            for query in queries.values():
                stop(query, _GRACE_SECONDS)
    if error is not None:
        raise SparkCallError("export", SparkFailure.of(error))
    return {name: sum(batches.values()) for name, batches in rows.items()}
