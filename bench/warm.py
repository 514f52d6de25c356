"""Measures the reader alone and the whole pipeline, each cold and warm, then steady batches.

Runs in a separate process (`python -m bench.warm`), so that the driver's measurements do not include the benchmark that
wrote the topic; writes its measurements as JSON to a file.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from bench.processes import Watch
from bench.topic import OFFSETS_TOPIC, Writer
from bench.traffic import Chunk, Traffic, chunks, one_commit_each
from bench.verify import FinalState, differences, initial_state
from stream.cluster.records.ranges import unread_ranges
from stream.cluster.records.read import ROWS, read_records
from stream.cluster.transport.client import Cluster
from stream.config.kafka_login import KafkaLogin
from stream.groups.codec import unpack_change
from stream.groups.driver_state import DriverState
from stream.groups.fold import Fold
from stream.groups.placement import Placement
from stream.groups.record_columns import RecordColumns
from stream.groups.shard import StateLimits
from stream.spark import pipeline
from stream.spark.jvm_process import JvmOptions
from stream.spark.pipeline import PipelineOptions
from stream.spark.query import last_report
from stream.spark.reading_options import ClusterAccess, ReadingOptions
from stream.spark.session import SessionOptions, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

TRIGGER_SECONDS: Final = 2.0
STEADY_ROUNDS: Final = 5
STEADY_GROUPS: Final = (200, 2000, 20_000)
IDLE_TRIGGERS: Final = 3
_MAX_OFFSETS: Final = 15_000_000
_SHARDS: Final = 64
_SLOT_MS: Final = 30_000
_KEEP_SLOTS: Final = 10
_LIMIT: Final = 300.0


@dataclasses.dataclass(frozen=True, slots=True)
class Measured:
    """One row of a table. CPU and peak memory are per role (`bench.processes`)."""

    what: str
    records: int
    seconds: float
    cpu: dict[str, float]
    peak: dict[str, int]
    batch_seconds: tuple[float, ...] = ()
    """Seconds of each measured trigger, from Spark's progress reports."""

    @property
    def rate(self) -> float:
        """Records per second."""
        return self.records / self.seconds


