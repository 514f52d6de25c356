"""Tests of the source without Spark: Spark's calls are made in the order of a query's life."""

import dataclasses
import json
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql.types import StructType

from sandbox.kafka import log_writer as write
from stream.cluster.partition_offsets import NO_EPOCH
from stream.cluster.records import read
from stream.cluster.transport.errors import LoginRefused, NotAuthorised
from stream.groups.codec import unpack_delta
from stream.groups.decode_stats import DecodeFault, DecodeStats
from stream.groups.placement import InstancePart
from stream.spark import offsets_reading, topic_ends
from stream.spark.delta_source import DeltaReader, DeltaSource
from stream.spark.offsets_reading import FOLDED_SCHEMA
from stream.spark.reading_options import FoldedRanges, ReadingOptions
from tests.stream.cluster.records.fake_leader import FakeLeader, Part, Reply
from tests.stream.spark.readings import reading_options
from tests.support.commits import KEEP, SLOT_MS, read_run
from tests.support.driver_states import ends_of
from tests.support.raw import commit_key, commit_value
from tests.support.scripted_cluster import AWAY

TOPIC = "__consumer_offsets"


def options(**changes: Any) -> ReadingOptions:
    usual = {"starts": {0: 2, 1: 0, 2: 5, 3: 0}, "slot_ms": SLOT_MS, "keep_slots": KEEP}
    return reading_options(**(usual | changes))


def reader_of(reading: ReadingOptions) -> DeltaReader:
    """Return the reader as a planning process of Spark has it: source and reader are pickled and unpickled."""
    source = cloudpickle.loads(cloudpickle.dumps(DeltaSource))({"reading": reading.to_text()})
    return cast("DeltaReader", pickle.loads(pickle.dumps(source.streamReader(StructType()))))  # noqa: S301


def offsets(positions: dict[int, int]) -> dict[str, Any]:
    """Return the positions as Spark passes them: through JSON."""
    return cast("dict[str, Any]", json.loads(json.dumps({TOPIC: positions})))


def with_ends(
    monkeypatch: pytest.MonkeyPatch, ends: Sequence[Any] | Exception, epochs: Mapping[int, int] | None = None
) -> None:
    """Replace the ends of the topic: (partition, log start, last stable offset, error), or an exception.

    `epochs` are the leader epochs of partitions.
    """

    def read_ends(*_: object) -> Any:
        if isinstance(ends, Exception):
            raise ends
        rows = [(TOPIC, partition, stable, stable, start, error) for partition, start, stable, error in ends]
        return ends_of(rows, epochs={(TOPIC, partition): epoch for partition, epoch in (epochs or {}).items()})

    monkeypatch.setattr(topic_ends, "read_ends", read_ends)
    monkeypatch.setattr(topic_ends, "cluster_of", lambda _: None)


ENDS = [(0, 2, 10, None), (1, 0, 0, None), (2, 5, 500, None), (3, 0, 7, None)]


NO_LEADER = [*ENDS[:3], (3, None, None, "no_leader")]
# Per row: the ends, the start of the batch, its limit, and its end.
BATCHES: dict[str, tuple[Any, dict[int, int], int, dict[int, int]]] = {
    "last stable offsets": (ENDS, {0: 4, 1: 0, 2: 5, 3: 7}, 1_000, {0: 10, 1: 0, 2: 500, 3: 7}),
    "without a leader": (NO_LEADER, {0: 4, 1: 0, 2: 5, 3: 2}, 1_000, {0: 10, 1: 0, 2: 500, 3: 2}),
    "no broker answers": (AWAY, {0: 4, 1: 0, 2: 5, 3: 2}, 1_000, {0: 4, 1: 0, 2: 5, 3: 2}),
    "an added partition": (ENDS, {0: 4, 1: 0, 2: 5}, 1_000, {0: 10, 1: 0, 2: 500, 3: 7}),
    "the limit of a batch": (ENDS, {0: 10, 1: 0, 2: 5, 3: 7}, 100, {0: 10, 1: 0, 2: 105, 3: 7}),
}


