"""Tests of the description of `__consumer_offsets` on a real broker: absent, existing, and not created by a lookup."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from sandbox.kafka.topics import create_topics
from stream.cluster import offsets_topic
from stream.cluster.transport.client import Cluster

if TYPE_CHECKING:
    from tests.conftest import MakeBroker

pytestmark = pytest.mark.kafka


def commit(bootstrap: str, seconds: float = 30.0) -> None:
    """Commit an offset of a group without members; a fresh broker's coordinator needs a moment."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "enable.auto.commit": False})
    deadline = time.monotonic() + seconds
    while True:
        try:
            consumer.commit(offsets=[TopicPartition("t", 0, 0)], asynchronous=False)
        except KafkaException:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        else:
            break
    consumer.close()


def test_the_topic_is_absent_until_the_first_commit(make_broker: MakeBroker) -> None:
    """Lookups do not create the topic; the first commit creates it, and its description does not change."""
    broker = make_broker(offsets_partitions=3, properties={"auto.create.topics.enable": "true"})
    with Cluster([broker.bootstrap]) as cluster:
        assert [offsets_topic.describe(cluster) for _ in range(3)] == [None] * 3
        create_topics(broker.bootstrap, {"t": 1})
        commit(broker.bootstrap)
        topic = offsets_topic.describe(cluster)
        assert topic is not None
        assert topic.cluster_id == cluster.cluster_id
        assert topic.topic_id is not None
        assert (topic.partitions, topic.leaders) == ((0, 1, 2), (1, 1, 1))
        assert offsets_topic.describe(cluster) == topic
