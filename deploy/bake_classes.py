"""Writes the archive of the JVM's classes: `python -m deploy.bake_classes`, by `make setup` and the image's build.

Spark starts in about half the time with it. The JVM writes the archive, 170 MB, when it ends; `lagwarden run` has no
time for that when it is stopped. This starts the session that `lagwarden run` starts and the same query over a source
without records; the archive is kept only if the JVM ended in good order.

All of it is bounded in time, in seconds of a quiet machine. A failure is one line and exit code 1, and is remembered in
a file beside the archive, so that it is not tried again with every `make setup`. With `--unless-busy` a busy machine is
left alone, with one line and without that file, and no archive is no failure. SIGTERM ends the JVM, too.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from stream import logs
from stream.config.kafka_login import KafkaLogin
from stream.config.values import class_archive_folder
from stream.errors import Refusal
from stream.groups.codec import pack
from stream.groups.placement import Placement
from stream.groups.shard import StateLimits, empty_delta
from stream.spark.class_archive import ClassArchive
from stream.spark.delta_source import COLUMNS
from stream.spark.errors import SparkCallError, spark_call
from stream.spark.jvm_process import JvmOptions, JvmProcess, JvmStartError
from stream.spark.pipeline import PipelineOptions, changes, write
from stream.spark.reading_options import ClusterAccess, ReadingOptions
from stream.spark.session import SessionOptions, end_session, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

LIMIT: Final = 300.0
"""Seconds for all of it on a quiet machine, which needs a tenth of that."""
PERIOD: Final = 15.0
"""Seconds between two looks at the load, each with a line."""
BUSY: Final = 4.0
"""The load per core above which the archive is left for another time."""
_FOREVER: Final = 86_400.0


class BakeError(RuntimeError):
    """There is no archive. The message is one line."""


class BusyError(BakeError):
    """The machine is too busy."""


def bake(folder: Path, spark_version: str, *, unless_busy: bool) -> Path:
    """Write the archive of this machine's JVM and return its path. Raises BakeError."""
    end: list[BakeError] = []
    try:
        archive = ClassArchive.to_write(folder, spark_version)
        complete = False
        try:
            complete = _run_stream(archive, end, unless_busy=unless_busy)
        finally:
            kept = archive.keep(complete=complete)
    except (OSError, JvmStartError, Refusal, SparkCallError) as error:
        raise (end[0] if end else BakeError(str(error))) from None
    if not kept:
        raise BakeError("the JVM wrote none" if complete else "the JVM did not end in good order")
    return archive.path


def _run_stream(archive: ClassArchive, end: list[BakeError], *, unless_busy: bool) -> bool:
    """Run the stream in a session that writes the archive at its end; return whether that was in good order.

    The JVM does not outlive an error or a signal.
    """
    options = SessionOptions("local[2]", JvmOptions("512m", archive), driver_host="127.0.0.1", shuffle_partitions=2)
    jvm = JvmProcess.start(options.jvm)
    try:
        with _watched(end, unless_busy=unless_busy), spark_call("run a stream"):
            session = open_session(options, jvm)
            _work(session)
            return end_session(session, _FOREVER)
    except BaseException:
        jvm.kill()
        raise


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
def _watched(end: list[BakeError], *, unless_busy: bool) -> Iterator[None]:
    """Print that the block goes on; raise TimeoutError in it, with its reason in `end`, when its time is over.

    py4j turns the error into one of its own. For the main thread.
    """
    began, left = time.monotonic(), LIMIT

    def look(*_: object) -> None:
        nonlocal left
        load = load_per_core()
        left -= PERIOD / max(load, 1.0)
        if unless_busy and load > BUSY:
            end.append(BusyError(busy(load)))
        elif left < 0:
            end.append(BakeError(f"not written after {time.monotonic() - began:.0f} s"))
        if end:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise TimeoutError
        say(f"{time.monotonic() - began:.0f} s, load {load:.1f} per core")

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, PERIOD, PERIOD)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def load_per_core() -> float:
    """Return how many processes ran or waited per core of this machine in the last minute."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


def busy(load: float) -> str:
    """Return the line for a machine with this load per core."""
    return f"skipped on a busy machine (load {load:.1f} per core), Spark starts slower; `make setup` tries it again"


def main(arguments: Sequence[str] = ()) -> int:
    """Bake unless there is an archive, or it failed before. Returns 1 if one is required and there is none."""
    logs.configure("error")
    unless_busy = "--unless-busy" in arguments
    without = 0 if unless_busy else 1
    folder, version = class_archive_folder(), metadata.version("pyspark")
    archive = ClassArchive.existing(folder, version)
    failed = folder / f"spark-{version}.failed"
    if archive is not None:
        say(f"{archive.path}")
        return 0
    if failed.exists():
        say(f"none: {failed.read_text().strip()}. To try again, remove {failed}")
        return without
    if unless_busy and (load := load_per_core()) > BUSY:
        say(busy(load))
        return without
    say("archiving the JVM's classes, so that Spark starts in half the time (a minute on a quiet machine)")
    started = time.monotonic()
    try:
        path = bake(folder, version, unless_busy=unless_busy)
    except BusyError as error:
        say(str(error))
        return without
    except BakeError as error:
        say(f"none, Spark starts slower: {error}")
        with contextlib.suppress(OSError):
            failed.write_text(f"{error}\n")
        return without
    say(f"{path}, {path.stat().st_size / 1e6:.0f} MB in {time.monotonic() - started:.0f} s")
    return 0


def say(text: str) -> None:
    """Print a line of the set-up."""
    print(f"classes: {text}", flush=True)  # noqa: T201 -- the answer of a build


if __name__ == "__main__":
    for end_signal in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(end_signal, lambda number, _: sys.exit(128 + number))
    sys.exit(main(sys.argv[1:]))
