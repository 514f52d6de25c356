"""Topics that are deleted while a broker with a replica of them is away, on three real brokers."""

import json
import time
from collections.abc import Iterator
from typing import Any, Final

import pytest
from confluent_kafka.admin import AdminClient, ClusterMetadata, NewTopic  # type: ignore[attr-defined] # its stubs do not re-export it

from exporters.cluster.model import ClusterFacts
from sandbox.kafka.broker import Broker
from sandbox.kafka.tools import run_tool
from stream.cluster.transport.client import Cluster
from stream.cluster_facts.poll import ClusterPoll, PollOptions
from tests.support.processes import LIMIT, eventually, patience, wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.long]

AT_ONCE: Final = {"log.segment.delete.delay.ms": "200", "log.initial.task.delay.ms": "100"}
"""By default, a broker deletes the files of a deleted topic after a minute."""


@pytest.fixture
def brokers() -> Iterator[tuple[Broker, Broker, Broker]]:
    """Return three brokers; the first is also the controller."""
    with (
        Broker(properties=AT_ONCE) as one,
        Broker(joins=one, properties=AT_ONCE) as two,
        Broker(joins=one, node=3, properties=AT_ONCE) as three,
    ):
        yield one, two, three


def test_replicas_left_on_an_absent_broker_are_counted(brokers: tuple[Broker, Broker, Broker]) -> None:
    """The replicas are counted at the deletion. The returned broker keeps their files and reports none."""
    one, two, three = brokers
    admin = AdminClient({"bootstrap.servers": one.bootstrap, "log_level": 0})
    wait_until(lambda: _nodes(admin) == [1, 2, 3], "three brokers")
    _create(admin, "gone", [2, 3])
    _create(admin, "again", [3, 2])
    with Cluster([one.bootstrap]) as cluster:
        poll = ClusterPoll(cluster, PollOptions(100))
        wait_until(lambda: _folders(three) == ["again-0", "gone-0"], "the replicas")
        three.kill()
        wait_until(lambda: _nodes(admin) == [1, 2], "the broker to be missed")
        assert _left(poll.poll(None, time.time())) == {2: 0}
        for done in admin.delete_topics(["gone", "again"]).values():
            done.result(LIMIT)
        wait_until(lambda: not _topics(admin), "the metadata without the topics")
        wait_until(lambda: not _folders(two), "the files of the broker that was there to be deleted")
        poll.poll(None, time.time())
        _create(admin, "again", [1])
        three.start()
        wait_until(lambda: _nodes(admin) == [1, 2, 3], "the broker to be back")
        wait_until(
            lambda: [name.rpartition("-")[2] for name in _folders(three)] == ["stray"] * 2, "the folders renamed"
        )
        _create(admin, "other", [3])
        wait_until(lambda: 3 in _left(poll.poll(None, time.time())), "the sizes of the broker")
        assert _left(poll.poll(None, time.time())) == {1: 0, 3: 2}
    assert _reported(one) == {1: ["again-0"], 3: ["other-0"]}, "kafka-log-dirs lists no stray folder"
    assert len(_folders(three)) == 3, "they are still there"


def _create(admin: AdminClient, topic: str, replicas: list[int]) -> None:
    admin.create_topics([NewTopic(topic, 1, replica_assignment=[replicas])])[topic].result(LIMIT)


def _topics(admin: AdminClient) -> set[str]:
    return set(_metadata(admin).topics)


def _nodes(admin: AdminClient) -> list[int]:
    return sorted(_metadata(admin).brokers)


def _metadata(admin: AdminClient) -> ClusterMetadata:
    """Return the metadata; librdkafka repeats a request only on its first broker, here also if that one was killed."""
    return eventually(lambda: admin.list_topics(timeout=patience(5)))


def _folders(broker: Broker) -> list[str]:
    """Return the folders of partitions on the disk of a broker."""
    return sorted(each.name for each in broker.data.iterdir() if each.is_dir() and not each.name.startswith("__"))


def _left(facts: ClusterFacts) -> dict[int, int]:
    """Return the number of replicas that were left on each broker."""
    return {row["broker"]: row["left_replicas"] for row in facts.broker_disks.to_pylist()}


def _reported(broker: Broker) -> dict[int, list[str]]:
    """Return what `kafka-log-dirs` prints: the partitions of each broker that has any."""
    output = run_tool("org.apache.kafka.tools.LogDirsCommand", "--bootstrap-server", broker.bootstrap, "--describe")
    answer: dict[str, Any] = json.loads(next(line for line in output.splitlines() if line.startswith("{")))
    found = {
        each["broker"]: sorted(p["partition"] for disk in each["logDirs"] for p in disk["partitions"])
        for each in answer["brokers"]
    }
    return {node: partitions for node, partitions in found.items() if partitions}
