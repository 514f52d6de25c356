"""The watch over the topic while the job runs: when all is read, and when the state is not of this topic any more."""

from __future__ import annotations

import dataclasses
import errno
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
import structlog

from stream.checkpoint import topic_watch
from stream.checkpoint.side_files import SideFiles
from stream.checkpoint.topic_watch import TopicWatch
from stream.cluster.offsets_topic import OffsetsTopic
from stream.cluster.transport.errors import Unreachable
from stream.service.catch_up import CatchUpProgress

if TYPE_CHECKING:
    from stream.checkpoint.directory import CheckpointDirectory
    from stream.cluster.transport.client import Cluster

CLUSTER = cast("Cluster", object())
TOPIC = OffsetsTopic("c", uuid.UUID(int=7), (0, 1), (1, 1))


class World:
    """A topic, a checkpoint that counts its notes, and the watch between them."""

    def __init__(self) -> None:
        self.topic: OffsetsTopic | Unreachable | None = TOPIC
        self.notes = 0
        self.trouble: OSError | None = None
        self.files = SideFiles()
        self.progress = CatchUpProgress({0: 5, 1: 7}, {0: 5, 1: 7})
        self.watch = TopicWatch(cast("CheckpointDirectory", self), 3600.0, TOPIC.partitions, self.files)

    @property
    def manifest(self) -> Any:
        """The watch looks at the id alone."""
        return type("Manifest", (), {"topic_id": str(TOPIC.topic_id)})

    @property
    def folder(self) -> Path:
        """Where the notes would be."""
        return Path("checkpoint")

    def record_current(self) -> None:
        """Count, or fail as a disk may."""
        if self.trouble:
            raise self.trouble
        self.notes += 1

    def describe(self, _: Cluster) -> OffsetsTopic | None:
        """Answer like the cluster."""
        if isinstance(self.topic, Unreachable):
            raise self.topic
        return self.topic

    def look(self, *logs: tuple[int, int, int]) -> str | None:
        """Look once; logs as (log start, high watermark, last stable offset)."""
        self.watch.update(CLUSTER, dict(enumerate(logs)), self.progress.positions)
        return self.watch.broken


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """Give a world whose reader has read all there is."""
    world = World()
    monkeypatch.setattr(topic_watch, "describe", world.describe)
    return world


def test_all_is_read_when_what_was_there_at_the_look_before_is(world: World) -> None:
    """A busy topic is always a little ahead; one that stands behind by a whole look is not read up to now."""
    world.look((0, 5, 5), (0, 7, 7))
    assert world.notes == 0, "there was no look before"
    world.look((0, 9, 9), (0, 7, 7))
    assert world.notes == 1
    world.look((0, 20, 20), (0, 7, 7))
    assert world.notes == 1, "9 is not read yet"
    world.progress.finish({0: 21})
    world.look((0, 21, 21), (0, 7, 7))
    assert world.notes == 2


@pytest.mark.parametrize(
    ("topic", "logs", "why"),
    [
        (dataclasses.replace(TOPIC, topic_id=uuid.UUID(int=8)), ((0, 5, 5), (0, 7, 7)), "created again"),
        (TOPIC, ((0, 4, 4), (0, 7, 7)), "partition 0 of __consumer_offsets ends at 4, before 5"),
        (TOPIC, ((0, 5, 5), (8, 9, 9)), "partition 1 of __consumer_offsets begins at 8; records from 7 on were missed"),
    ],
    ids=["created again", "cut back", "records gone before they were read"],
)
def test_break_is_believed_the_second_time(
    world: World, topic: OffsetsTopic, logs: tuple[tuple[int, int, int], ...], why: str
) -> None:
    """Once may be a new leader that knows less for a moment."""
    world.topic = topic
    assert world.look(*logs) is None
    assert why in str(world.look(*logs))


@pytest.mark.parametrize("away", [None, Unreachable("no broker answers", "")], ids=["no topic", "no answer"])
def test_what_cannot_be_asked_breaks_nothing(world: World, away: Unreachable | None) -> None:
    """A cluster that does not answer, or a topic that is gone for a moment, is asked again with the next tick."""
    world.topic = away
    assert [world.look((0, 5, 5), (0, 7, 7)) for _ in range(3)] == [None] * 3


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE, errno.ENOENT, errno.EACCES])
def test_a_heartbeat_that_cannot_be_written_ends_nothing(world: World, number: int) -> None:
    """The watch goes on, the failure is logged once and counted, and it is current all the same."""
    world.trouble = OSError(number, "as the system says it")
    with structlog.testing.capture_logs() as lines:
        for _ in range(3):
            assert world.look((0, 5, 5), (0, 7, 7)) is None
    assert world.watch.current
    assert [line["cause"] for line in lines] == ["as the system says it"]
    assert world.files.table().to_pylist()[0] == {"file": "heartbeat", "failures": 2}


def test_partitions_that_were_added_are_noticed_and_read_once_their_ends_are_known(world: World) -> None:
    """They are named at the first look; one that has no leader yet keeps the others waiting."""
    world.look((0, 5, 5), (0, 7, 7))
    assert (world.watch.added, world.watch.added_logs) == ((), None)
    world.topic = dataclasses.replace(TOPIC, partitions=(0, 1, 2, 3))
    world.look((0, 5, 5), (0, 7, 7), (0, 0, 0))
    assert (world.watch.added, world.watch.added_logs) == ((2, 3), None)
    world.look((0, 5, 5), (0, 7, 7), (0, 0, 0), (0, 4, 3))
    assert world.watch.added_logs == {2: (0, 0, 0), 3: (0, 4, 3)}
    world.watch.add_partitions((2, 3))
    assert (world.watch.added, world.watch.added_logs) == ((), None)
    world.look((0, 5, 5), (0, 7, 7), (0, 0, 0), (0, 4, 3))
    assert (world.watch.added, world.watch.added_logs) == ((), None)
    assert world.watch.broken is None


@pytest.mark.parametrize("answer", [TOPIC, None, Unreachable("no broker answers", "")])
def test_broker_that_does_not_know_of_added_partitions_takes_nothing_back(
    world: World, answer: OffsetsTopic | Unreachable | None
) -> None:
    """A topic never loses partitions."""
    world.topic = dataclasses.replace(TOPIC, partitions=(0, 1, 2))
    world.look((0, 5, 5), (0, 7, 7))
    world.topic = answer
    world.look((0, 5, 5), (0, 7, 7))
    assert world.watch.added == (2,)
