"""`python -m bench.commits_table [RECORDS [ROUNDS]]`: the table `commits` beside other ways to read the same topic.

One process reads the topic, folds it as a task of the job does, and makes the rows of the table, with all columns and
with four; an ordinary session of Spark reads the table in batch; and Kafka's console consumer formats the records. With
the variable KAFKA_SOURCE_JARS, a folder with the jars of Spark's Kafka source and those that it needs, the same session
also reads the topic with that source and decodes the four columns in a Python function.

A round measures each once, so that other load on the machine is the same for all; the best of several rounds counts.
All count their rows, the queries of Spark before the first round, so that none of them leaves records out. CPU
seconds are those of the measured processes, without the broker's.
"""

import dataclasses
import datetime as dt
import functools
import io
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf

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
from stream.spark.tables.source import FORMAT
from stream.spark.tables.tasks import read_topic
from stream.tables.build import table_batches
from stream.tables.columns import COMMITS
from stream.tables.rows import AskedNames

_RECORDS: Final = 500_000
_ROUNDS: Final = 4
_FEW: Final = ("group", "topic", "partition", "offset")
_FOLD: Final = "one process, reader and fold"
_SPARK: Final = "Spark, two tasks"
_ALL: Final = tuple(column.name for column in COMMITS.columns)
_UDF: Final = "Spark's Kafka source and a Python function, four columns"
_CONSOLE: Final = "console consumer and formatter"
_PRINTED: Final = b'{"key":'
_JARS: Final = "KAFKA_SOURCE_JARS"


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


def decode(key: bytes, value: bytes | None) -> tuple[str, str, int, int | None] | None:
    """Return group, topic, partition and offset of a commit or its tombstone, as a user's function would."""
    if struct.unpack_from(">h", key)[0] > 1:
        return None
    texts, at = [], 2
    for _ in range(2):
        (size,) = struct.unpack_from(">h", key, at)
        texts.append(key[at + 2 : at + 2 + size].decode())
        at += 2 + size
    offset = None if value is None else struct.unpack_from(">q", value, 2)[0]
    return texts[0], texts[1], struct.unpack_from(">i", key, at)[0], offset


class SparkReads:
    """Batch queries without a sink, in one session; each plans its read again, as a new query does."""

    def __init__(self, bootstrap: str, expected: int) -> None:
        os.environ |= {"JAVA_HOME": str(Path(str(find_java())).resolve().parents[1]), "PYSPARK_PYTHON": sys.executable}
        self._bootstrap = bootstrap
        jars = sorted(Path(os.environ[_JARS]).glob("*.jar")) if _JARS in os.environ else []
        builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "2g")
        builder = builder.config("spark.jars", ",".join(map(str, jars))).config("spark.ui.enabled", "false")
        # Without it Spark's Kafka source silently leaves internal topics out: no rows of this topic, and no error.
        builder = builder.config("spark.sql.streaming.kafka.useDeprecatedOffsetFetching", "true")
        self.session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
        self.session.sparkContext.setLogLevel("ERROR")
        self._jvm = self.session.sparkContext._gateway.proc.pid  # type: ignore[union-attr]  # noqa: SLF001
        self.queries: dict[str, Callable[[], DataFrame]] = {
            f"{_SPARK}, four columns": lambda: self._table(_FEW),
            f"{_SPARK}, all columns": lambda: self._table(_ALL),
        }
        if jars:
            self.queries[_UDF] = self._kafka_source
        self.first = {what: self._cost(functools.partial(self._count, what, expected)) for what in self.queries}

    def read(self, what: str) -> Cost:
        """Run a query."""
        return self._cost(lambda: self.queries[what]().write.format("noop").mode("overwrite").save())

    def _count(self, what: str, expected: int) -> None:
        if (count := self.queries[what]().count()) != expected:
            raise RuntimeError(f"{what}: {count:,} rows of {expected:,} commits and tombstones")

    def _cost(self, run: Callable[[], None]) -> Cost:
        with Watch() as everything, Watch(self._jvm) as spark:
            began = time.monotonic()
            run()
            seconds = time.monotonic() - began
        return Cost(seconds, sum(spark.cpu.values()), everything.peak[WORKERS])

    def _table(self, names: tuple[str, ...]) -> DataFrame:
        reader = self.session.read.format(FORMAT).option("kafka.bootstrap.servers", self._bootstrap)
        return reader.option("columns", ",".join(names)).load()

    def _kafka_source(self) -> DataFrame:
        reader = self.session.read.format("kafka").option("kafka.bootstrap.servers", self._bootstrap)
        records = reader.option("subscribe", OFFSETS_TOPIC).option("startingOffsets", "earliest").load()
        decoded = udf(decode, "struct<group:string,topic:string,partition:int,offset:bigint>")("key", "value")
        return records.select(decoded.alias("row")).select("row.*").where("group is not null")


