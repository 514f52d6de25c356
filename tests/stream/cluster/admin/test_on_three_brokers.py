"""Quorum, reassignments and features of three real brokers, each compared with Kafka's own tool."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined] # its stubs do not re-export it
from kafka.protocol.admin.client_quotas import AlterClientQuotasRequest

from sandbox.kafka.broker import Broker
from sandbox.kafka.tools import run_tool
from sandbox.waiting import LIMIT, wait_until
from stream.cluster.admin.features import (
    BrokerVersions,
    Quota,
    finalized_features,
    mixed_versions,
    read_quotas,
    read_versions,
    version_sets,
)
from stream.cluster.admin.followers import (
    Follower,
    Reassignment,
    followers_out_of_sync,
    read_follower_lags,
    read_reassignments,
)
from stream.cluster.topology import read_topology
from stream.cluster.transport.client import Cluster

pytestmark = [pytest.mark.kafka, pytest.mark.long]

REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
RECORDS = 80
CONFIGS = "kafka.admin.ConfigCommand"
MOVING = re.compile(
    r"^(\S+)-(\d+): replicas: ([\d,]+)\.(?: adding: ([\d,]+)\.)?(?: removing: ([\d,]+)\.)?$", re.MULTILINE
)
FEATURE = re.compile(
    r"^Feature: (\S+)\s+SupportedMinVersion: \S+\s+SupportedMaxVersion: \S+\s+FinalizedVersionLevel: (\S+)\s+Epoch",
    re.MULTILINE,
)
QUOTAS: list[tuple[dict[str, str | None], dict[str, float]]] = [
    ({"client-id": "c-1"}, {"consumer_byte_rate": 1_048_576.0}),
    ({"user": "u", "client-id": "c-1"}, {"consumer_byte_rate": 2_048.0, "producer_byte_rate": 4_096.0}),
    ({"client-id": None}, {"request_percentage": 150.0}),
]
QUOTA = re.compile(
    r"^(?:Default q|Q)uota configs for (?:user-principal '([^']*)', )?(?:client-id '([^']*)'|(the default client-id))"
    r" are (.+)$",
    re.MULTILINE,
)
# The third broker supports unreleased requests and features, so that its version differs from the others.
UNRELEASED = {"unstable.api.versions.enable": "true", "unstable.feature.versions.enable": "true"}


@pytest.fixture(scope="module")
def brokers(broker: Broker) -> Iterator[list[Broker]]:
    """Return three brokers of one cluster; the first is also the only controller, the third is of another version.

    The fixture `broker` is requested only so that a machine without Java skips the tests.
    """
    assert broker.running
    with Broker() as one, Broker(joins=one) as two, Broker(properties=UNRELEASED, joins=one, node=3) as three:
        admin = AdminClient({"bootstrap.servers": one.bootstrap})
        wait_until(lambda: len(admin.list_topics(timeout=LIMIT).brokers) == 3, "all brokers")
        yield [one, two, three]


@pytest.fixture
def cluster(brokers: list[Broker]) -> Iterator[Cluster]:
    """Return a connection to the first two brokers."""
    with Cluster([each.bootstrap for each in brokers[:2]]) as cluster:
        cluster.connect(LIMIT)
        yield cluster


def tool(name: str, brokers: list[Broker], *arguments: str) -> str:
    """Run one of Kafka's tools against the first broker."""
    return run_tool(name, "--bootstrap-server", brokers[0].bootstrap, *arguments)


def test_reassignments_are_those_that_the_tool_lists(cluster: Cluster, brokers: list[Broker], tmp_path: Path) -> None:
    """Two slow reassignments that add and remove replicas are those of the tool; after the cancellation there are none.

    A replica that is being added is out of sync, and its lag is the distance from its log end to that of the leader.
    """
    admin = AdminClient({"bootstrap.servers": brokers[0].bootstrap})
    for done in admin.create_topics([NewTopic("to-move", 2, replica_assignment=[[1, 2], [2, 1]])]).values():
        done.result(LIMIT)
    _fill(brokers[0], "to-move", 2)
    assert read_reassignments(cluster, 1) == []
    plan = tmp_path / "plan.json"
    moves = [
        {"topic": "to-move", "partition": 0, "replicas": [1, 3]},
        {"topic": "to-move", "partition": 1, "replicas": [2, 1, 3]},
    ]
    plan.write_text(json.dumps({"version": 1, "partitions": moves}))
    tool(REASSIGN, brokers, "--reassignment-json-file", str(plan), "--execute", "--throttle", "1")
    found = read_reassignments(cluster, 1)
    theirs = MOVING.findall(tool(REASSIGN, brokers, "--list"))
    assert found == [Reassignment(topic, int(p), *map(_nodes, lists)) for topic, p, *lists in sorted(theirs)]
    assert [(each.partition, each.adding, each.removing) for each in found] == [(0, (3,), (2,)), (1, (3,), ())]  # type: ignore[union-attr]
    follower = Follower("to-move", 1, broker=3, leader=2)
    assert follower in followers_out_of_sync(read_topology(cluster, ["to-move"]))
    (before,), end, (after,) = (
        read_follower_lags(cluster, [follower]),
        _log_end(brokers[2], "to-move-1"),
        read_follower_lags(cluster, [follower]),
    )
    assert 0 < (after.lag or 0) <= RECORDS - end <= (before.lag or 0)
    tool(REASSIGN, brokers, "--reassignment-json-file", str(plan), "--cancel")
    wait_until(lambda: read_reassignments(cluster, 1) == [], "the end of the reassignments")


