"""`python -m bench.commits_table [RECORDS [ROUNDS]]`: the table `commits` beside what the job does with the same topic.

One process reads the topic, folds it as a task of the job does, and makes the rows of the table, with all columns and
with four; Spark reads the table in batch, in a session with the compilers of a usual one; and Kafka's console consumer
formats the records. A round measures each once, so that other load on the machine is the same for all; the best of
several rounds counts. CPU seconds are those of the measured processes, without the broker's.
"""

import dataclasses
import datetime as dt
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from bench import report
from bench.processes import WORKERS, Watch
from bench.topic import OFFSETS_TOPIC, broker_with
from bench.traffic import Kind, Traffic, chunks
from bench.warm import read_alone
from sandbox.kafka.jars import tools_jars
from sandbox.kafka.java import SMALL_JVM, class_path, find_java
from sandbox.kafka.tools import QUIET
from stream.cluster.records.ranges import unread_ranges
from stream.cluster.transport.client import Cluster
from stream.spark.jvm_process import JvmOptions
from stream.spark.session import SessionOptions, end_session, open_session
from stream.spark.tables.source import FORMAT, ConsumerOffsets
from stream.tables.build import table_batches
from stream.tables.columns import COMMITS
from stream.tables.keys import AskedNames
from stream.tables.logged import read_topic

_RECORDS: Final = 500_000
_ROUNDS: Final = 4
_FEW: Final = ("group", "topic", "partition", "offset")
_FOLD: Final = "one process, reader and fold"
_SPARK: Final = "Spark, two tasks"
_ALL: Final = tuple(column.name for column in COMMITS.columns)


@dataclasses.dataclass(frozen=True, slots=True)
class Cost:
    """What one read took; `peak` is the resident memory of the Python processes of Spark in bytes, 0 without Spark."""

    seconds: float
    cpu: float
    peak: int = 0


def make_rows(bootstrap: str, names: tuple[str, ...], expected: int) -> Cost:
    """Read the topic and make the rows with these columns. Raises RuntimeError if not so many are made."""
    with Cluster([bootstrap]) as cluster:
        began, used = time.monotonic(), time.process_time()
        records = read_topic(cluster, unread_ranges(cluster, OFFSETS_TOPIC, {}), 120.0)
        count = sum(batch.num_rows for batch in table_batches(COMMITS, names, records, AskedNames()))
        if count != expected:
            raise RuntimeError(f"the table has {count:,} rows of {expected:,} commits and tombstones")
        return Cost(time.monotonic() - began, time.process_time() - used)


class SparkReads:
    """Batch queries of the table without a sink, in one session; each plans its read again, as a new query does."""

    def __init__(self, bootstrap: str) -> None:
        options = SessionOptions("local[2]", JvmOptions("1g", many_rows=True), "127.0.0.1", shuffle_partitions=2)
        self.session = open_session(options)
        self.session.dataSource.register(ConsumerOffsets)
        self._jvm = self.session.sparkContext._gateway.proc.pid  # type: ignore[union-attr]  # noqa: SLF001
        self._reader = self.session.read.format(FORMAT).option("kafka.bootstrap.servers", bootstrap)

    def read(self, names: tuple[str, ...]) -> Cost:
        """Read the table with these columns."""
        with Watch() as everything, Watch(self._jvm) as spark:
            began = time.monotonic()
            table = self._reader.option("columns", ",".join(names)).load()
            table.write.format("noop").mode("overwrite").save()
            seconds = time.monotonic() - began
        return Cost(seconds, sum(spark.cpu.values()), everything.peak[WORKERS])


def console_consumer(bootstrap: str, records: int) -> Cost:
    """Format so many records with Kafka's console consumer."""
    arguments = ("--bootstrap-server", bootstrap, "--topic", OFFSETS_TOPIC, "--from-beginning", "--timeout-ms", "60000")
    ending = ("--max-messages", str(records))
    formatter = ("--formatter", "org.apache.kafka.tools.consumer.OffsetsMessageFormatter")
    command = (str(find_java()), *SMALL_JVM, QUIET, "-cp", class_path(tools_jars()))
    began, used = time.monotonic(), os.times()
    subprocess.run(
        [*command, "org.apache.kafka.tools.consumer.ConsoleConsumer", *arguments, *ending, *formatter],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    after = os.times()
    cpu = after.children_user + after.children_system - used.children_user - used.children_system
    return Cost(time.monotonic() - began, cpu)


def measure(bootstrap: str, traffic: Traffic, expected: int, rounds: int) -> dict[str, list[Cost]]:
    """Return the costs of each read, of the first round first."""
    spark = SparkReads(bootstrap)
    reads: dict[str, Callable[[], Cost]] = {
        _FOLD: lambda: Cost(*read_alone(bootstrap, traffic, fold=True)),
        "one process, reader": lambda: Cost(*read_alone(bootstrap, traffic, fold=False)),
        "one process, table, four columns": lambda: make_rows(bootstrap, _FEW, expected),
        "one process, table, all columns": lambda: make_rows(bootstrap, _ALL, expected),
        f"{_SPARK}, four columns": lambda: spark.read(_FEW),
        f"{_SPARK}, all columns": lambda: spark.read(_ALL),
    }
    costs: dict[str, list[Cost]] = {what: [] for what in reads}
    try:
        for _ in range(rounds):
            for what, read in reads.items():
                costs[what].append(read())
    finally:
        end_session(spark.session, 20)
    return costs


def main() -> int:
    """Print the table."""
    records, rounds = (*map(int, sys.argv[1:]), *(_RECORDS, _ROUNDS)[len(sys.argv) - 1 :])
    print(f"{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M} UTC, {report.machine()}; {records:,} records\n", flush=True)
    traffic = Traffic(records)
    expected = sum(int(np.isin(chunk.kind, (Kind.COMMIT, Kind.OFFSET_TOMBSTONE)).sum()) for chunk in chunks(traffic))
    with broker_with(traffic) as broker:
        costs = measure(broker.bootstrap, traffic, expected, rounds)
        rows = [(f"{what}, first query", each[0]) for what, each in costs.items() if what.startswith(_SPARK)]
        rows += [(what, _best(each)) for what, each in costs.items()]
        rows.append(("console consumer and formatter", console_consumer(broker.bootstrap, expected)))
    folded = _best(costs[_FOLD])
    lines = [
        (
            *(what, f"{records / cost.seconds:,.0f}", f"{cost.seconds:.2f}", f"{cost.seconds / folded.seconds:.2f}"),
            *(f"{cost.cpu:.2f}", f"{cost.cpu / folded.cpu:.2f}", f"{cost.peak >> 20:,}" if cost.peak else "-"),
        )
        for what, cost in rows
    ]
    heads = ("measured", "records/s", "seconds", "fold = 1", "CPU s", "fold = 1", "peak MB Python")
    print(report.table(heads, lines))
    return 0


def _best(costs: Sequence[Cost]) -> Cost:
    """Return the least seconds and CPU seconds, and the greatest memory."""
    seconds, cpu, peak = zip(*map(dataclasses.astuple, costs), strict=True)
    return Cost(min(seconds), min(cpu), max(peak))


if __name__ == "__main__":
    sys.exit(main())
