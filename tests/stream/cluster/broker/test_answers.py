"""All requests to the cluster on one real broker; each answer is compared with another client or Kafka's own tool.

The module has one broker and one connection; every test uses topics and groups of its own.
"""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import socket
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    IsolationLevel,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, OffsetSpec, ResourceType

from sandbox.kafka.tools import run_tool
from sandbox.kafka.topics import create_topics
from sandbox.waiting import LIMIT, eventually, wait_until
from stream.cluster.configs import OFFSETS_TOPIC_SETTINGS, read_broker_configs, read_topic_config
from stream.cluster.coordinators import Coordinators
from stream.cluster.describe_groups import DescribedGroup, describe_groups
from stream.cluster.log_dirs import read_replica_sizes, size_per_broker
from stream.cluster.offsets_for_times import WANTED, read_offsets_for_times
from stream.cluster.offsets_topic import NAME as OFFSETS_TOPIC
from stream.cluster.open_transactions import read_open_transactions
from stream.cluster.topic_health import topic_facts
from stream.cluster.topic_ids import TopicIds
from stream.cluster.topology import read_topology
from stream.cluster.transport import admin_requests
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.error_codes import ErrorReason
from stream.cluster.transport.errors import Unreachable
from stream.cluster.transport.requests import EARLIEST, LATEST, NEWEST
from stream.groups.placement import partition_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sandbox.kafka.broker import Broker

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
    """Return the other client, librdkafka's, whose answers are compared."""
    return AdminClient({"bootstrap.servers": broker.bootstrap})


def commit(bootstrap: str, group: str, offsets: dict[tuple[str, int], int]) -> None:
    """Commit as a group without members."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})
    positions = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
    eventually(lambda: consumer.commit(offsets=positions, asynchronous=False))
    consumer.close()


@contextlib.contextmanager
def member(bootstrap: str, group: str, topic: str) -> Iterator[Consumer]:
    """Run a consumer whose partitions are revoked only while it polls."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})
    consumer.subscribe([topic], on_revoke=lambda *_: None)
    yield consumer
    consumer.close()


