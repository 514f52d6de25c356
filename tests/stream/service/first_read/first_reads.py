"""First reads for tests: of commits that a scripted leader has, and of a broker that does not answer."""

from pathlib import Path

import pytest

from sandbox.kafka import log_writer as write
from stream.checkpoint.spark_offsets import TOPIC, SourceOffsets
from stream.config.kafka_login import KafkaLogin
from stream.groups.placement import Placement
from stream.groups.shard import StateLimits
from stream.service.first_read.request import FirstRead
from stream.service.first_read.worker import write_result
from stream.spark import offsets_reading
from stream.spark.reading_options import ClusterAccess
from tests.stream.cluster.records.fake_leader import FakeLeader, Part, Reply
from tests.stream.spark.readings import reading_options
from tests.support.commits import KEEP, SLOT_MS
from tests.support.raw import commit_key, commit_value


def first_read(folder: Path) -> FirstRead:
    """Return a read of two partitions by two tasks; no broker answers."""
    access, limits = ClusterAccess(("127.0.0.1:1",), KafkaLogin(), 1.0), {"slot_ms": SLOT_MS, "keep_slots": KEEP}
    reading = reading_options(access=access, starts={0: 0, 1: 0, 2: 0}, limit=0.1, placement=Placement(3, 1), **limits)
    ends = SourceOffsets({0: 5, 1: 0, 2: 3})
    return FirstRead(reading, StateLimits(KEEP), {0: 5}, ends, (((0, 0, 5),), ((2, 0, 3),)), folder)


def commits(at: int, count: int, group: str) -> bytes:
    records = [write.Rec(n, n, commit_key(group, "t", 0), commit_value(at + n, 1_000)) for n in range(count)]
    return write.batch(at, records)


def write_results(monkeypatch: pytest.MonkeyPatch, read: FirstRead) -> None:
    """Write the results: five commits of `a` in partition 0, three of `c` in partition 2."""
    monkeypatch.setattr("tests.stream.cluster.records.fake_leader.TOPIC", TOPIC)
    parts = {0: Part(commits(0, 5, "a")), 2: Part(commits(0, 3, "c"))}
    for task, ranges in enumerate(read.tasks):
        only = {partition: parts[partition] for partition, _, _ in ranges}
        leader = FakeLeader([Reply(only)], [dict.fromkeys(range(3), 1)])
        monkeypatch.setattr(offsets_reading, "cluster_of", lambda _, leader=leader: leader)
        write_result(read, task)
