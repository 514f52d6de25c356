"""A damaged batch stops the cleaning of one partition of the offsets topic, or ends the cleaner's thread."""

import os
import signal
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, TopicPartition

from exporters.cluster.exposition import PublishedCluster
from exporters.cluster.model import ClusterFacts
from sandbox.kafka.broker import Broker
from sandbox.kafka.topics import create_topics
from stream.cluster.offsets_topic import NAME
from stream.cluster.transport.client import Cluster
from stream.cluster_facts.log_cleaner import PATIENCE_SECONDS
from stream.cluster_facts.poll import ClusterPoll
from tests.conftest import MakeBroker
from tests.exporters.snapshots import snapshot
from tests.integration.traffic import groups_in, set_topic
from tests.support.processes import eventually, wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.long]

DAMAGED, SOUND = 0, 1
"""Partitions of the offsets topic."""
KEYS: Final = 300
SEGMENT: Final = 1_048_576
PROPERTIES: Final = {
    "offsets.topic.segment.bytes": str(SEGMENT),
    "offsets.topic.num.partitions": "2",
    "log.cleaner.backoff.ms": "200",
}
BATCH_LENGTH: Final = slice(8, 12)
"""The position of the length of a record batch, without its first twelve bytes."""
HUGE: Final = 2**30
"""Bytes, more than the heap of the broker."""
CLEANER_THREAD: Final = '"kafka-log-cleaner-thread-'


def test_a_dead_cleaner_thread_and_a_partition_that_it_gives_up_are_evidence(make_broker: MakeBroker) -> None:
    """A batch that seems to need more than the heap ends the thread: all partitions of the broker are evidence.

    After a restart with a smaller max.message.bytes the thread lives, and only the damaged partition is evidence.
    """
    broker = make_broker(properties=PROPERTIES, heap="128m")
    create_topics(broker.bootstrap, {"t": KEYS})
    groups = [next(groups_in(partition, 2, "group")) for partition in (DAMAGED, SOUND)]
    commit(broker, groups, times=3)
    set_topic(broker.bootstrap, NAME, {"max.message.bytes": str(HUGE)})
    assert _cleaner_threads(broker) == 1
    overwrite_second_batch(broker.data / f"{NAME}-{DAMAGED}", BATCH_LENGTH.start, (HUGE - 12).to_bytes(4, "big"))
    seen = snapshot(groups=[{"group": group, "partitions": KEYS, "members": 0} for group in groups])
    with Cluster([broker.bootstrap]) as cluster:
        poll = ClusterPoll(cluster, 100)
        assert poll.poll(seen, 0).cleaner_suspect is False
        commit(broker, groups, times=120)
        wait_until(lambda: "java.lang.OutOfMemoryError" in _log(broker), "the error of the cleaner")
        wait_until(lambda: _cleaner_threads(broker) == 0, "the end of the thread")
        assert "uncleanable" not in _log(broker)
        assert poll.poll(seen, 60).cleaner_suspect is False, "a cleaner may be busy with other logs"
        facts = poll.poll(seen, 60 + PATIENCE_SECONDS)
        signs = [("without being compacted" in each, "live keys" in each) for each in facts.cleaner_evidence]
        assert signs == [(True, False), (False, True)]
        assert all(each.endswith(" (and 1 more of its partitions)") for each in facts.cleaner_evidence)
        assert _published_suspect(facts) == b"lagwarden_offsets_topic_cleaner_suspect 1"

        set_topic(broker.bootstrap, NAME, {"max.message.bytes": str(SEGMENT)})
        broker.stop()
        broker.start()
        commit(broker, groups, times=1)
        wait_until(lambda: _size(broker, SOUND) < 2 * SEGMENT < _size(broker, DAMAGED), "the other partition")
        given_up = f"Marking its partition ({NAME}-{DAMAGED}) as uncleanable"
        wait_until(lambda: given_up in _log(broker), "the cleaner to give up")
        assert _cleaner_threads(broker) == 1
        facts = poll.poll(seen, 120 + PATIENCE_SECONDS)
    evidence = facts.cleaner_evidence
    assert "without being compacted, which was due at" in evidence[0]
    assert _published_suspect(facts) == b"lagwarden_offsets_topic_cleaner_suspect 1"
    assert {each.partition(" of ")[0] for each in evidence} == {f"partition {DAMAGED}"}
    assert not any("more of its partitions" in each for each in evidence)


def commit(broker: Broker, groups: list[str], times: int) -> None:
    """Commit all keys of these groups."""
    positions = [TopicPartition("t", partition, 7) for partition in range(KEYS)]
    for group in groups:
        client = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group, "log_level": 0})
        for _ in range(times):
            eventually(lambda client=client: client.commit(offsets=positions, asynchronous=False))
        client.close()


def overwrite_second_batch(folder: Path, position: int, content: bytes) -> None:
    """Overwrite bytes of the second batch. The cleaner reads it when its segment is no longer active."""
    (segment,) = folder.glob("*.log")
    with segment.open("r+b") as file:
        second = 12 + int.from_bytes(file.read(12)[BATCH_LENGTH], "big")
        file.seek(second + position)
        file.write(content)


def _cleaner_threads(broker: Broker) -> int:
    """Return the number of threads of the log cleaner in a new thread dump of the broker's JVM."""
    assert broker.pid is not None
    end = "JNI global ref"
    dumps = _log(broker).count(end)
    os.kill(broker.pid, signal.SIGQUIT)
    wait_until(lambda: _log(broker).count(end) > dumps, "the thread dump")
    return _log(broker).rpartition("Full thread dump")[2].count(CLEANER_THREAD)


def _published_suspect(facts: ClusterFacts) -> bytes:
    """Return the line of the metric that the alert evaluates."""
    families = PublishedCluster.build(facts).exposition.families
    lines = b"".join(family.samples.kept or b"" for family in families).splitlines()
    return next(line for line in lines if line.startswith(b"lagwarden_offsets_topic_cleaner_suspect"))


def _log(broker: Broker) -> str:
    return broker.log.read_text(errors="replace")


def _size(broker: Broker, partition: int) -> int:
    return sum(each.stat().st_size for each in (broker.data / f"{NAME}-{partition}").glob("*.log"))
