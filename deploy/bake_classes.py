"""Writes the JVM's archive of loaded classes when the image is built: `python bake_classes.py`.

A start with it takes about half the time, and no pod spends its first stop on writing one, which a pod with a part of a
core could not finish. Starts the very session that `lagwarden run` starts and one small stateful stream through
Python; the archive is kept only if the JVM ended in good order. What the stream does not touch is loaded as ever.
"""

from __future__ import annotations

import sys
import tempfile
from typing import TYPE_CHECKING, Final

import pyspark

from stream.class_archive import ClassArchive
from stream.config_values import cached_classes, cached_jars
from stream.session import SessionOptions, end_session, open_session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

GRACE_SECONDS: Final = 300.0
"""For the JVM to write some 170 MB; a build has time."""


def bake() -> Path | None:
    """Make the archive of this machine's JVM and give its path; None if there is none in the end."""
    archive = ClassArchive.at(cached_classes(), pyspark.__version__)
    if archive is None:
        return None
    options = SessionOptions(
        master="local[2]",
        driver_memory="512m",
        driver_host="127.0.0.1",
        connector_jars=sorted(cached_jars().glob("*.jar")),
        shuffle_partitions=2,
        class_archive=archive,
    )
    session = open_session(options)
    try:
        _work(session)
    finally:
        end_session(session, options, GRACE_SECONDS)
    return archive.path if archive.path.is_file() else None


def _work(session: SparkSession) -> None:
    """Run a stream of the kind that the job is: rows through Python, state, each batch to the driver as Arrow."""
    # Only planned: the connector's own classes, without a broker.
    kafka = session.readStream.format("kafka").option("kafka.bootstrap.servers", "127.0.0.1:1")
    assert kafka.option("subscribe", "none").load().isStreaming  # noqa: S101 -- it is the load that matters

    def collect(batch: DataFrame, _number: int) -> None:
        batch.toArrow()

    rows = session.readStream.format("rate").option("rowsPerSecond", "100").load()
    counted = rows.mapInArrow(_through, "timestamp timestamp, value long").groupBy("value").count()
    with tempfile.TemporaryDirectory() as folder:
        writer = counted.writeStream.outputMode("update").option("checkpointLocation", folder).foreachBatch(collect)
        query = writer.trigger(processingTime="1 second").start()
        # A first batch, and two that find state.
        while len(query.recentProgress) < 3 and query.isActive:
            query.awaitTermination(1)
        query.stop()


def _through(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


if __name__ == "__main__":
    baked = bake()
    print(f"classes: {baked}" if baked else "classes: none could be archived")  # noqa: T201 -- a build's answer
    sys.exit(0 if baked else 1)