def _nodes(text: str) -> tuple[int, ...]:
    return tuple(int(node) for node in text.split(",") if node)


def _log_end(broker: Broker, partition: str) -> int:
    """Return the offset after the last record in a replica's segments, as `kafka-dump-log` prints them."""
    segments = ",".join(map(str, sorted((broker.data / partition).glob("*.log"))))
    last = re.findall(r"lastOffset: (\d+)", run_tool("org.apache.kafka.tools.DumpLogSegments", "--files", segments))
    return max((int(offset) + 1 for offset in last), default=0)


def _fill(broker: Broker, topic: str, partitions: int) -> None:
    """Write more than a follower fetches at once, so that a throttled copy takes a minute or more."""
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for partition in range(partitions):
        for _ in range(RECORDS):
            producer.produce(topic, bytes(100_000), partition=partition)
    assert producer.flush(LIMIT) == 0


def test_quotas_are_those_that_the_tool_describes(cluster: Cluster, brokers: list[Broker]) -> None:
    """The quotas of a client, of a user and client, and of the default client are those of the tool."""
    assert read_quotas(cluster) == []
    altered = cluster.call_any(_alter_quotas(QUOTAS))
    assert [entry.error_code for entry in altered.entries] == [0] * len(QUOTAS)
    wait_until(lambda: len(_known_quotas(cluster)) == 4, "all quotas")
    by_tool = tool(CONFIGS, brokers, "--describe", "--entity-type", "clients")
    by_tool += tool(CONFIGS, brokers, "--describe", "--entity-type", "users", "--entity-type", "clients")
    theirs = {
        Quota(user, "<default>" if default else client, "", *_pair(value))
        for user, client, default, values in QUOTA.findall(by_tool)
        for value in values.split(", ")
    }
    assert set(_known_quotas(cluster)) == theirs


def _alter_quotas(quotas: list[tuple[dict[str, str | None], dict[str, float]]]) -> Any:
    """Build the request that sets the quotas of these entities; the name None is the default."""
    entry = AlterClientQuotasRequest.EntryData
    return AlterClientQuotasRequest(
        entries=[
            entry(
                entity=[entry.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
                ops=[entry.OpData(key=key, value=value, remove=False) for key, value in values.items()],
            )
            for entity, values in quotas
        ],
        validate_only=False,
    )


def _known_quotas(cluster: Cluster) -> list[Quota]:
    found = read_quotas(cluster)
    assert isinstance(found, list), found
    return found


def _pair(text: str) -> tuple[str, float]:
    key, _, value = text.partition("=")
    return key, float(value)


def test_features_are_those_that_the_tool_describes(cluster: Cluster, brokers: list[Broker]) -> None:
    """The finalized levels are those of the tool, which has names for the levels of `metadata.version`.

    The third broker supports unreleased requests and features, and is named; the other brokers are equal.
    """
    versions = read_versions(cluster, [1, 2, 3])
    known = {node: each for node, each in versions.items() if isinstance(each, BrokerVersions)}
    assert sorted(known) == [1, 2, 3]
    ours = finalized_features(known)
    theirs = dict(FEATURE.findall(tool(FEATURES, brokers, "describe")))
    name = theirs.pop("metadata.version")
    mapping = tool(FEATURES, brokers, "version-mapping", "--release-version", name)
    level = re.search(rf"^metadata.version=(\d+) \({re.escape(name)}\)$", mapping, re.MULTILINE)
    assert level is not None
    assert level.group(1) == str(ours.pop("metadata.version"))
    assert ours == {feature: int(level) for feature, level in theirs.items() if int(level)} != {}
    assert version_sets(known) == [[1, 2], [3]]
    (sentence,) = mixed_versions(known)
    assert sentence.startswith("broker 3 differs from brokers 1, 2: ")
