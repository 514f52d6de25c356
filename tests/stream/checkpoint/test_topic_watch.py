"""Tests of the topic watch: when all records are read, and when the state no longer matches the topic."""

import dataclasses
import errno
import uuid
from pathlib import Path
from typing import Any, cast

import pytest
import structlog

from stream.checkpoint import topic_watch
from stream.checkpoint.directory import CheckpointDirectory
from stream.checkpoint.spark_offsets import SourceOffsets
from stream.checkpoint.topic_watch import TopicWatch
from stream.checkpoint.usage import SideFiles
from stream.cluster.offsets_topic import OffsetsTopic
from stream.cluster.partition_offsets import NO_EPOCH
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import Unreachable
from stream.groups.placement import InstancePart
from stream.service.catch_up import CatchUpProgress

CLUSTER = cast("Cluster", object())
TOPIC = OffsetsTopic("c", uuid.UUID(int=7), (0, 1))


class WatchedTopic:
    """A topic, a checkpoint that counts its heartbeats, and their watch."""

    def __init__(self) -> None:
        self.topic: OffsetsTopic | Unreachable | None = TOPIC
        self.notes = 0
        self.trouble: OSError | None = None
        self.files = SideFiles()
        self.epochs = {0: 3, 1: 3}
        self.progress = CatchUpProgress({0: 5, 1: 7}, {0: 5, 1: 7})
        self.watch = TopicWatch(cast("CheckpointDirectory", self), 3600.0, TOPIC.partitions, self.files)

    @property
    def manifest(self) -> Any:
        """The manifest, of which the watch reads only the id."""
        return type("Manifest", (), {"topic_id": str(TOPIC.topic_id)})

    @property
    def folder(self) -> Path:
        return Path("checkpoint")

    def record_current(self) -> None:
        if self.trouble:
            raise self.trouble
        self.notes += 1

    def describe(self, _: Cluster) -> OffsetsTopic | None:
        if isinstance(self.topic, Unreachable):
            raise self.topic
        return self.topic

    def update(self, *logs: tuple[int, int, int]) -> str | None:
        """Update once; logs as (log start offset, high watermark, last stable offset)."""
        self.watch.update(CLUSTER, dict(enumerate(logs)), self.progress.positions, self.epochs)
        return self.watch.broken


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> WatchedTopic:
    watched = WatchedTopic()
    monkeypatch.setattr(topic_watch, "describe", watched.describe)
    return watched


def test_partitions_of_other_instances_are_not_watched(watched: WatchedTopic) -> None:
    """An instance is current when its own partitions are read. Ends and additions of other instances do not count."""
    checkpoint = cast("CheckpointDirectory", watched)
    watch = TopicWatch(checkpoint, 3600.0, TOPIC.partitions, part=InstancePart(1, 2))
    watched.topic = dataclasses.replace(TOPIC, partitions=(0, 1, 2, 3, 4))
    logs = {0: (0, 90, 90), 1: (0, 7, 7), 2: (0, 3, 3), 3: (0, 4, 4), 4: (0, 0, 0)}
    watch.update(CLUSTER, logs, {1: 7}, {})
    assert (watch.added, watch.added_logs) == ((3,), {3: (0, 4, 4)})
    watch.add_partitions([3])
    watch.update(CLUSTER, logs, {1: 7, 3: 4}, {})
    assert (watch.added, watch.current) == ((), True)


def test_the_reader_is_current_if_it_read_the_previous_ends(watched: WatchedTopic) -> None:
    """A heartbeat is recorded only if the reader has read the end offsets of the previous update."""
    watched.update((0, 5, 5), (0, 7, 7))
    assert watched.notes == 0, "there was no look before"
    watched.update((0, 9, 9), (0, 7, 7))
    assert watched.notes == 1
    watched.update((0, 20, 20), (0, 7, 7))
    assert watched.notes == 1, "9 is not read yet"
    watched.progress.finish({0: 21})
    watched.update((0, 21, 21), (0, 7, 7))
    assert watched.notes == 2


