"""`python -m bench.commits_table [RECORDS]`: the table `commits` beside what the job does with the same topic.

One process reads the topic, folds it as a task of the job does, and makes the rows of the table, with all columns and
with four; then Spark reads the table in batch, and Kafka's console consumer formats the records. The best of several
rounds counts. Exits with 1 if the table has not every commit of the traffic.
"""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Final

import numpy as np

from bench import report
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

if TYPE_CHECKING:
    from collections.abc import Iterator

_RECORDS: Final = 500_000
_ROUNDS: Final = 4
_FEW: Final = ("group", "topic", "partition", "offset")
_ALL: Final = tuple(column.name for column in COMMITS.columns)


def make_rows(bootstrap: str, names: tuple[str, ...]) -> tuple[float, int]:
    """Read the topic and make the rows with these columns; return the seconds and the number of rows."""
    with Cluster([bootstrap]) as cluster:
        began = time.monotonic()
        records = read_topic(cluster, unread_ranges(cluster, OFFSETS_TOPIC, {}), 120.0)
        count = sum(batch.num_rows for batch in table_batches(COMMITS, names, records, AskedNames()))
        return time.monotonic() - began, count


def in_spark(bootstrap: str) -> Iterator[tuple[str, float]]:
    """Yield the seconds of batch queries of the table, without a sink; the first one starts Spark's workers."""
    spark = open_session(SessionOptions("local[2]", JvmOptions("1g"), "127.0.0.1", shuffle_partitions=2))
    try:
        spark.dataSource.register(ConsumerOffsets)
        reader = spark.read.format(FORMAT).option("kafka.bootstrap.servers", bootstrap)
        for what, names in (("four columns", _FEW), ("all columns", _ALL)):
            table = reader.option("columns", ",".join(names)).load()
            seconds = []
            for _ in range(_ROUNDS):
                began = time.monotonic()
                table.write.format("noop").mode("overwrite").save()
                seconds.append(time.monotonic() - began)
            yield f"Spark, two tasks, {what}", min(seconds)
    finally:
        end_session(spark, 20)


def console_consumer(bootstrap: str, records: int) -> float:
    """Return the seconds in which Kafka's console consumer formats so many records."""
    arguments = ("--bootstrap-server", bootstrap, "--topic", OFFSETS_TOPIC, "--from-beginning", "--timeout-ms", "60000")
    ending = ("--max-messages", str(records))
    formatter = ("--formatter", "org.apache.kafka.tools.consumer.OffsetsMessageFormatter")
    command = (str(find_java()), *SMALL_JVM, QUIET, "-cp", class_path(tools_jars()))
    began = time.monotonic()
    subprocess.run(
        [*command, "org.apache.kafka.tools.consumer.ConsoleConsumer", *arguments, *ending, *formatter],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return time.monotonic() - began


def main() -> int:
    """Print the table."""
    records = int(sys.argv[1]) if len(sys.argv) > 1 else _RECORDS
    print(f"{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M} UTC, {report.machine()}; {records:,} records\n", flush=True)
    traffic = Traffic(records)
    expected = sum(int(np.isin(chunk.kind, (Kind.COMMIT, Kind.OFFSET_TOMBSTONE)).sum()) for chunk in chunks(traffic))
    with broker_with(traffic) as broker:
        bootstrap = broker.bootstrap
        folded = min(read_alone(bootstrap, traffic, fold=True)[0] for _ in range(_ROUNDS))
        rows = [
            ("one process, reader", min(read_alone(bootstrap, traffic, fold=False)[0] for _ in range(_ROUNDS))),
            ("one process, reader and fold", folded),
        ]
        for what, names in (("four columns", _FEW), ("all columns", _ALL)):
            made = [make_rows(bootstrap, names) for _ in range(_ROUNDS)]
            rows.append((f"one process, table, {what}", min(seconds for seconds, _ in made)))
        rows += in_spark(bootstrap)
        rows.append(("console consumer and formatter", console_consumer(bootstrap, expected)))
    lines = [(what, f"{records / seconds:,.0f}", f"{seconds:.2f}", f"{seconds / folded:.2f}") for what, seconds in rows]
    print(report.table(("measured", "records/s", "seconds", "reader and fold = 1"), lines))
    print(f"\nThe table has {made[0][1]:,} rows of {expected:,} commits and tombstones.")
    return int(made[0][1] != expected)


if __name__ == "__main__":
    sys.exit(main())
