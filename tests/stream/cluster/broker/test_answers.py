"""All requests to the cluster on one real broker; each answer is compared with another client or Kafka's own tool.

The module has one broker and one connection; every test uses topics and groups of its own.
"""

import base64
import socket
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, IsolationLevel, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from sandbox.kafka.broker import Broker, create_topics
from sandbox.waiting import LIMIT, eventually, wait_until
from stream.cluster.offsets_for_times import WANTED, read_offsets_for_times
from stream.cluster.topic_ids import TopicIds
from stream.cluster.topology import read_topology
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import Unreachable
from stream.cluster.transport.requests import EARLIEST, LATEST, list_partition_reassignments

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def cluster(broker: Broker) -> Iterator[Cluster]:
    """Return the client that all tests here share, after a first commit has created the offsets topic."""
    create_topics(broker.bootstrap, {"on-first": 1})
    commit(broker.bootstrap, "on-first", {("on-first", 0): 1})
    with Cluster([broker.bootstrap]) as connected:
        connected.connect(LIMIT)
        yield connected


@pytest.fixture(scope="module")
def admin(broker: Broker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap})


def commit(bootstrap: str, group: str, offsets: dict[tuple[str, int], int]) -> None:
    """Commit as a group without members."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})
    positions = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
    eventually(lambda: consumer.commit(offsets=positions, asynchronous=False))
    consumer.close()


def test_any_available_broker_answers(broker: Broker) -> None:
    """A request that any broker can answer skips silent and unreachable brokers; without any, it raises Unreachable."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        servers = [f"127.0.0.1:{silent.getsockname()[1]}", "127.0.0.1:1", broker.bootstrap]
        with Cluster(servers, request_timeout=6) as fresh:
            assert fresh.call_any(list_partition_reassignments()).error_code == 0
    with Cluster(["127.0.0.1:1"], request_timeout=2) as unreachable, pytest.raises(Unreachable):
        unreachable.call_any(list_partition_reassignments())


def test_a_recreated_topic_has_a_new_id(cluster: Cluster, admin: AdminClient, broker: Broker) -> None:
    """A topic that is deleted and created between two polls has the same name and a new id."""
    ids = TopicIds()
    name = "on-recreated"
    create_topics(broker.bootstrap, {name: 1})
    first = read_topology(cluster, [name])
    assert ids.observe(first.ids(), 1, absent=first.absent()) == []
    admin.delete_topics([name])[name].result(LIMIT)
    wait_until(lambda: read_topology(cluster, [name]).absent() == [name], "the topic to be gone")
    create_topics(broker.bootstrap, {name: 2})
    second = read_topology(cluster, [name])
    (created,) = ids.observe(second.ids(), 2, absent=second.absent())
    assert (created.name, created.replaces, created.first_seen) == (name, first.ids()[name], 2)
    expected = admin.describe_topics(TopicCollection([name]))[name].result(LIMIT).topic_id
    assert base64.b64decode(f"{expected}==") == created.topic_id
    deleted = ids.known(first.ids()[name])
    assert deleted is not None
    assert deleted.name == name


def test_offsets_at_times(cluster: Cluster, admin: AdminClient, broker: Broker) -> None:
    """First offsets at a time are those of the other client; log ends and log starts are returned."""
    topic = "on-times"
    create_topics(broker.bootstrap, {topic: 2})
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    now = int(time.time() * 1000) - 100_000
    for n in range(20):
        producer.produce(topic, b"x", partition=0, timestamp=now + n * 1_000)
        producer.flush(LIMIT)  # each record has its own batch, so that the time index can distinguish them
    asked = [LATEST, EARLIEST, now - 1, now, now + 4_001, now + 19_000, now + 19_001]
    rows = [{"topic": topic, "partition": p, "time": at} for at in asked for p in (0, 1)]
    rows.append({"topic": topic, "partition": 2, "time": now})
    columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in WANTED.names}
    wanted = pa.table([pa.array(columns[field.name], field.type) for field in WANTED], WANTED)
    found = [tuple(row.values())[1:] for row in read_offsets_for_times(cluster, wanted).to_pylist()]
    assert found == [
        (0, LATEST, 20, None, None), (1, LATEST, 0, None, None),
        (0, EARLIEST, 0, None, None), (1, EARLIEST, 0, None, None),
        (0, now - 1, 0, now, None), (1, now - 1, None, None, None),
        (0, now, 0, now, None), (1, now, None, None, None),
        (0, now + 4_001, 5, now + 5_000, None), (1, now + 4_001, None, None, None),
        (0, now + 19_000, 19, now + 19_000, None), (1, now + 19_000, None, None, None),
        (0, now + 19_001, None, None, None), (1, now + 19_001, None, None, None),
        (2, now, None, None, "not_found"),
    ]  # fmt: skip
    for at in asked[2:]:
        key = TopicPartition(topic, 0)
        spec = OffsetSpec.for_timestamp(at)
        expected = admin.list_offsets({key: spec}, isolation_level=IsolationLevel.READ_UNCOMMITTED)[key].result(LIMIT)
        ours = next(row[2] for row in found if row[:2] == (0, at))
        assert expected.offset == (-1 if ours is None else ours)
