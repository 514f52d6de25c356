"""Writes the archive of the JVM's classes: `python -m deploy.bake_classes`, by `make setup` and the image's build.

Spark starts in about half the time with it. The JVM writes the archive, 170 MB, when it ends; `lagwarden run` has no
time for that when it is stopped. This starts the session that `lagwarden run` starts and the same query over a source
without records; the archive is kept only if the JVM ended in good order.

All of it is bounded in time. A failure is one line and exit code 1, and is remembered in a file beside the archive, so
that it is not tried again with every `make setup`.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import tempfile
import threading
import time
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from stream import logs
from stream.config.kafka_login import KafkaLogin
from stream.config.values import class_archive_folder
from stream.errors import Refusal
from stream.groups.codec import pack
from stream.groups.placement import Placement
from stream.groups.reduce import StateLimits
from stream.groups.shard import empty_delta
from stream.spark.class_archive import ClassArchive
from stream.spark.delta_source import COLUMNS
from stream.spark.errors import SparkCallError, spark_call
from stream.spark.jvm_process import JvmOptions
from stream.spark.pipeline import PipelineOptions, changes, write
from stream.spark.reading_options import ClusterAccess, ReadingOptions
from stream.spark.session import SessionOptions, end_session, open_session

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

WORK_SECONDS: Final = 180.0
"""For the start of the JVM and the stream; a quiet machine needs a tenth of it."""
WRITE_SECONDS: Final = 120.0
"""For the JVM to write the archive."""


class BakeError(RuntimeError):
    """There is no archive. The message is one line."""


def bake(folder: Path, spark_version: str) -> Path:
    """Write the archive of this machine's JVM and return its path. Raises BakeError."""
    over = threading.Event()
    try:
        archive = ClassArchive.to_write(folder, spark_version)
        complete = False
        try:
            with _time_limit(WORK_SECONDS, over), spark_call("run a stream"):
                session = _run_stream(archive)
            complete = end_session(session, WRITE_SECONDS)
        finally:
            kept = archive.keep(complete=complete)
    except (OSError, Refusal, SparkCallError) as error:
        raise BakeError(f"no stream ran within {WORK_SECONDS:g} s" if over.is_set() else str(error)) from None
    if not kept:
        raise BakeError("the JVM wrote none" if complete else f"the JVM did not write it within {WRITE_SECONDS:g} s")
    return archive.path


def _run_stream(archive: ClassArchive) -> SparkSession:
    """Start a session, run the stream in it and return it; a session whose stream fails is ended."""
    session = _session(archive)
    try:
        _work(session)
    except BaseException:
        end_session(session, 0.0)
        raise
    return session


def _session(archive: ClassArchive) -> SparkSession:
    return open_session(
        SessionOptions(
            master="local[2]",
            jvm=JvmOptions("512m", archive),
            driver_host="127.0.0.1",
            shuffle_partitions=2,
        )
    )


def _work(session: SparkSession) -> None:
    """Run the job's query: rows from Python, state, each batch to the driver as Arrow."""
    session.dataSource.register(EmptyDeltas)
    with tempfile.TemporaryDirectory() as folder:
        job = PipelineOptions(
            reading=ReadingOptions(
                ClusterAccess((), KafkaLogin(), 1.0),
                starts={},
                tasks=2,
                most_offsets=1,
                limit=1.0,
                placement=Placement(1, 1),
                slot_ms=30_000,
                keep_slots=10,
                progress_address=None,
            ),
            checkpoint=folder,
            trigger_seconds=1.0,
            rules=StateLimits(keep_slots=10),
            live_from={},
        )
        query = write(changes(session.readStream.format(EmptyDeltas.name()).load(), job), job, lambda *_: None)
        # A first batch, and two that find state.
        while len(query.recentProgress) < 3 and query.isActive:
            query.awaitTermination(1)
        query.stop()


class EmptyDeltas(DataSource):
    """A source of deltas without records, one per trigger."""

    @classmethod
    def name(cls) -> str:
        """See DataSource."""
        return "lagwarden_empty_deltas"

    def schema(self) -> str:
        """See DataSource."""
        return COLUMNS

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 -- Spark's name
        """See DataSource."""
        return _EmptyReader()


class _EmptyReader(DataSourceStreamReader):
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 -- Spark's name
        return {"trigger": 0}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: ARG002, N802 -- Spark's name
        return {"trigger": start["trigger"] + 1}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:  # noqa: ARG002
        return [InputPartition(end["trigger"])]

    def read(self, partition: InputPartition) -> Iterator[tuple[int, bytes, None]]:  # noqa: ARG002
        yield 0, pack(empty_delta()), None


@contextlib.contextmanager
def _time_limit(seconds: float, over: threading.Event) -> Iterator[None]:
    """Raise TimeoutError in the block when it takes longer, and set `over`: py4j turns the error into one of its own.

    For the main thread.
    """

    def end(*_: object) -> None:
        over.set()
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def main() -> int:
    """Bake unless there is an archive, or it failed before. Returns 1 if there is none in the end."""
    logs.configure("error")
    folder, version = class_archive_folder(), metadata.version("pyspark")
    archive = ClassArchive.existing(folder, version)
    failed = folder / f"spark-{version}.failed"
    if archive is not None:
        say(f"{archive.path}")
        return 0
    if failed.exists():
        say(f"none: {failed.read_text().strip()}. To try again, remove {failed}")
        return 1
    say("archiving the JVM's classes, so that Spark starts in half the time (a minute on a quiet machine)")
    started = time.monotonic()
    try:
        path = bake(folder, version)
    except BakeError as error:
        say(f"none, Spark starts slower: {error}")
        with contextlib.suppress(OSError):
            failed.write_text(f"{error}\n")
        return 1
    say(f"{path}, {path.stat().st_size / 1e6:.0f} MB in {time.monotonic() - started:.0f} s")
    return 0


def say(text: str) -> None:
    """Print a line of the set-up."""
    print(f"classes: {text}", flush=True)  # noqa: T201 -- the answer of a build


if __name__ == "__main__":
    sys.exit(main())
