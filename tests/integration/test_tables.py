"""The tables of a real topic in Spark: found by PySpark, equal in batch, stream, log and export, and the queries."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from deploy.site.notebook import notebook
from sandbox.kafka.broker import Broker
from stream.spark import session as session_module
from stream.spark.errors import SparkCallError
from stream.spark.session import end_session, open_session
from stream.spark.tables.export import ExportOptions, export, run_to_end
from tests.integration.traffic import commit, make_topic, write_history
from tests.stream.spark.capture_job import session_options
from tests.support.processes import patience

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(patience(600))]

CELLS: Final = notebook(Path("docs/queries.md").read_text())["cells"]
VIEWS, *QUERIES = (cell["source"] for cell in CELLS if cell["cell_type"] == "code")
KEY: Final = ["offsets_partition", "position"]


@pytest.fixture(scope="module")
def used_broker() -> Iterator[Broker]:
    """Return a broker with groups of two kinds, a rewind, a deleted group, and an aborted transaction."""
    with Broker(offsets_partitions=2) as broker:
        make_topic(broker.bootstrap, "unread", 1)
        commit(broker.bootstrap, "first", "unread", {0: 5})
        write_history(broker.bootstrap)
        yield broker


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """Return a session that searches the installed packages for data sources, as every session but the job's does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session_module, "skip_installed_data_sources", lambda _: None)
        session = open_session(session_options())
    yield session
    end_session(session, 20)


def table(spark: SparkSession, name: str, **options: str) -> DataFrame:
    reader = spark.read.format("consumer_offsets").option("table", name).option("retention", "7d")
    return reader.options(**options).load()


def answer(spark: SparkSession, query: str) -> list[dict[str, Any]]:
    """Run a cell of the notebook; return the rows that it shows."""
    names: dict[str, Any] = {"spark": spark}
    exec(query, names)  # noqa: S102 -- as Jupyter does
    return [row.asDict() for row in names["answer"].collect()]


def rows_of(frame: DataFrame | pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as text, in the order of the log, without the day of an export."""
    read = frame if isinstance(frame, pd.DataFrame) else frame.toArrow().to_pandas(types_mapper=pd.ArrowDtype)
    ordered = read.drop(columns="day", errors="ignore").sort_values(KEY)
    return ordered.astype("string").to_dict("records")


def test_tables_of_a_cluster(spark: SparkSession, used_broker: Broker, tmp_path: Path) -> None:
    """The same rows come from brokers, from the log, and from an export in two runs; each query has an answer."""
    brokers = {"kafka.bootstrap.servers": used_broker.bootstrap}
    exec(VIEWS.replace("broker-1:9092", used_broker.bootstrap), {})  # noqa: S102 -- as Jupyter does
    for name in ("commits", "groups", "members", "events"):
        spark.catalog.cacheTable(name)
    before = rows_of(spark.table("commits"))
    columns = list(before[0])
    assert rows_of(table(spark, "commits", path=str(used_broker.data)).select(columns)) == before

    # Two runs of an export, with a limit that needs more batches than Spark keeps reports of.
    options = ExportOptions(str(tmp_path), ["commits"], "parquet", {**brokers, "maxOffsetsPerTrigger": "6"}, every=None)
    assert export(spark, options, threading.Event()) == {"commits": len(before)}
    commit(used_broker.bootstrap, "one", "t", {2: 8})
    commit(used_broker.bootstrap, "later", "t", {2: 8})
    assert export(spark, options, threading.Event()) == {"commits": 2}
    exported = rows_of(spark.read.parquet(f"{tmp_path}/commits"))
    assert exported == rows_of(table(spark, "commits", **brokers))
    assert len(exported) == len(before) + 2
    files = pd.read_parquet(f"{tmp_path}/commits", dtype_backend="pyarrow")
    assert rows_of(files[columns]) == exported

    spark.read.parquet(f"{tmp_path}/commits").createOrReplaceTempView("other_commits")
    found = [answer(spark, query) for query in QUERIES]
    assert len(found) == 10
    simple = {"one", "two", "three"}
    assert {row["group"] for row in found[0]} == {*simple, "classic", "modern", "transactional", "deleted"}
    assert [(row["group"], row["cause"]) for row in found[1]] == [("deleted", "deleted")]
    assert [(row["group"], row["before"], row["offset"]) for row in found[2]] == [("one", 5, 2)]
    assert (found[3][0]["group"], found[3][0]["commits"]) == ("one", 41)
    assert [(row["library"], row["groups"]) for row in found[4]] == [("librdkafka", 2)]
    assert {(row["group"], row["members"]) for row in found[5]} == {("classic", 1), ("modern", 1)}
    assert found[6] == [], "all commits are of today"
    (unread,) = answer(spark, QUERIES[6].replace("7 DAYS", "0 DAYS"))
    assert (unread["topic"], unread["groups"]) == ("unread", 1)
    assert {row["group"] for row in found[7]} == {*simple, "first", "classic", "transactional"}
    assert [(row["group"], row["aborted"]) for row in found[8]] == [("transactional", 1)]
    differences = {(row["group"], row["partition"], row["offset"], row["other_offset"]) for row in found[9]}
    assert differences == {("later", 2, None, 8), ("one", 2, None, 8)}


def test_an_export_ends_when_one_of_its_tables_fails(spark: SparkSession, tmp_path: Path) -> None:
    """The other queries, which would go on, are stopped."""
    rate = spark.readStream.format("rate").load()
    frames = {"runs": rate, "fails": rate.withColumn("value", expr("raise_error('broken')"))}
    queries = {
        name: frame.writeStream.format("noop").option("checkpointLocation", f"{tmp_path}/{name}").start()
        for name, frame in frames.items()
    }
    with pytest.raises(SparkCallError, match="broken"):
        run_to_end(queries, threading.Event())
    assert not any(query.isActive for query in queries.values())
