"""The data source `consumer_offsets` without Spark: options, filters, and Spark's calls in the order of a query."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSourceReader, EqualTo, GreaterThan, In
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import LongType, StringType, StructType

from pyspark_consumer_offsets import DefaultSource
from sandbox.kafka import log_writer as write
from stream.checkpoint.spark_offsets import TOPIC
from stream.cluster.records.ranges import OffsetRange
from stream.errors import Refusal
from stream.spark import topic_ends
from stream.spark.tables import tasks
from stream.spark.tables.options import ALL
from stream.spark.tables.reference_page import markdown
from stream.spark.tables.source import TableStreamReader
from tests.stream.cluster.records.fake_leader import FakeLeader, Part, Reply
from tests.stream.offline.captures import RECORDED
from tests.support.driver_states import ends_of
from tests.support.raw import commit_key, commit_value

BROKERS = {"kafka.bootstrap.servers": "b:9092"}
NAMES = StructType().add("group", StringType()).add("offset", LongType())


def source(**options: str) -> Any:
    """Return the data source as Spark's processes have it."""
    return pickle.loads(pickle.dumps(cloudpickle.loads(cloudpickle.dumps(DefaultSource))(options)))  # noqa: S301


def rows(reader: Any, tasks_: Any) -> list[dict[str, Any]]:
    """Return the rows of tasks, read by a worker's copy of the reader."""
    copy = pickle.loads(cloudpickle.dumps(reader))  # noqa: S301
    batches = [batch for task in tasks_ for batch in copy.read(pickle.loads(pickle.dumps(task)))]  # noqa: S301
    return [row for batch in batches for row in batch.to_pylist()]


REFUSED: list[tuple[dict[str, str], str]] = [
    ({}, "neither is: set path or kafka.bootstrap.servers"),
    ({**BROKERS, "path": "x"}, "both are given"),
    ({"path": "x", "table": "commit"}, "no table 'commit': the tables are commits, records, groups"),
    ({"path": "x", "tabel": "commits"}, "no option 'tabel': did you mean table\\? the options are table, path"),
    ({"path": "x", "columns": "group, offsett"}, "no column offsett: its columns are group, topic"),
    ({"path": "x", "retention": "week"}, "groups.offsets_retention = 'week'"),
    ({"path": "x", "tasks": "0"}, "tasks = '0': it must be a number of 1 or more"),
    ({**BROKERS, "startingOffsets": "first"}, "startingOffsets = 'first': it must be earliest or latest"),
    ({**BROKERS, "kafka.sasl.password": "s3cret"}, "set kafka.sasl_password_file"),
    ({**BROKERS, "kafka.security.protocol": "TLS"}, "kafka.security_protocol = 'TLS'"),
    ({**BROKERS, "kafka.acks": "1"}, "kafka.acks"),
]


def test_wrong_options_are_refused_with_the_valid_ones() -> None:
    """Each error names the value; a secret is refused without it."""
    for options, message in REFUSED:
        with pytest.raises(Refusal, match=message) as refused:
            source(**options).schema()
        assert "s3cret" not in str(refused.value)
    with pytest.raises(Refusal, match="table events needs the whole history"):
        source(**BROKERS, table="events").streamReader(NAMES)
    with pytest.raises(Refusal, match="a stream reads brokers, not the path x"):
        source(path="x").streamReader(NAMES)
    for only_in_streams in ({"startingOffsets": "latest"}, {"maxOffsetsPerTrigger": "5"}):
        with pytest.raises(Refusal, match=r"a batch query reads all: .* leave them out, or use readStream"):
            source(path="x", **only_in_streams).reader(NAMES)
    with pytest.raises(Refusal, match="column offset of table commits is not string: its type is int64"):
        source(path="x").reader(StructType().add("offset", StringType()))


def test_brokers_are_read_without_the_extra_for_captures() -> None:
    """The image and a plain wheel have no fastavro; a capture is refused with what to install."""
    plan = f"from stream.tables.files import plan_files; plan_files(pathlib.Path({str(RECORDED)!r}))"
    program = f"import pathlib, sys; sys.modules['fastavro'] = None; import stream.spark.tables.tasks; {plan}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert b"reading a capture needs a package" in done.stderr, done.stderr


def test_the_reference_page_is_current() -> None:
    """`docs/tables.md` is what `python -m stream.spark.tables.reference_page` prints."""
    assert Path("docs/tables.md").read_text() == markdown()