def test_a_batch_ends_at_the_stable_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that does not answer is no failure: the batch has no new records."""
    for name, (ends, start, most, expected) in BATCHES.items():
        with_ends(monkeypatch, ends)
        reader = reader_of(options(most_offsets=most))
        end = reader.latestOffset(offsets(start), None)
        assert (name, end) == (name, {TOPIC: {str(partition): offset for partition, offset in expected.items()}})
        answered = [] if ends is AWAY else [each for each in ends if each[3] is None]
        latest = {TOPIC: {str(partition): stable for partition, _, stable, _ in answered}} if answered else None
        assert (name, reader.reportLatestOffset()) == (name, latest), "the ends, whatever the limit of a batch"


def test_what_was_read_is_confirmed_by_a_new_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition goes on if the log still has what was read under the earlier epoch, or if no broker can say it.

    It keeps its position and its epoch while the answer is missing, and if what was read is gone (KIP-320).
    """
    with_ends(monkeypatch, [(0, 0, 10, None)], {0: 5})
    rows: list[tuple[dict[int, int | None], int, int]] = [
        ({0: 6}, 10, 5), ({0: 7}, 10, 5), ({0: None}, 10, 5), ({0: 5}, 6, 3), ({0: NO_EPOCH}, 6, 3), ({}, 6, 3)
    ]  # fmt: skip
    for answer, position, epoch in rows:
        monkeypatch.setattr(topic_ends, "read_epoch_ends", lambda *asked, answer=answer: answer if asked[2] else {})
        read = {TOPIC: {"0": 6}, "leader_epochs": {"0": 3}}
        end = {TOPIC: {"0": position}, "leader_epochs": {"0": epoch}}
        assert (answer, reader_of(options()).latestOffset(read, None)) == (answer, end)
    monkeypatch.setattr(topic_ends, "read_epoch_ends", lambda *asked: dict.fromkeys(asked[2], NO_EPOCH))
    for read in ({TOPIC: {"0": 6}, "leader_epochs": {"0": 5}}, {TOPIC: {"0": 6}}):
        assert reader_of(options()).latestOffset(read, None) == {TOPIC: {"0": 10}, "leader_epochs": {"0": 5}}


def test_an_added_partition_of_another_instance_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each instance reads its own partitions only."""
    with_ends(monkeypatch, [*ENDS, (4, 0, 9, None), (5, 0, 8, None)])
    reading = dataclasses.replace(options(), part=InstancePart(1, 2))
    end = reader_of(reading).latestOffset(offsets({1: 0, 3: 0}), None)
    assert end == {TOPIC: {"1": 0, "3": 7, "5": 8}}


def test_permanent_errors_end_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing right and a refused login are raised as errors, because a retry would not help."""
    denied: list[Any] = [(0, None, None, "not_authorized")]
    rows: list[tuple[Any, type[Exception]]] = [(denied, NotAuthorised), (LoginRefused("refused", ""), LoginRefused)]
    for ends, error in rows:
        with_ends(monkeypatch, ends)
        with pytest.raises(error):
            reader_of(options()).latestOffset(offsets({0: 0}), None)


def commits(at: int, count: int) -> bytes:
    records = [write.Rec(n, n, commit_key("g", "t", 0), commit_value(at + n, 1_000)) for n in range(count)]
    return write.batch(at, records)


def run(monkeypatch: pytest.MonkeyPatch, leader: FakeLeader, reading: ReadingOptions, ends: dict[int, int]) -> Any:
    """Plan a batch and read its tasks; return the rows of all tasks."""
    monkeypatch.setattr("tests.stream.cluster.records.fake_leader.TOPIC", TOPIC)
    monkeypatch.setattr(offsets_reading, "cluster_of", lambda _: leader)
    monkeypatch.setattr("time.sleep", leader.sleep)
    reader = reader_of(reading)
    rows: list[pa.RecordBatch] = []
    for task in reader.partitions(offsets(dict.fromkeys(ends, 0)), offsets(ends)):
        rows += reader.read(pickle.loads(pickle.dumps(task)))  # noqa: S301
    return [row for batch in rows for row in batch.to_pylist()]


