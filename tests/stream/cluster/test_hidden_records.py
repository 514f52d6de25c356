"""Tests of reading hidden records up to the high watermark, and of leaders' errors."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, cast

import pytest

from sandbox.kafka import log_writer as logwriter
from stream.cluster.hidden_records import HiddenBatch, read_hidden
from tests.support.scripted_cluster import AWAY, Answers, ScriptedCluster, says

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream.cluster.hidden_records import HiddenRead
    from stream.cluster.transport.client import Cluster

OUT_OF_RANGE, NOT_LEADER = 1, 6
TRANSACTIONAL = 0x10


def topic_of(*leaders: int) -> Any:
    """Describe the topic with a leader per partition, -1 for none."""
    partitions = [says(partition_index=at, leader_id=node, leader_epoch=0) for at, node in enumerate(leaders)]
    return lambda *_: says(topics=[says(name="o", error_code=0, partitions=partitions)])


def log(*batches: bytes, code: int = 0) -> Callable[[int | None, Any], Any]:
    """Answer a fetch with the batch at the position; each of them holds one offset."""

    def answer(_: int | None, request: Any) -> Any:
        (partition,) = request.topics[0].partitions
        left = batches[partition.fetch_offset :]
        part = says(partition_index=partition.partition, error_code=code, records=b"".join(left[:1]))
        return says(error_code=0, responses=[says(topic="o", partitions=[part])])

    return answer


def read(answers: Answers, positions: dict[int, int], *, seconds: float = 9.0) -> dict[int, HiddenRead]:
    """Read from a cluster with these answers; each call of the clock takes a second."""
    clock = itertools.count(0.0, 1.0)
    cluster = cast("Cluster", ScriptedCluster(answers))
    return read_hidden(cluster, "o", positions, clock=lambda: next(clock), deadline=seconds)


def data(offset: int, *, producer: int = -1) -> bytes:
    """Return a batch of one record, in a producer's transaction or in none."""
    records = [logwriter.Rec(0, 0, b"k", b"v")]
    if producer < 0:
        return logwriter.batch(offset, records)
    return logwriter.batch(offset, records, attributes=TRANSACTIONAL, producer_id=producer, producer_epoch=0)


BATCHES = (data(0), data(1, producer=7), logwriter.marker(2, 7, committed=True), data(3))


def test_all_batches_are_read_to_the_end() -> None:
    """Batches have their producer, markers their outcome, and the read is complete."""
    (found,) = read({"Metadata": topic_of(1), "FetchRequest": log(*BATCHES)}, {0: 1}).values()
    assert [
        (batch.producer_id, batch.committed, [each.offset for each in batch.records]) for batch in found.batches
    ] == [
        (7, None, [1]),
        (7, True, []),
        (None, None, [3]),
    ]
    assert (found.position, found.complete, found.position_lost) == (4, True, False)
    assert found.batches[1] == HiddenBatch(producer_id=7, committed=True)


def test_the_read_stops_at_the_deadline() -> None:
    """The batches read until then are returned; the next call continues."""
    (found,) = read({"Metadata": topic_of(1), "FetchRequest": log(*BATCHES)}, {0: 0}, seconds=1.0).values()
    assert (found.position, found.complete) == (2, False)


def test_a_log_without_the_position_is_marked() -> None:
    """The log was truncated or created again, so earlier results are invalid."""
    (found,) = read({"Metadata": topic_of(1), "FetchRequest": log(code=OUT_OF_RANGE)}, {0: 5}).values()
    assert (found.position_lost, found.batches) == (True, [])


@pytest.mark.parametrize(
    "answers",
    [
        {"Metadata": lambda *_: AWAY},
        {"Metadata": topic_of(-1)},
        {"Metadata": topic_of(1), "FetchRequest": lambda *_: AWAY},
        {"Metadata": topic_of(1), "FetchRequest": log(code=NOT_LEADER)},
        {"Metadata": topic_of(1), "FetchRequest": log(b"\0" * 8 + b"\0\0\0\x40" + b"\x02" * 64)},
    ],
    ids=["no broker", "no leader", "unreachable leader", "moved leader", "malformed batch"],
)
def test_a_partition_that_cannot_be_read_is_not_in_the_result(answers: Answers) -> None:
    """Nothing is raised; the next call retries."""
    assert read(answers, {0: 0}) == {}