def console_consumer(bootstrap: str, expected: int) -> Cost:
    """Format the topic's records with Kafka's console consumer. Raises RuntimeError if it prints not so many."""
    reading = ("--bootstrap-server", bootstrap, "--topic", OFFSETS_TOPIC, "--from-beginning", "--timeout-ms", "60000")
    formatter = ("--formatter", "org.apache.kafka.tools.consumer.OffsetsMessageFormatter")
    java = (str(find_java()), *SMALL_JVM, QUIET, "-cp", class_path(tools_jars()))
    command = [*java, "org.apache.kafka.tools.consumer.ConsoleConsumer", *reading, *formatter]
    began, used = time.monotonic(), os.times()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        output = process.stdout
        assert isinstance(output, io.BufferedReader)
        # The formatter writes no line ends. The broker adds records of its own to the topic, so its size varies.
        count, before = 0, b""
        while count < expected and (block := output.read1(1 << 20)):
            count += (before + block).count(_PRINTED)
            before = (before + block)[1 - len(_PRINTED) :]
        process.kill()
    if count != expected:
        raise RuntimeError(f"the console consumer printed {count:,} of {expected:,} commits and tombstones")
    after = os.times()
    cpu = after.children_user + after.children_system - used.children_user - used.children_system
    return Cost(time.monotonic() - began, cpu)


def measure(bootstrap: str, traffic: Traffic, expected: int, rounds: int) -> dict[str, list[Cost]]:
    """Return the costs of each read by round."""
    spark = SparkReads(bootstrap, expected)
    reads: dict[str, Callable[[], Cost]] = {
        _FOLD: lambda: Cost(*read_alone(bootstrap, traffic, fold=True)),
        "one process, reader": lambda: Cost(*read_alone(bootstrap, traffic, fold=False)),
        "one process, table, four columns": lambda: make_rows(bootstrap, _FEW, expected),
        "one process, table, all columns": lambda: make_rows(bootstrap, _ALL, expected),
        **{what: functools.partial(spark.read, what) for what in spark.queries},
        _CONSOLE: lambda: console_consumer(bootstrap, expected),
    }
    costs: dict[str, list[Cost]] = {f"{what}, first query, which counts": [cost] for what, cost in spark.first.items()}
    for _ in range(rounds):
        for what, read in reads.items():
            costs.setdefault(what, []).append(read())
    spark.session.stop()
    return costs


def main() -> int:
    """Print the table."""
    records, rounds = (*map(int, sys.argv[1:]), *(_RECORDS, _ROUNDS)[len(sys.argv) - 1 :])
    print(f"{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M} UTC, {report.machine()}; {records:,} records\n", flush=True)
    traffic = Traffic(records)
    expected = sum(int(np.isin(chunk.kind, (Kind.COMMIT, Kind.OFFSET_TOMBSTONE)).sum()) for chunk in chunks(traffic))
    with broker_with(traffic) as broker:
        costs = measure(broker.bootstrap, traffic, expected, rounds)
    rows = [(what, _best(each)) for what, each in costs.items()]
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