class Bench:
    """A session and a topic to measure on."""

    def __init__(self, spark: SparkSession, bootstrap: str, traffic: Traffic, tasks: int, scratch: Path) -> None:
        self._spark = spark
        self._bootstrap = bootstrap
        self._traffic = traffic
        self._scratch = scratch
        self._tasks = tasks
        self._end = traffic.records
        self._placement = Placement.build(traffic.offsets_partitions, _SHARDS)

    def raw(self, what: str) -> Measured:
        """Read the whole topic in this process and discard the records."""
        return self._read(what, None)

    def folded(self, what: str) -> Measured:
        """Read and fold the whole topic in this process: an upper bound for one task of the pipeline."""
        return self._read(what, Fold(self._placement, slot_ms=_SLOT_MS, keep_slots=_KEEP_SLOTS))

    def _read(self, what: str, fold: Fold | None) -> Measured:
        with Watch() as watch:
            seconds = _read_topic(self._bootstrap, fold)
        return Measured(what, self._end, seconds, dict(watch.cpu), dict(watch.peak))

    def pipeline(self, what: str, driver_state: DriverState) -> tuple[Measured, StreamingQuery]:
        """Run the job from an empty checkpoint until it has read all records; the query keeps running."""

        def apply(table: pa.Table, _number: int) -> None:
            for shard, change in zip(table.column("shard").to_pylist(), table.column("change"), strict=True):
                driver_state.apply(shard, unpack_change(change.as_py()))

        return self._until_end(what, lambda: pipeline.start(self._spark, self._job(what), apply))

    def steady(self, query: StreamingQuery, writer: Writer, rounds: Sequence[Chunk]) -> Measured:
        """Write each round of commits before one trigger, and measure these triggers."""
        seconds = []
        with Watch() as watch:
            for each in rounds:
                # A trigger has just begun then, so that all records written now belong to the next one.
                time.sleep(TRIGGER_SECONDS - time.time() % TRIGGER_SECONDS + 0.3)
                writer.write(each)
                self._end += len(each)
                seconds.append(_wait(query, self._end))
        cpu = {role: used / len(rounds) for role, used in watch.cpu.items()}
        median = sorted(seconds)[len(seconds) // 2]
        groups = len(rounds[0])
        return Measured(f"steady batch of {groups:,} groups", groups, median, cpu, dict(watch.peak), tuple(seconds))

    def idle(self, query: StreamingQuery) -> Measured:
        """Measure triggers without new records. Spark reports one of them about every ten seconds."""
        reports: dict[str, float] = {}
        began = time.monotonic()
        with Watch() as watch:
            while len(reports) < IDLE_TRIGGERS:
                if time.monotonic() - began > _LIMIT:
                    raise TimeoutError(f"only {len(reports)} triggers without records were reported")
                report = last_report(query)
                if report is not None and not report.worked:
                    reports[report.at] = report.seconds
                time.sleep(0.5)
        triggers = (time.monotonic() - began) / TRIGGER_SECONDS
        cpu = {role: used / triggers for role, used in watch.cpu.items()}
        seconds = sorted(reports.values())
        median = seconds[len(seconds) // 2]
        return Measured("steady trigger with nothing new", 0, median, cpu, dict(watch.peak), tuple(seconds))

    def _until_end(self, what: str, start: Callable[[], StreamingQuery]) -> tuple[Measured, StreamingQuery]:
        with Watch() as watch:
            began = time.monotonic()
            query = start()
            batch = _wait(query, self._end)
            seconds = time.monotonic() - began
        return Measured(what, self._end, seconds, dict(watch.cpu), dict(watch.peak), (batch,)), query

    def _job(self, name: str) -> PipelineOptions:
        return PipelineOptions(
            reading=ReadingOptions(
                ClusterAccess((self._bootstrap,), KafkaLogin(), 10.0),
                starts=dict.fromkeys(range(self._traffic.offsets_partitions), 0),
                tasks=self._tasks,
                most_offsets=_MAX_OFFSETS,
                limit=_LIMIT,
                placement=self._placement,
                slot_ms=_SLOT_MS,
                keep_slots=_KEEP_SLOTS,
                progress_address=None,
            ),
            checkpoint=str(self._scratch / name.replace(" ", "-")),
            trigger_seconds=TRIGGER_SECONDS,
            rules=StateLimits(keep_slots=_KEEP_SLOTS),
            live_from={},
        )


def read_alone(bootstrap: str, traffic: Traffic, *, fold: bool) -> tuple[float, float]:
    """Read the whole topic in this process, and return the seconds and the CPU seconds of all threads."""
    placement = Placement.build(traffic.offsets_partitions, _SHARDS)
    folded = Fold(placement, slot_ms=_SLOT_MS, keep_slots=_KEEP_SLOTS) if fold else None
    used = time.process_time()
    seconds = _read_topic(bootstrap, folded)
    return seconds, time.process_time() - used


def _read_topic(bootstrap: str, fold: Fold | None) -> float:
    with Cluster([bootstrap]) as cluster:
        began = time.monotonic()
        ranges = unread_ranges(cluster, OFFSETS_TOPIC, {})
        for read in read_records(cluster, OFFSETS_TOPIC, ranges, rows=ROWS, ahead=True):
            if fold is not None:
                fold.add(RecordColumns(read.partition, read.offset, read.timestamp, read.keys, read.values))
        deltas = list(fold.drain()) if fold is not None else []
        seconds = time.monotonic() - began
    del deltas
    return seconds


def _wait(query: StreamingQuery, end: int) -> float:
    """Wait until all records before `end` are read; return Spark's duration of the last batch. Raises TimeoutError."""
    deadline = time.monotonic() + _LIMIT
    while time.monotonic() < deadline:
        if not query.isActive:
            raise RuntimeError(f"the query ended: {query.exception()}")
        report = last_report(query)
        if report is not None and sum(report.offsets.positions.values()) >= end and report.worked:
            return report.seconds
        time.sleep(0.05)  # each poll makes the JVM serialize its report
    raise TimeoutError(f"not all {end:,} records were read within {_LIMIT:.0f} s")


def measure(bootstrap: str, traffic: Traffic, repeats: int, scratch: Path) -> dict[str, Any]:
    """Return all measurements of one JVM."""
    tasks = len(os.sched_getaffinity(0))
    options = SessionOptions(f"local[{tasks}]", JvmOptions("2g"), "127.0.0.1", tasks)
    spark = open_session(options)
    bench = Bench(spark, bootstrap, traffic, tasks, scratch)
    rows = [bench.raw(f"reader, one process, {turn}") for turn in ("cold", "warm 1", "warm 2")]
    rows += [bench.folded(f"the same with the fold, {turn}") for turn in ("cold", "warm 1")]
    for turn in _turns(repeats):
        driver_state = DriverState()
        measured, query = bench.pipeline(f"pipeline {turn}", driver_state)
        rows.append(measured)
        if turn != _turns(repeats)[-1]:
            query.stop()
    steady, wrong = _steady(bench, query, driver_state, bootstrap, traffic)
    query.stop()
    spark.stop()
    return {"rows": [dataclasses.asdict(row) for row in rows + steady], "differences": wrong}


def _turns(repeats: int) -> list[str]:
    return ["in a fresh JVM", *(f"warm {turn}" for turn in range(1, repeats))]


def _steady(
    bench: Bench, query: StreamingQuery, driver_state: DriverState, bootstrap: str, traffic: Traffic
) -> tuple[list[Measured], list[str]]:
    """Check the catch-up against the oracle, then measure steady batches and check again."""
    larger = dataclasses.replace(traffic, groups=max(*STEADY_GROUPS, traffic.groups))
    writer = Writer(bootstrap, larger)
    wanted: FinalState = initial_state(larger)
    for chunk in chunks(traffic):
        wanted.apply(chunk)
    wrong = [f"after the catch-up: {line}" for line in differences(driver_state.columns(), wanted, larger)]
    rows, number = [], 0
    for groups in (max(STEADY_GROUPS), *STEADY_GROUPS):  # the first creates the groups and is not counted
        rounds = [one_commit_each(larger, groups, number + at) for at in range(STEADY_ROUNDS)]
        number += STEADY_ROUNDS
        rows.append(bench.steady(query, writer, rounds))
        for each in rounds:
            wanted.apply(each)
    rows.append(bench.idle(query))
    wrong += [f"after the steady batches: {line}" for line in differences(driver_state.columns(), wanted, larger)]
    return rows[1:], wrong


def main() -> None:
    """Measure, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lagwarden-bench-") as scratch:
        result = measure(given.bootstrap, Traffic(given.records), given.repeats, Path(scratch))
    given.out.write_text(json.dumps(result))


if __name__ == "__main__":
    main()
