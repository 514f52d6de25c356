"""Tests of reading hidden records up to the high watermark, and of leaders' errors."""

import itertools
from collections.abc import Callable
from typing import Any, cast

from sandbox.kafka import log_writer as logwriter
from stream.cluster.hidden_records import HiddenPart, read_hidden
from stream.cluster.transport.client import Cluster
from tests.support.scripted_cluster import AWAY, Answers, ScriptedCluster, says

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
        part = says(
            partition_index=partition.partition,
            error_code=code,
            records=b"".join(left[:1]),
            high_watermark=len(batches),
        )
        return says(error_code=0, responses=[says(topic="o", partitions=[part])])

    return answer


def read(
    answers: Answers, positions: dict[int, int], *, seconds: float = 9.0, most_bytes: int = 1 << 20
) -> list[HiddenPart]:
    """Read from a cluster with these answers; each call of the clock takes a second."""
    clock = itertools.count(0.0, 1.0)
    cluster = cast("Cluster", ScriptedCluster(answers))
    return list(
        read_hidden(cluster, "o", positions, most_bytes=most_bytes, clock=lambda: next(clock), deadline=seconds)
    )


def data(offset: int, *, producer: int = -1) -> bytes:
    records = [logwriter.Rec(0, 0, b"k", b"v")]
    if producer < 0:
        return logwriter.batch(offset, records)
    return logwriter.batch(offset, records, attributes=TRANSACTIONAL, producer_id=producer, producer_epoch=0)


BATCHES = (data(0), data(1, producer=7), logwriter.marker(2, 7, committed=True), data(3))


def test_all_batches_are_read_to_the_end() -> None:
    """Each response is a part; data of transactions is `pending`, other data is `visible`, markers are neither."""
    found = read({"Metadata": topic_of(1), "FetchRequest": log(*BATCHES)}, {0: 1})
    assert [(part.partition, part.start, part.position, part.unread) for part in found] == [
        (0, 1, 2, 2),
        (0, 2, 3, 1),
        (0, 3, 4, 0),
    ]
    assert [part.batches.pending.tolist() for part in found] == [[True], [False], [False]]
    assert [part.batches.visible.tolist() for part in found] == [[False], [False], [True]]
    assert found[0].batches.producers(found[0].batches.last_offset).tolist() == [7]


def test_the_read_stops_at_its_limits() -> None:
    """The remaining records are counted as unread; the next call continues."""
    answers: Answers = {"Metadata": topic_of(1), "FetchRequest": log(*BATCHES)}
    for found in (read(answers, {0: 0}, seconds=1.0), read(answers, {0: 0}, most_bytes=100)):
        assert (found[-1].position, found[-1].unread) == (2, len(BATCHES) - 2)


def test_a_log_that_ends_at_the_position_is_read() -> None:
    """A log is complete even if compaction has removed the last offsets below the high watermark.

    A log without the position was truncated or created again, and is marked, because earlier results are invalid.
    """
    (part,) = read({"Metadata": topic_of(1), "FetchRequest": log(b"", b"", b"")}, {0: 1})
    assert (part.position, part.unread) == (1, 0)
    (part,) = read({"Metadata": topic_of(1), "FetchRequest": log(code=OUT_OF_RANGE)}, {0: 5})
    assert (part.position_lost, part.batches.next_offset) == (True, 0)


def test_a_partition_that_cannot_be_read_is_left_out() -> None:
    """A failed read raises no exception; the next call retries."""
    malformed = log(b"\0" * 8 + b"\0\0\0\x40" + b"\x02" * 64)
    unreadable: dict[str, Answers] = {
        "no broker": {"Metadata": lambda *_: AWAY},
        "no leader": {"Metadata": topic_of(-1)},
        "unreachable leader": {"Metadata": topic_of(1), "FetchRequest": lambda *_: AWAY},
        "moved leader": {"Metadata": topic_of(1), "FetchRequest": log(code=NOT_LEADER)},
        "malformed batch": {"Metadata": topic_of(1), "FetchRequest": malformed},
    }
    assert {name: read(answers, {0: 0}) for name, answers in unreadable.items()} == {name: [] for name in unreadable}