def test_a_task_folds_fetched_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each shard with records has one row. The decode statistics are in the first row."""
    leader = FakeLeader([Reply({0: Part(commits(0, 5)), 2: Part(commits(0, 3))})], [dict.fromkeys(range(4), 1)])
    rows = run(monkeypatch, leader, options(), {0: 5, 1: 0, 2: 3, 3: 0})
    assert [row["shard"] for row in rows] == [0, 2]
    deltas = [unpack_delta(row["delta"]) for row in rows]
    assert [(delta.position, read_run(delta.runs, 0)["commits"]) for delta in deltas] == [(4, 5), (2, 3)]
    assert [row["tally"] is not None for row in rows] == [True, False]
    assert DecodeStats.from_json(rows[0]["tally"]).records == {1: 8}


def test_a_task_counts_aborted_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits of a transaction that the leader lists as aborted count only as aborted, also without other commits."""
    key = commit_key("g", "t", 0)

    def aborted(at: int, count: int) -> bytes:
        rows = [write.Rec(n, n, key, commit_value(at + n, 1)) for n in range(count)]
        batch = write.batch(at, rows, attributes=0x10, producer_id=4_000, producer_epoch=0)
        return batch + write.marker(at + count, 4_000, committed=False)

    with_commits = Part(commits(0, 3) + aborted(3, 1), aborted=((4_000, 3),))
    only_aborted = Part(aborted(0, 2), aborted=((4_000, 0),))
    leader = FakeLeader([Reply({0: with_commits, 2: only_aborted})], [dict.fromkeys(range(4), 1)])
    deltas = [unpack_delta(row["delta"]) for row in run(monkeypatch, leader, options(), {0: 5, 1: 0, 2: 3, 3: 0})]
    assert [(delta.position, len(delta.runs)) for delta in deltas] == [(3, 1), (1, 0)]
    found = [(delta.aborts.count.tolist(), delta.aborts.producer_id.tolist()) for delta in deltas]
    assert found == [([1], [4_000]), ([2], [4_000])]
    assert {each for delta in deltas for each in delta.aborts.keys.to_pylist()} == {key}


def test_damaged_batches_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The faults of damaged batches are among the decode statistics, without a type and a version."""
    bad = write.batch(2, [write.Rec(0, 0, b"k", b"v")], count=9)
    leader = FakeLeader([Reply({0: Part(commits(0, 2) + bad + commits(3, 2))})], [dict.fromkeys(range(4), 1)])
    (row,) = run(monkeypatch, leader, options(), {0: 5})
    assert DecodeStats.from_json(row["tally"]).faults[DecodeFault(None, None, "bad_record")] == 1


def test_deleted_offsets_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tally has the number of offsets that retention deleted before the read. The remaining records are read."""
    replies = [Reply({0: Part(error=1)}), Reply({0: Part(commits(3, 2))})]
    leader = FakeLeader(replies, [dict.fromkeys(range(4), 1)], ends=[{0: (3, 5)}])
    monkeypatch.setattr(read, "read_ends", leader.read_ends)
    (row,) = run(monkeypatch, leader, options(), {0: 5})
    tally = DecodeStats.from_json(row["tally"])
    assert (tally.skipped, tally.records) == ({"deleted": 3}, {1: 2})


FOLDED_TO = {TOPIC: {"0": 7, "1": 0, "2": 5, "3": 0}}


