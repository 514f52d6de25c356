"""A small job over a capture, which also writes the checkpoint of an earlier Spark release.

`python -m tests.stream.spark.capture_job FOLDER`, run in an environment with that release, writes the capture, the
checkpoint and, as `checkpoint-spark-VERSION.tar.gz`, the archive in `tests/captures`.
"""

import sys
import tarfile
import time
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession

from stream.config.kafka_login import KafkaLogin
from stream.groups.shard import StateLimits
from stream.spark.jvm_process import JvmOptions
from stream.spark.pipeline import PipelineOptions, changes, write
from stream.spark.reading_options import ClusterAccess
from stream.spark.session import SessionOptions, end_session, open_session
from tests.stream.offline.captures import capture_of, commit
from tests.stream.spark.capture_source import capture_file
from tests.stream.spark.readings import reading_options

BATCHES: Final = 6
ROWS_PER_BATCH: Final = 10
WRITTEN_IN: Final = "/tmp/lagwarden-old-checkpoint"  # noqa: S108 -- Spark stores the path in the checkpoint
"""The folder in which the archived checkpoint was made."""


class CaptureJob:
    """The job with its capture and its checkpoint in one folder."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.capture: Final = folder / "commits.avro"
        self.checkpoint: Final = folder / "checkpoint"
        self._spark = spark

    def add(self, batch: int) -> None:
        rows = range(batch * ROWS_PER_BATCH, (batch + 1) * ROWS_PER_BATCH)
        capture_of(self.capture, [commit(at, at, partition=at % 2, number=at % 2) for at in rows])

    def start(self) -> Any:
        options = job_options(self.checkpoint)
        return write(changes(capture_file(self._spark, self.capture, options.reading), options), options, _discard)


def job_options(checkpoint: Path) -> PipelineOptions:
    """Return the options of a job that reads no cluster."""
    return PipelineOptions(
        reading=reading_options(access=ClusterAccess((), KafkaLogin(), 1.0), most_offsets=1_000_000, limit=1.0),
        checkpoint=str(checkpoint),
        trigger_seconds=0.1,
        rules=StateLimits(keep_slots=10),
        live_from={},
    )


def _discard(_table: pa.Table, _number: int) -> None:
    """Discard the changes of a batch; the tests read the state."""


def session_options() -> SessionOptions:
    return SessionOptions("local[2]", JvmOptions("512m"), "127.0.0.1", shuffle_partitions=2)


def main(folder: Path) -> None:
    """Write a checkpoint that holds both snapshots and changelogs, and its archive."""
    folder.mkdir(parents=True)
    options = session_options()
    spark = open_session(options)
    spark.conf.set("spark.sql.streaming.stateStore.maintenanceInterval", "300ms")
    spark.conf.set("spark.sql.streaming.stateStore.minDeltasForSnapshot", "2")
    job = CaptureJob(spark, folder)
    job.add(0)
    query = job.start()
    for batch in range(1, BATCHES):
        query.processAllAvailable()
        time.sleep(1)  # for the maintenance thread
        job.add(batch)
    query.processAllAvailable()
    query.stop()
    end_session(spark, 60)
    with tarfile.open(folder / f"checkpoint-spark-{pyspark.__version__}.tar.gz", "w:gz") as archive:
        archive.add(job.checkpoint, "checkpoint")
        archive.add(job.capture, job.capture.name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