AGAIN = dataclasses.replace(TOPIC, topic_id=uuid.UUID(int=8))
TRUNCATED = "partition 0 of __consumer_offsets ends at 4, before 5"
MISSED = "partition 1 of __consumer_offsets begins at 8; records from 7 on were missed"


@pytest.mark.parametrize(
    ("topic", "logs", "why"),
    [
        (AGAIN, ((0, 5, 5), (0, 7, 7)), "created again"),
        (TOPIC, ((0, 4, 4), (0, 7, 7)), TRUNCATED),
        (TOPIC, ((0, 5, 5), (8, 9, 9)), MISSED),
    ],
)
def test_a_mismatch_is_reported_at_the_second_update(
    watched: WatchedTopic, topic: OffsetsTopic, logs: tuple[tuple[int, int, int], ...], why: str
) -> None:
    """The first mismatch is ignored, because a new leader may have older offsets. The second one is reported."""
    watched.topic = topic
    assert watched.update(*logs) is None
    assert why in str(watched.update(*logs))


@pytest.mark.parametrize(
    ("end", "left"),
    [(4, "of which 4 offsets are left"), (NO_EPOCH, "of which 0 offsets are left"), (5, None), (None, None)],
)
def test_a_log_that_lost_its_end_is_reported(
    watched: WatchedTopic, monkeypatch: pytest.MonkeyPatch, end: int | None, left: str | None
) -> None:
    """A new leader whose log has grown past the position is asked where the epoch ends that was read (KIP-320)."""
    asked = []
    monkeypatch.setattr(
        topic_watch, "read_epoch_ends", lambda *request: asked.append(request[2]) or dict.fromkeys(request[2], end)
    )
    watched.watch.read = SourceOffsets({0: 5, 1: 7}, {0: 3, 1: 3})
    logs = ((0, 9, 9), (0, 7, 7))
    assert watched.update(*logs) is None
    assert asked == [{}], "the leaders are the same"
    watched.epochs = {0: 4, 1: 3}
    found = [watched.update(*logs) for _ in range(2)]
    assert asked[1:] == [{0: 3}] * 2
    assert found[0] is None
    assert (found[1] is None) if left is None else left in str(found[1])


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE, errno.ENOENT, errno.EACCES])
def test_a_failed_heartbeat_write_is_counted(watched: WatchedTopic, number: int) -> None:
    """The watch continues and is current, and the failure is logged once and counted."""
    watched.trouble = OSError(number, "as the system says it")
    with structlog.testing.capture_logs() as lines:
        for _ in range(3):
            assert watched.update((0, 5, 5), (0, 7, 7)) is None
    assert watched.watch.current
    assert [line["cause"] for line in lines] == ["as the system says it"]
    assert watched.files.table().to_pylist()[0] == {"file": "heartbeat", "failures": 2}


def test_added_partitions_are_reported_with_their_ends(watched: WatchedTopic) -> None:
    """Added partitions are named at once. Their ends are known only when each of them has a leader."""
    watched.update((0, 5, 5), (0, 7, 7))
    assert (watched.watch.added, watched.watch.added_logs) == ((), None)
    watched.topic = dataclasses.replace(TOPIC, partitions=(0, 1, 2, 3))
    watched.update((0, 5, 5), (0, 7, 7), (0, 0, 0))
    assert (watched.watch.added, watched.watch.added_logs) == ((2, 3), None)
    watched.update((0, 5, 5), (0, 7, 7), (0, 0, 0), (0, 4, 3))
    assert watched.watch.added_logs == {2: (0, 0, 0), 3: (0, 4, 3)}
    watched.watch.add_partitions((2, 3))
    assert (watched.watch.added, watched.watch.added_logs) == ((), None)
    watched.update((0, 5, 5), (0, 7, 7), (0, 0, 0), (0, 4, 3))
    assert (watched.watch.added, watched.watch.added_logs) == ((), None)
    assert watched.watch.broken is None


def test_an_unreachable_cluster_is_no_mismatch(watched: WatchedTopic) -> None:
    """Neither a cluster that does not answer nor a missing topic is reported as a mismatch."""
    for watched.topic in (None, Unreachable("no broker answers", "")):
        assert [watched.update((0, 5, 5), (0, 7, 7)) for _ in range(3)] == [None] * 3
