"""Tests of the description of `__consumer_offsets` on a real broker: absent, existing, and not created by a lookup."""

import pytest
from confluent_kafka import Consumer, TopicPartition

from sandbox.kafka.broker import create_topics
from sandbox.waiting import eventually
from stream.cluster import offsets_topic
from stream.cluster.transport.client import Cluster
from tests.conftest import MakeBroker

pytestmark = pytest.mark.kafka


def test_the_topic_is_absent_until_the_first_commit(make_broker: MakeBroker) -> None:
    """Lookups do not create the topic; the first commit creates it, and its description does not change."""
    broker = make_broker(offsets_partitions=3, properties={"auto.create.topics.enable": "true"})
    with Cluster([broker.bootstrap]) as cluster:
        assert [offsets_topic.describe(cluster) for _ in range(3)] == [None] * 3
        create_topics(broker.bootstrap, {"t": 1})
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", "enable.auto.commit": False})
        eventually(lambda: consumer.commit(offsets=[TopicPartition("t", 0, 0)], asynchronous=False))
        consumer.close()
        topic = offsets_topic.describe(cluster)
        assert topic is not None
        assert topic.cluster_id == cluster.cluster_id
        assert topic.topic_id is not None
        assert topic.partitions == (0, 1, 2)
        assert offsets_topic.describe(cluster) == topic
