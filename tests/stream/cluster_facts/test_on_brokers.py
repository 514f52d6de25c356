"""The cluster's facts on two real brokers, compared with Kafka's tools, and a log cleaner that runs or not.

The tests share the two brokers: a test that stops one of them starts it again.
"""

import json
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined] # its stubs do not re-export it

from exporters.cluster.exposition import PublishedCluster
from exporters.cluster.model import ClusterFacts
from sandbox.kafka.broker import Broker, create_topics
from sandbox.kafka.broker_properties import formatted_folder, renumber
from sandbox.kafka.jars import BROKER
from sandbox.kafka.tools import run_tool
from sandbox.waiting import LIMIT, eventually, wait_until
from stream.cluster.partition_offsets import read_ends
from stream.cluster.transport.client import Cluster
from stream.cluster_facts.log_cleaner import PATIENCE_SECONDS
from stream.cluster_facts.poll import OFFSETS_SETTINGS, ClusterPoll, PollOptions
from stream.health.inputs import FailedReplica
from stream.tick.inputs.polled_cluster import Replicas
from tests.conftest import MakeBroker
from tests.exporters.snapshots import snapshot
from tests.stream.health.columns import ints

pytestmark = pytest.mark.kafka

OFFSETS = "__consumer_offsets"
TWO = {"offsets.topic.replication.factor": "2", "offsets.topic.num.partitions": "4"}
ASSIGNMENTS = {"cw-two": [[2, 1], [1, 2], [2, 1]], "cw-on-one": [[1], [1]], "cw-on-two": [[2]]}
LINE = re.compile(r"Topic: (\S+)\tPartition: (\d+)\tLeader: (\S+)\tReplicas: (\S*)\tIsr: (\S*)")


@pytest.fixture(scope="module")
def brokers(broker: Broker) -> Iterator[tuple[Broker, Broker]]:
    """Return two brokers of one cluster with the topics of ASSIGNMENTS and a first commit.

    The first broker is the controller. The shared broker is a parameter so that the tests are skipped without Java.
    """
    assert broker.running
    with Broker(properties=TWO) as one, Broker(joins=one, properties=TWO) as two:
        admin = AdminClient({"bootstrap.servers": one.bootstrap})
        wait_until(lambda: len(admin.list_topics(timeout=LIMIT).brokers) == 2, "both brokers")
        topics = [NewTopic(name, len(to), replica_assignment=to) for name, to in ASSIGNMENTS.items()]
        for done in admin.create_topics(topics).values():
            done.result(LIMIT)
        commit(one.bootstrap, "cw", {("cw-two", 0): 1})
        yield one, two


@pytest.fixture
def poll(brokers: tuple[Broker, Broker]) -> Iterator[ClusterPoll]:
    with Cluster([brokers[0].bootstrap]) as cluster:
        yield ClusterPoll(cluster, PollOptions(10_000))