def test_any_available_broker_answers(broker: Broker) -> None:
    """A request that any broker can answer skips silent and unreachable brokers; without any, it raises Unreachable."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        servers = [f"127.0.0.1:{silent.getsockname()[1]}", "127.0.0.1:1", broker.bootstrap]
        with Cluster(servers, request_timeout=6) as fresh:
            quorum = fresh.call_any(admin_requests.describe_quorum())
            assert quorum.topics[0].partitions[0].leader_id == 1
    with Cluster(["127.0.0.1:1"], request_timeout=2) as unreachable, pytest.raises(Unreachable):
        unreachable.call_any(admin_requests.describe_quorum())


def test_layout(cluster: Cluster, admin: AdminClient, broker: Broker) -> None:
    """Topics, partitions and brokers are those of the other client; a request for some topics returns only those."""
    create_topics(broker.bootstrap, {"on-layout": 3})
    found = read_topology(cluster, ["on-layout", "on-layout-none", "bad name!"])
    assert [tuple(row.values())[0:1] + tuple(row.values())[2:] for row in found.topics.to_pylist()] == [
        ("bad name!", False, None, "invalid"),
        ("on-layout", False, 3, None),
        ("on-layout-none", False, None, "not_found"),
    ]
    described = admin.describe_cluster().result(LIMIT)
    assert (found.cluster_id, [each.node for each in found.brokers]) == (described.cluster_id, [1])
    assert (found.controller, found.controller_error) == (1, None)
    assert [tuple(row.values()) for row in found.partitions.to_pylist()] == [
        ("on-layout", p, 1, 0, [1], [1], []) for p in range(3)
    ]
    every = read_topology(cluster)
    listed = admin.list_topics(timeout=LIMIT).topics
    assert {row["topic"]: row["partitions"] for row in every.topics.to_pylist()} == {
        name: len(topic.partitions) for name, topic in listed.items()
    }
    # Another test may create the topic of transactions.
    internal = {row["topic"] for row in every.topics.to_pylist() if row["internal"]}
    assert {OFFSETS_TOPIC} <= internal <= {OFFSETS_TOPIC, "__transaction_state"}
    facts = {row["topic"]: row for row in topic_facts(every).to_pylist()}
    assert facts["on-layout"]["preferred_replicas_percent"] == facts["on-layout"]["brokers_spread_percent"] == 100


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


def test_settings_of_topics_and_brokers(cluster: Cluster, admin: AdminClient, broker: Broker) -> None:
    """Values are those of the other client; each setting has a source or a reason; a changed value is read."""
    resource = ConfigResource(ResourceType.TOPIC, OFFSETS_TOPIC)
    expected = admin.describe_configs([resource])[resource].result(LIMIT)
    ours = read_topic_config(cluster, OFFSETS_TOPIC)
    for name in OFFSETS_TOPIC_SETTINGS:
        if name in expected:
            assert (ours[name].value, ours[name].reason) == (expected[name].value, None)
        else:
            assert (ours[name].value, ours[name].reason) == (None, ErrorReason.NOT_FOUND)
    assert (ours["cleanup.policy"].value, ours["cleanup.policy"].source) == ("compact", "dynamic_topic_config")
    assert ours["delete.retention.ms"].source == "default_config"
    assert ours["message.format.version"].reason == ErrorReason.NOT_FOUND
    create_topics(broker.bootstrap, {"on-settings": 1})
    changed = ConfigResource(ResourceType.TOPIC, "on-settings")
    changed.add_incremental_config(
        ConfigEntry("delete.retention.ms", "4242", incremental_operation=AlterConfigOpType.SET)
    )
    admin.incremental_alter_configs([changed])[changed].result(LIMIT)
    wait_until(
        lambda: read_topic_config(cluster, "on-settings")["delete.retention.ms"].number() == 4242, "the changed setting"
    )
    assert read_topic_config(cluster, "on-no-such")["retention.ms"].reason == ErrorReason.NOT_FOUND
    settings = read_broker_configs(cluster, [1, 77], ["offsets.retention.minutes", "offsets.topic.num.partitions"])
    assert (settings[1]["offsets.retention.minutes"].value, settings[1]["offsets.retention.minutes"].source) == (
        "10080",
        "default_config",
    )
    assert settings[1]["offsets.topic.num.partitions"].source == "static_broker_config"
    assert settings[77]["offsets.retention.minutes"].reason == ErrorReason.UNREACHABLE


def test_states_of_groups(cluster: Cluster, admin: AdminClient, broker: Broker) -> None:
    """A simple, a stable and a rebalancing group have the states that the other client reports."""
    create_topics(broker.bootstrap, {"on-states": 2})
    commit(broker.bootstrap, "on-simple", {("on-states", 0): 3})
    coordinators = Coordinators(cluster)
    with member(broker.bootstrap, "on-busy", "on-states") as first:
        wait_until(lambda: first.poll(0.2) is None and len(first.assignment()) == 2, "the first member's assignment")
        found_groups = describe_groups(cluster, coordinators, ["on-busy", "on-simple", "on-gone"])
        assert found_groups == {
            "on-busy": DescribedGroup("on-busy", "Stable", 1, "consumer", "range"),
            "on-simple": DescribedGroup("on-simple", "Empty", 0),
            "on-gone": DescribedGroup("on-gone", reason=ErrorReason.NOT_FOUND),
        }
        expected = admin.describe_consumer_groups(["on-busy", "on-simple"])
        assert expected["on-busy"].result(LIMIT).state == ConsumerGroupState.STABLE
        assert expected["on-simple"].result(LIMIT).state == ConsumerGroupState.EMPTY
        # The first member does not poll, so it does not join again: the group waits for it, and writes nothing.
        with member(broker.bootstrap, "on-busy", "on-states") as second:

            def rebalancing() -> bool:
                second.poll(0.1)
                return describe_groups(cluster, coordinators, ["on-busy"])["on-busy"].state == "PreparingRebalance"

            wait_until(rebalancing, "the group to rebalance")
            state = admin.describe_consumer_groups(["on-busy"])["on-busy"].result(LIMIT).state
            assert state == ConsumerGroupState.PREPARING_REBALANCING
    wait_until(
        lambda: describe_groups(cluster, coordinators, ["on-busy"])["on-busy"].state == "Empty", "the members to leave"
    )


def test_offsets_at_times(cluster: Cluster, admin: AdminClient, broker: Broker) -> None:
    """First offsets at a time are those of the other client; log ends, log starts and newest records are returned."""
    topic = "on-times"
    create_topics(broker.bootstrap, {topic: 2})
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    now = int(time.time() * 1000) - 100_000
    for n in range(20):
        producer.produce(topic, b"x", partition=0, timestamp=now + n * 1_000)
        producer.flush(LIMIT)  # each record has its own batch, so that the time index can distinguish them
    asked = [LATEST, EARLIEST, NEWEST, now - 1, now, now + 4_001, now + 19_000, now + 19_001]
    rows = [{"topic": topic, "partition": p, "time": at} for at in asked for p in (0, 1)]
    rows.append({"topic": topic, "partition": 2, "time": now})
    columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in WANTED.names}
    wanted = pa.table([pa.array(columns[field.name], field.type) for field in WANTED], WANTED)
    found = [tuple(row.values())[1:] for row in read_offsets_for_times(cluster, wanted).to_pylist()]
    assert found == [
        (0, LATEST, 20, None, 0, None), (1, LATEST, 0, None, 0, None),
        (0, EARLIEST, 0, None, 0, None), (1, EARLIEST, 0, None, 0, None),
        (0, NEWEST, 19, now + 19_000, 0, None), (1, NEWEST, None, None, None, None),
        (0, now - 1, 0, now, 0, None), (1, now - 1, None, None, None, None),
        (0, now, 0, now, 0, None), (1, now, None, None, None, None),
        (0, now + 4_001, 5, now + 5_000, 0, None), (1, now + 4_001, None, None, None, None),
        (0, now + 19_000, 19, now + 19_000, 0, None), (1, now + 19_000, None, None, None, None),
        (0, now + 19_001, None, None, None, None), (1, now + 19_001, None, None, None, None),
        (2, now, None, None, None, "not_found"),
    ]  # fmt: skip
    for at in asked[3:]:
        key = TopicPartition(topic, 0)
        spec = OffsetSpec.for_timestamp(at)
        expected = admin.list_offsets({key: spec}, isolation_level=IsolationLevel.READ_UNCOMMITTED)[key].result(LIMIT)
        ours = next(row[2] for row in found if row[:2] == (0, at))
        assert expected.offset == (-1 if ours is None else ours)


def test_open_transactions_of_the_offsets_topic(cluster: Cluster, broker: Broker) -> None:
    """An open transaction with a group's offset has producer, id and start; after its end it is not returned."""
    create_topics(broker.bootstrap, {"on-held": 1})
    group, transactional_id = "on-held", "on-holder"
    before = int(time.time() * 1000)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": transactional_id})
    eventually(lambda: producer.init_transactions(LIMIT))
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    producer.begin_transaction()
    position = [TopicPartition("on-held", 0, 9)]
    eventually(lambda: producer.send_offsets_to_transaction(position, consumer.consumer_group_metadata(), LIMIT))
    partition = partition_for(group, 4)
    (row,) = read_open_transactions(cluster, OFFSETS_TOPIC, [partition]).to_pylist()
    now = int(time.time() * 1000)
    assert before <= row["start_time"].replace(tzinfo=dt.UTC).timestamp() * 1000 <= now
    assert before <= row["last_write_time"].replace(tzinfo=dt.UTC).timestamp() * 1000 <= now
    assert (row["transactional_id"], row["state"], row["hanging"], row["error"]) == (
        transactional_id,
        "Ongoing",
        False,
        None,
    )
    tool = "org.apache.kafka.tools.TransactionsCommand"
    output = run_tool(tool, "--bootstrap-server", broker.bootstrap, "describe", "--transactional-id", transactional_id)
    values = dict(zip(*(line.split("\t") for line in output.splitlines()[-2:]), strict=True))
    assert (values["CoordinatorId"].strip(), values["ProducerId"].strip(), values["ProducerEpoch"].strip()) == (
        str(row["coordinator"]),
        str(row["producer_id"]),
        str(row["producer_epoch"]),
    )
    assert values["TransactionTimeoutMs"].strip() == str(row["timeout_ms"])
    producer.commit_transaction(LIMIT)
    wait_until(
        lambda: read_open_transactions(cluster, OFFSETS_TOPIC, [partition]).num_rows == 0, "the transaction's end"
    )
    consumer.close()
    (unknown,) = read_open_transactions(cluster, OFFSETS_TOPIC, [99]).to_pylist()
    assert (unknown["partition"], unknown["producer_id"], unknown["error"]) == (99, None, "not_found")


def test_sizes_on_disk(cluster: Cluster, broker: Broker) -> None:
    """Each replica of the offsets topic has the size of its log segments; an unreachable broker has an error."""

    def as_on_disk() -> bool:
        found = read_replica_sizes(cluster, {OFFSETS_TOPIC: range(4)})
        rows = [tuple(row[name] for name in ("broker", "partition", "size", "error")) for row in found.to_pylist()]
        sizes = [_bytes(broker.data, partition) for partition in range(4)]
        assert set(found["log_dir"].to_pylist()) == {str(broker.data)}
        assert (size_per_broker(found)[1] or 0) > 0
        return rows == [(1, partition, size, None) for partition, size in enumerate(sizes)]

    wait_until(as_on_disk, "sizes as the files have them, between two writes of the coordinator")
    away = read_replica_sizes(cluster, {OFFSETS_TOPIC: [0]}, brokers=[77])
    assert (away["error"].to_pylist(), size_per_broker(away)) == (["unreachable"], {77: None})


def _bytes(data: Path, partition: int) -> int:
    return sum(each.stat().st_size for each in (data / f"{OFFSETS_TOPIC}-{partition}").glob("*.log"))
