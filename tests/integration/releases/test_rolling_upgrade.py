"""A rolling upgrade from one release of Kafka to another, with live groups and one monitor that never stops."""

import contextlib
import re
import threading
from pathlib import Path
from typing import Any, Final, Self

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined] # its stubs do not re-export it

from sandbox.kafka.broker import Broker
from sandbox.kafka.jars import BROKER
from sandbox.kafka.quorum import running_quorum
from sandbox.kafka.tools import run_tool
from tests.integration.traffic import offsets_ends, tool_offsets_and_lags
from tests.support.monitor import Monitor
from tests.support.processes import LIMIT, wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long]

OLDER: Final = "4.2.1"
LEVELS: Final = {OLDER: 29, BROKER: 30}
"""The level of `metadata.version` that a release finalizes."""
REPLICATED: Final = {"offsets.topic.replication.factor": "3"}
PROTOCOLS: Final = ("classic", "consumer")
API_VERSIONS: Final = "org.apache.kafka.tools.BrokerApiVersionsCommand"
FEATURES: Final = "org.apache.kafka.tools.FeatureCommand"
BROKER_BLOCK: Final = re.compile(r"\(id: (\d+) [^)]*\) -> \((.*?)\n\)", re.DOTALL)
LEVEL: Final = re.compile(r"^Feature: metadata\.version\s.*FinalizedVersionLevel: (\S+)\s", re.MULTILINE)


class LiveGroups:
    """A thread with a producer, and a consumer of each protocol that commits twice per second.

    Usage: `with LiveGroups(bootstrap) as groups: ...; groups.catch_up()`.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._producing = True
        self._stopping = False
        self._thread = threading.Thread(target=self._run)
        self.failures: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping = True
        self._thread.join()

    def catch_up(self) -> None:
        """Stop the producer, and wait until the tool shows that both groups have read everything."""
        self._producing = False
        wait_until(
            lambda: {*tool_offsets_and_lags(self._bootstrap)[1].values()} == {0}, "the groups to read everything"
        )

    def _run(self) -> None:
        producer = Producer({"bootstrap.servers": self._bootstrap, "log_level": 0})
        consumers = [self._consumer(protocol) for protocol in PROTOCOLS]
        while not self._stopping:
            if self._producing:
                for partition in range(3):
                    producer.produce("t", b"x", partition=partition)
            producer.poll(0)
            for client in consumers:
                for message in client.consume(20, 0.05):
                    if message.error() is not None and message.error().fatal():
                        self.failures.append(str(message.error()))
        producer.flush(LIMIT)
        for client in consumers:
            client.close()

    def _consumer(self, protocol: str) -> Consumer:
        options = {"group.id": f"live-{protocol}", "group.protocol": protocol, "auto.offset.reset": "earliest"}
        client = Consumer(
            {"bootstrap.servers": self._bootstrap, "auto.commit.interval.ms": 500, "log_level": 0, **options}
        )
        client.subscribe(["t"])
        return client


def test_a_rolling_upgrade_is_shown_and_causes_no_verdict(tmp_path: Path) -> None:
    """Each mix of releases and the new level are shown. No verdict changes, and offsets and lags equal the tool's."""
    with contextlib.ExitStack() as running:
        brokers = running.enter_context(running_quorum(properties=REPLICATED, version=OLDER))
        bootstrap = ",".join(broker.bootstrap for broker in brokers.values())
        _create_topic(bootstrap)
        groups = running.enter_context(LiveGroups(bootstrap))
        monitor = running.enter_context(Monitor(bootstrap, tmp_path, {"cluster.interval": "1s", "health.pause": "20s"}))
        monitor.wait_ready()
        process = monitor.pid
        _assert_versions(monitor, brokers, [[1, 2, 3]])
        assert _levels(monitor, bootstrap) == LEVELS[OLDER]
        for node, sets in ((1, [[2, 3], [1]]), (2, [[1, 2], [3]]), (3, [[1, 2, 3]])):
            brokers[node].restart_as(BROKER)
            _wait_in_sync(bootstrap)
            _assert_versions(monitor, brokers, sets)
            assert _levels(monitor, bootstrap) == LEVELS[OLDER]
        tool(FEATURES, bootstrap, "upgrade", "--release-version", BROKER.rpartition(".")[0])
        monitor.wait_for(lambda: _shown_level(monitor) == LEVELS[BROKER], "the new level")
        assert _levels(monitor, bootstrap) == LEVELS[BROKER]
        groups.catch_up()
        shown = monitor.wait_read(offsets_ends(bootstrap))
        assert (shown.committed, shown.lags) == tool_offsets_and_lags(bootstrap)
        assert {group for group, _, _ in shown.lags} == {f"live-{protocol}" for protocol in PROTOCOLS}
        assert groups.failures == []
        assert (monitor.pid, monitor.running) == (process, True)
        assert monitor.events("verdict changed") == []
        assert monitor.events("query failed") == []
        assert len(monitor.events("http server started")) == 1
        assert shown.value("lagwarden_resyncs_total") == 0