def folded(tmp_path: Path) -> ReadingOptions:
    """Return options with a first batch that is folded already: a delta of shard 0 in a file."""
    file = tmp_path / "0.arrow"
    with pa.ipc.new_file(str(file), FOLDED_SCHEMA) as writer:
        writer.write_batch(pa.record_batch([[0], [b"delta"], ["tally"], [b"change"]], schema=FOLDED_SCHEMA))
    ranges = FoldedRanges({0: 7, 1: 0, 2: 5, 3: 0}, ((((0, 2, 7),), str(file)),), {0: 4})
    return dataclasses.replace(options(), folded=ranges)


def test_the_first_batch_has_what_was_folded_and_what_followed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It ends at the last stable offsets, or where the read did while no broker answers.

    The offsets after those of the read have a task of their own.
    """
    reader = reader_of(folded(tmp_path))
    assert reader.initialOffset() == {TOPIC: {"0": 2, "1": 0, "2": 5, "3": 0}}, "the log start offsets in the options"
    with_ends(monkeypatch, AWAY)
    first = {TOPIC: {"0": 7, "1": 0, "2": 5, "3": 0}, "leader_epochs": {"0": 4}}
    assert reader.latestOffset(reader.initialOffset(), None) == first
    with_ends(monkeypatch, ENDS, {0: 4})
    first[TOPIC] |= {"0": 10, "2": 500, "3": 7}
    assert reader.latestOffset(reader.initialOffset(), None) == first
    tasks: Any = reader.partitions(reader.initialOffset(), first)
    both = (((0, 2, 7),), str(tmp_path / "0.arrow")), (((0, 7, 10), (2, 5, 500), (3, 0, 7)), None)
    assert tuple((task.ranges, task.file) for task in tasks) == both


def test_a_task_of_the_first_batch_returns_the_folded_records(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is fetched, and nothing is counted twice. A task that runs again returns the same rows."""
    monkeypatch.setattr(offsets_reading, "cluster_of", lambda _: pytest.fail("the cluster was asked"))
    reader = reader_of(folded(tmp_path))
    (task,) = reader.partitions(reader.initialOffset(), FOLDED_TO)
    for _ in range(2):
        (rows,) = reader.read(task)
        assert rows.to_pylist() == [{"shard": 0, "delta": b"delta", "tally": None}]


def test_offsets_of_an_unusable_file_are_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The records of the same offsets are fetched if the file is missing, empty or cut off."""
    monkeypatch.setattr("tests.stream.cluster.records.fake_leader.TOPIC", TOPIC)
    for content in (None, b"", b"ARROW1\0\0"):
        reading, file = folded(tmp_path), tmp_path / "0.arrow"
        file.write_bytes(content or b"")
        if content is None:
            file.unlink()
        leader = FakeLeader([Reply({0: Part(commits(2, 9))})], [dict.fromkeys(range(4), 1)])
        monkeypatch.setattr(offsets_reading, "cluster_of", lambda _, leader=leader: leader)
        reader = reader_of(reading)
        (task,) = reader.partitions(reader.initialOffset(), FOLDED_TO)
        (row,) = [row for batch in reader.read(task) for row in batch.to_pylist()]
        delta = unpack_delta(row["delta"])
        assert (row["shard"], delta.position, read_run(delta.runs, 0)["commits"]) == (0, 6, 5)


def test_a_batch_that_ends_before_the_folded_offsets_has_no_file(tmp_path: Path) -> None:
    """A checkpoint may have fixed it."""
    reader = reader_of(folded(tmp_path))
    tasks = reader.partitions(reader.initialOffset(), offsets({0: 6, 1: 0, 2: 5, 3: 0}))
    assert [(task.ranges, task.file) for task in tasks] == [(((0, 2, 6),), None)]  # type: ignore[attr-defined]


def test_planning_loads_no_large_package() -> None:
    """The import of the source loads neither the Kafka client, numpy, Arrow nor the decoders."""
    program = (
        "import sys, pyspark.sql.datasource; before = set(sys.modules); import stream.spark.delta_source; "
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    assert not {"kafka", "numpy", "pyarrow", "decoders"} & set(loaded)
