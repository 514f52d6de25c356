"""A log cleaner that gives up one partition of the offsets topic because of a damaged record batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from confluent_kafka import Consumer, TopicPartition

from exporters.cluster.exposition import PublishedCluster
from sandbox.kafka.topics import create_topics
from sandbox.waiting import eventually, wait_until
from stream.cluster.offsets_topic import NAME
from stream.cluster.transport.client import Cluster
from stream.cluster_facts.log_cleaner import PATIENCE_SECONDS
from stream.cluster_facts.poll import ClusterPoll
from stream.groups.placement import partition_for
from tests.exporters.snapshots import snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.kafka.broker import Broker
    from tests.conftest import MakeBroker

pytestmark = pytest.mark.kafka

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
MAGIC: Final = 16
"""Positions in a record batch: its length without the first twelve bytes, and its format version."""


def test_a_partition_that_the_cleaner_gives_up_is_named(make_broker: MakeBroker) -> None:
    """The evidence names it, and not the partition that the same cleaner goes on to compact."""
    broker = make_broker(properties=PROPERTIES)
    create_topics(broker.bootstrap, {"t": KEYS})
    groups = [_group_in(partition) for partition in (DAMAGED, SOUND)]
    commit(broker, groups, times=3)
    damage(broker.data / f"{NAME}-{DAMAGED}")
    seen = snapshot(groups=[{"group": group, "partitions": KEYS, "members": 0} for group in groups])
    with Cluster([broker.bootstrap]) as cluster:
        poll = ClusterPoll(cluster, 100)
        assert poll.poll(seen, 0).cleaner_suspect is False
        commit(broker, groups, times=120)
        wait_until(
            lambda: f"Marking its partition ({NAME}-{DAMAGED}) as uncleanable" in _log(broker), "the cleaner to give up"
        )
        wait_until(
            lambda: _size(broker, SOUND) < 2 * SEGMENT < _size(broker, DAMAGED), "the other partition to be compacted"
        )
        assert poll.poll(seen, 60).cleaner_suspect is False, "a cleaner may be busy with other logs"
        facts = poll.poll(seen, 60 + PATIENCE_SECONDS)
    assert facts.cleaner_suspect is True
    assert {each.partition(" of ")[0] for each in facts.cleaner_evidence} == {f"partition {DAMAGED}"}
    assert "without being compacted, which was due at" in facts.cleaner_evidence[0]
    families = PublishedCluster.build(facts).exposition.families
    assert b"lagwarden_offsets_topic_cleaner_suspect 1" in b"".join(family.samples.kept or b"" for family in families)


def _group_in(partition: int) -> str:
    return next(name for at in range(100) if partition_for(name := f"group-{at}", 2) == partition)


def commit(broker: Broker, groups: list[str], times: int) -> None:
    """Commit all keys of these groups."""
    positions = [TopicPartition("t", partition, 7) for partition in range(KEYS)]
    for group in groups:
        client = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group, "log_level": 0})
        for _ in range(times):
            eventually(lambda client=client: client.commit(offsets=positions, asynchronous=False))
        client.close()


def damage(folder: Path) -> None:
    """Overwrite the format version of the second batch; the cleaner meets it when its segment is no longer active."""
    (segment,) = folder.glob("*.log")
    with segment.open("r+b") as file:
        second = 12 + int.from_bytes(file.read(12)[BATCH_LENGTH], "big")
        file.seek(second + MAGIC)
        file.write(b"\x7f")


def _log(broker: Broker) -> str:
    return broker.log.read_text(errors="replace")


def _size(broker: Broker, partition: int) -> int:
    return sum(each.stat().st_size for each in (broker.data / f"{NAME}-{partition}").glob("*.log"))