def _create_topic(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    wait_until(lambda: len(admin.list_topics(timeout=LIMIT).brokers) == 3, "all brokers")
    replicas = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    admin.create_topics([NewTopic("t", 3, replica_assignment=replicas)])["t"].result(LIMIT)


def tool(name: str, bootstrap: str, *arguments: str) -> str:
    return run_tool(name, "--bootstrap-server", bootstrap, *arguments)


def _wait_in_sync(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def in_sync() -> bool:
        topics = admin.list_topics(timeout=LIMIT).topics.values()
        return all(len(each.isrs) == len(each.replicas) for topic in topics for each in topic.partitions.values())

    wait_until(in_sync, "all replicas to be in sync", limit=60)


def _assert_versions(monitor: Monitor, brokers: dict[int, Broker], sets: list[list[int]]) -> None:
    """Assert that metric, API and page name these sets of equal brokers, the largest first, as the tool has them."""
    monitor.wait_for(lambda: len(_api_versions(monitor)) == len(sets) - 1 and _known(monitor) == 3, f"versions {sets}")
    output = tool(API_VERSIONS, brokers[1].bootstrap)
    by_ranges: dict[str, list[int]] = {}
    for node, ranges in sorted(BROKER_BLOCK.findall(output)):
        by_ranges.setdefault(ranges, []).append(int(node))
    assert sorted(by_ranges.values(), key=lambda nodes: (-len(nodes), nodes)) == sets
    assert monitor.metrics().value("lagwarden_cluster_version_sets") == len(sets)
    mixed = _api_versions(monitor)
    if len(sets) == 1:
        assert mixed == []
    else:
        most, (fewest,) = sets
        assert [sentence.partition(": ")[0] for sentence in mixed] == [
            f"broker {fewest} differs from brokers {', '.join(map(str, most))}"
        ]
        assert f"Mixed versions: </b>{mixed[0]}" in monitor.get("/").text
    assert ("Mixed versions" in monitor.get("/").text) == (len(sets) > 1)


def _api_versions(monitor: Monitor) -> list[str]:
    return monitor.get("/api/v1/cluster").json["versions"]["mixed"]


def _known(monitor: Monitor) -> int:
    """Return the number of brokers whose versions are known."""
    rows: list[dict[str, Any]] = monitor.get("/api/v1/cluster").json["versions"]["by_broker"]
    return len({row["broker"] for row in rows})


def _shown_level(monitor: Monitor) -> float | None:
    return monitor.metrics().value("lagwarden_cluster_feature_level", feature="metadata.version")


def _levels(monitor: Monitor, bootstrap: str) -> float | None:
    (name,) = LEVEL.findall(tool(FEATURES, bootstrap, "describe"))
    mapping = tool(FEATURES, bootstrap, "version-mapping", "--release-version", name)
    level = _shown_level(monitor)
    assert f"metadata.version={level:.0f} ({name})" in mapping
    return level