def commit(bootstrap: str, group: str, offsets: dict[tuple[str, int], int], times: int = 1) -> None:
    """Commit as a group without members."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})
    positions = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
    for _ in range(times):
        eventually(lambda: consumer.commit(offsets=positions, asynchronous=False))
    consumer.close()


def tool(name: str, broker: Broker, *arguments: str) -> str:
    return run_tool(name, "--bootstrap-server", broker.bootstrap, *arguments)


def rows(output: str) -> list[tuple[str, int, int | None, list[int], set[int]]]:
    """Parse the output of `kafka-topics --describe`: topic, partition, leader, replicas, in-sync replicas."""
    return sorted(
        (topic, int(p), None if leader == "none" else int(leader), _nodes(replicas), {*_nodes(in_sync)})
        for topic, p, leader, replicas, in_sync in LINE.findall(output)
    )


def _nodes(text: str) -> list[int]:
    return [int(node) for node in text.split(",") if node]


def as_the_tool(facts: ClusterFacts) -> list[tuple[str, int, int | None, list[int], set[int]]]:
    """Return the polled partitions in the form of `rows`."""
    names = ("topic", "partition", "leader", "replica_brokers", "in_sync_brokers")
    listed = zip(*(facts.topic_partitions[name].to_pylist() for name in names), strict=True)
    return [(topic, p, leader, replicas, set(in_sync)) for topic, p, leader, replicas, in_sync in listed]


def described(broker: Broker, *arguments: str) -> list[tuple[str, int, int | None, list[int], set[int]]]:
    """Return the partitions that `kafka-topics --describe` prints."""
    return rows(tool("org.apache.kafka.tools.TopicCommand", broker, "--describe", *arguments))


def test_layout_controller_and_settings_are_those_of_the_tools(
    poll: ClusterPoll, brokers: tuple[Broker, Broker]
) -> None:
    """Leaders, replicas, in-sync replicas, controller and settings with their source are those of the tools."""
    one, two = brokers
    facts = poll.poll(snapshot([{"group": "cw", "topic": "cw-two", "partition": 0}]), time.time())
    assert as_the_tool(facts) == described(one)
    assert {row["broker"]: row["port"] for row in facts.brokers.to_pylist()} == {1: one.port, 2: two.port}
    quorum = tool("org.apache.kafka.tools.MetadataQuorumCommand", one, "describe", "--status")
    assert re.search(r"LeaderId:\s+(\d+)", quorum).group(1) == str(facts.controller)  # type: ignore[union-attr]
    ours = {
        (row["scope"], row["name"], row["key"]): (row["value"], row["source"].upper())
        for row in facts.configs.to_pylist()
    }
    for scope, name, wanted in (
        ("topic", OFFSETS, OFFSETS_SETTINGS),
        ("topic", "cw-two", ("segment.bytes", "retention.ms", "cleanup.policy", "message.timestamp.type")),
        ("broker", "1", ("offsets.retention.minutes", "offsets.topic.segment.bytes", "log.cleaner.enable")),
        ("broker", "2", ("offsets.retention.check.interval.ms",)),
    ):
        output = tool(
            "kafka.admin.ConfigCommand", one, "--describe", "--all", "--entity-type", f"{scope}s", "--entity-name", name
        )
        theirs = re.findall(r"^  ([\w.]+)=(.*?) sensitive=\w+ synonyms=\{(\w+)?", output, re.MULTILINE)
        # The first synonym is the effective one. A default without its own name in the broker has none.
        expected = {key: (value, source or "DEFAULT_CONFIG") for key, value, source in theirs}
        for key in wanted:
            assert ours.get((scope, name, key)) == expected.get(key), (scope, name, key)
    assert facts.unknown_facts.num_rows == 0


def test_sizes_on_every_broker(poll: ClusterPoll, brokers: tuple[Broker, Broker]) -> None:
    """The sizes of brokers, of topics and of the offsets topic are the sums of what `kafka-log-dirs` prints."""

    def as_the_tool_offsets_and_lags() -> bool:
        output = tool("org.apache.kafka.tools.LogDirsCommand", brokers[0], "--describe")
        answer = json.loads(next(line for line in output.splitlines() if line.startswith("{")))
        printed = [
            (each["broker"], p["partition"].rpartition("-")[0], p["size"])
            for each in answer["brokers"]
            for disk in each["logDirs"]
            for p in disk["partitions"]
        ]
        theirs = _sums((broker, size) for broker, topic, size in printed if topic == OFFSETS)
        facts = poll.poll(None, time.time())
        if _pairs(facts.broker_disks) != _sums((broker, size) for broker, _, size in printed):
            return False
        if _pairs(facts.topic_sizes) != _sums((topic, size) for _, topic, size in printed):
            return False
        rows = facts.offsets_replicas.to_pylist()
        assert {row["unknown_reason"] for row in rows} == {None}
        assert facts.cleaner_suspect is False
        return {row["broker"]: row["bytes"] for row in rows} == theirs and min(theirs.values()) > 0

    wait_until(as_the_tool_offsets_and_lags, "sizes as the tool has them, between two writes of the coordinator")


def _sums(sizes: Iterable[tuple[Any, int]]) -> dict[Any, int]:
    sums: dict[Any, int] = {}
    for key, size in sizes:
        sums[key] = sums.get(key, 0) + size
    return sums


def _pairs(sizes: pa.Table) -> dict[Any, int]:
    """Return the bytes by the first column."""
    return dict(zip(sizes.column(0).to_pylist(), sizes["bytes"].to_pylist(), strict=True))


def test_a_stopped_and_restarted_broker_changes_the_facts(poll: ClusterPoll, brokers: tuple[Broker, Broker]) -> None:
    """Partitions are under-replicated, leaderless or without their preferred leader until the broker is back."""
    one, two = brokers
    before = poll.poll(None, time.time())
    assert _trouble(before) == {}
    two.kill()
    try:
        wait_until(lambda: _trouble(poll.poll(None, time.time())).get(("cw-on-two", 0)) == "leaderless", "the loss")
        facts = poll.poll(None, time.time())
        assert as_the_tool(facts) == described(one)
        under = {(topic, p) for topic, p, *_ in described(one, "--under-replicated-partitions")}
        ours = facts.topic_partitions.to_pylist()
        assert {(row["topic"], row["partition"]) for row in ours if row["under_replicated"]} == under
        # The minimum of topics that a group reads is known: 1, which the last replica in sync meets.
        read = snapshot([{"group": "cw", "topic": name, "partition": 0} for name in ASSIGNMENTS])
        counted = {row["topic"]: row for row in poll.poll(read, time.time()).cluster_topics.to_pylist()}
        for column, option in (("under_min_isr", "under-min-isr"), ("at_min_isr", "at-min-isr")):
            named = [(topic, leader) for topic, _, leader, *_ in described(one, f"--{option}-partitions")]
            # The tool calls a partition without a leader both; the metric of the brokers counts leaders only.
            theirs = [topic for topic, leader in named if leader is not None or column == "under_min_isr"]
            assert {topic: row[column] for topic, row in counted.items()} == {
                name: theirs.count(name) for name in counted
            }
        # Broker 1 has the last in-sync replica of these partitions. Their preferred leader is away.
        assert _trouble(facts)["cw-two", 0] == _trouble(facts)["cw-two", 2] == "led by another"
        assert facts.brokers["broker"].to_pylist() == [1]
        sizes = {row["broker"]: row["bytes"] for row in facts.offsets_replicas.to_pylist()}
        assert [*sizes] == [1]
    finally:
        two.start()
    wait_until(lambda: not _values(poll, "under_replicated") and not _values(poll, "leaderless"), "all to be in sync")
    tool("org.apache.kafka.tools.LeaderElectionCommand", one, "--election-type", "preferred", "--all-topic-partitions")
    wait_until(lambda: _trouble(poll.poll(None, time.time())) == {}, "the preferred leaders")


def _trouble(facts: ClusterFacts) -> dict[tuple[str, int], str]:
    found = {}
    for row in facts.topic_partitions.to_pylist():
        place = row["topic"], row["partition"]
        if row["leader"] is None:
            found[place] = "leaderless"
        elif not row["preferred_leader"]:
            found[place] = "led by another"
        elif row["under_replicated"]:
            found[place] = "under-replicated"
    return found


def _values(poll: ClusterPoll, name: str) -> int:
    return sum(poll.poll(None, time.time()).cluster_topics[name].to_pylist())


SMALL_SEGMENTS = {"offsets.topic.segment.bytes": "1048576", "offsets.topic.num.partitions": "1"}


@pytest.mark.parametrize(
    ("backoff", "suspect"),
    [pytest.param("200", False, id="running"), pytest.param("2000000000", True, id="not running")],
)
def test_a_real_log_cleaner_is_suspect_only_if_it_does_not_run(
    make_broker: MakeBroker, backoff: str, *, suspect: bool
) -> None:
    """Commits of the same keys fill segments. Only a cleaner with a long back-off is suspect."""
    broker = make_broker(properties=SMALL_SEGMENTS | {"log.cleaner.backoff.ms": backoff})
    create_topics(broker.bootstrap, {"cw-much": 300})
    keys: dict[tuple[str, int], int] = {("cw-much", p): 7 for p in range(300)}
    commit(broker.bootstrap, "cw-much", keys)
    groups = snapshot(groups=[{"group": "cw-much", "partitions": 300, "members": 0}])
    with Cluster([broker.bootstrap]) as cluster:
        poll = ClusterPoll(cluster, PollOptions(100))
        assert poll.poll(groups, 0).cleaner_suspect is False
        commit(broker.bootstrap, "cw-much", keys, times=200)
        if not suspect:
            wait_until(lambda: _size(broker.data) < 2 * 1048576, "the cleaner to have done its work")
        assert poll.poll(groups, 60).cleaner_suspect is False, "no evidence at the first poll"
        facts = poll.poll(groups, 60 + PATIENCE_SECONDS)
    assert facts.cleaner_suspect is suspect
    signs: list[Any] = [re.search(r"without being compacted|live keys", each) for each in facts.cleaner_evidence]
    assert [sign.group() for sign in signs] == (["without being compacted", "live keys"] if suspect else [])
    assert b"cleaner_suspect " + (b"1" if suspect else b"0") in _text(facts)


def _size(data: Path) -> int:
    return sum(each.stat().st_size for each in (data / f"{OFFSETS}-0").glob("*.log"))


def _text(facts: ClusterFacts) -> bytes:
    families = PublishedCluster.build(facts).exposition.families
    return b"".join(family.samples.kept or b"" for family in families)


def test_the_failed_log_directory_of_a_partition_is_named(make_broker: MakeBroker, tmp_path: Path) -> None:
    """The broker is in the cluster, its other partitions have leaders, and the directory is the one that has failed."""
    second = tmp_path / "second"
    second.mkdir()
    shutil.copy(formatted_folder(BROKER) / "meta.properties", second)
    renumber(second, 1)
    broker = make_broker(folder=tmp_path, properties={"log.dirs": f"{tmp_path / 'data'},{second}"})
    create_topics(broker.bootstrap, {"orders": 4})
    wait_until(lambda: len([*tmp_path.glob("*/orders-*")]) == 4, "the logs of the partitions")
    lost = sorted(int(each.name.removeprefix("orders-")) for each in second.glob("orders-*"))
    assert 0 < len(lost) < 4
    second.rename(tmp_path / "moved")  # not deleted in place: the broker still writes there
    second.touch()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})  # new logs are what the broker cannot write
    admin.create_topics([NewTopic("more", 4)])["more"].result(LIMIT)
    expected = {part: (FailedReplica(1, (str(second),)),) for part in lost}
    with Cluster([broker.bootstrap]) as cluster:
        poll = ClusterPoll(cluster, PollOptions(10_000))

        def failed() -> dict[int, tuple[FailedReplica, ...]]:
            replicas = Replicas(poll.poll(None, time.time()))
            return replicas.failed(["orders"], ints(0, 0, 0, 0), ints(*range(4)))

        wait_until(lambda: failed() == expected, f"the failed replicas {expected}")
        errors = {row["partition"]: row["error"] for row in read_ends(cluster, ["orders"]).to_pylist()}
    assert errors == {part: "no_leader" if part in lost else None for part in range(4)}