def test_equal_names_are_filtered_by_the_source() -> None:
    """Filters of group and topic are applied by the tasks, all others by Spark; PySpark finds no method of its own.

    With one, PySpark fails every query while the setting of the pushdown is off.
    """
    reader = source(path=str(RECORDED)).reader(NAMES)
    assert reader.pushFilters.__func__ is DataSourceReader.pushFilters
    everything = rows(reader, reader.partitions())
    greater = GreaterThan(("offset",), 3)
    assert list(reader.pushFilters([In(("group",), ("simple-group", None)), greater])) == [greater]
    of_group = rows(reader, reader.partitions())
    assert of_group == [each for each in everything if each["group"] == "simple-group"] != []
    assert list(reader.pushFilters([EqualTo(("group",), "other")])) == []
    assert rows(reader, reader.partitions()) == []
    topic = EqualTo(("topic",), "t")
    assert list(source(path=str(RECORDED)).reader(NAMES).pushFilters([topic])) == [topic], "no column of the query"


def commits(at: int, count: int, producer: int = -1) -> bytes:
    records = [write.Rec(n, n, commit_key("g", "t", 0), commit_value(at + n, 1_000)) for n in range(count)]
    attributes = 0x10 if producer >= 0 else 0
    return write.batch(at, records, attributes=attributes, producer_id=producer, producer_epoch=0)


def stream_reader(**options: str) -> TableStreamReader:
    reader: TableStreamReader = source(**BROKERS, **options).streamReader(NAMES)
    return reader


def test_a_stream_has_fixed_offsets_and_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A micro-batch has at most the limit of Spark's call; `availableNow` has a fixed end; a cut log is refused."""
    raw = commits(2, 3) + commits(5, 2, 4_000) + write.marker(7, 4_000, committed=False)
    leader = FakeLeader([Reply({0: Part(raw, aborted=((4_000, 5),))})], [{0: 1, 1: 1}])
    monkeypatch.setattr("tests.stream.cluster.records.fake_leader.TOPIC", TOPIC)
    monkeypatch.setattr(tasks, "cluster_of", lambda _: leader)
    monkeypatch.setattr(tasks, "unread_ranges", lambda *_: [OffsetRange(0, 2, 8), OffsetRange(1, 0, 0)])
    monkeypatch.setattr("time.sleep", leader.sleep)
    reader = stream_reader(maxOffsetsPerTrigger="4")
    assert reader.getDefaultReadLimit() == ReadMaxRows(4)
    assert stream_reader().getDefaultReadLimit() == ReadAllAvailable()
    start = reader.initialOffset()
    assert (start, stream_reader(startingOffsets="latest").initialOffset()) == (
        {TOPIC: {"0": 2, "1": 0}, "cluster_id": "own"},
        {TOPIC: {"0": 8, "1": 0}, "cluster_id": "own"},
    )
    monkeypatch.setattr(topic_ends, "cluster_of", lambda _: leader)
    ends = [(TOPIC, 0, 20, 20, 2, None), (TOPIC, 1, 3, 3, 0, None)]
    monkeypatch.setattr(topic_ends, "read_ends", lambda *_: ends_of(ends, epochs={(TOPIC, 0): 5}))
    monkeypatch.setattr(topic_ends, "read_epoch_ends", lambda *_: {})
    assert reader.latestOffset(start, ReadAllAvailable())[TOPIC] == {"0": 20, "1": 3}
    assert 2 < sum(reader.latestOffset(start, ReadMaxRows(10))[TOPIC].values()) <= 2 + 10
    reader.prepareForTriggerAvailableNow()
    first = reader.latestOffset(start, ReadMaxRows(4))
    last = reader.latestOffset(first, ReadMaxRows(4))
    assert (first[TOPIC], last[TOPIC]) == ({"0": 6, "1": 0}, {"0": 8, "1": 0})
    assert reader.reportLatestOffset() == {TOPIC: {"0": 20, "1": 3}, "leader_epochs": {"0": 5}, "cluster_id": "own"}
    assert reader.latestOffset(last, ReadMaxRows(ALL)) == last
    assert [each["offset"] for each in rows(reader, reader.partitions(start, last))] == [5, 6, 2, 3, 4]
    assert last["cluster_id"] == "own", "kept from batch to batch"
    with pytest.raises(Refusal, match="the query has read cluster another, this is cluster own"):
        reader.latestOffset({TOPIC: {"0": 2}, "cluster_id": "another"}, ReadAllAvailable())
    with pytest.raises(Refusal, match="partitions 0 of __consumer_offsets no longer have the records"):
        reader.latestOffset({TOPIC: {"0": 21, "1": 3}}, ReadAllAvailable())
    monkeypatch.setattr(topic_ends, "read_epoch_ends", lambda *_: {0: 3})
    with pytest.raises(Refusal, match="partitions 0 of __consumer_offsets no longer have the records"):
        stream_reader().latestOffset({TOPIC: {"0": 6}, "leader_epochs": {"0": 4}}, ReadAllAvailable())
