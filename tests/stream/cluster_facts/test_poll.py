"""Tests of one poll: requests, results, and errors that affect only their own fact."""

from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pytest

from stream.cluster.transport.errors import Unreachable
from stream.cluster_facts.log_cleaner import PATIENCE_SECONDS
from stream.cluster_facts.offsets_topic import estimate_live_keys
from stream.cluster_facts.poll import (
    BROKER_SETTINGS,
    OFFSETS_SETTINGS,
    TOPIC_SETTINGS,
    ClusterPoll,
    PollOptions,
)
from stream.groups.placement import InstancePart, partition_for
from tests.exporters.snapshots import snapshot
from tests.support.scripted_cluster import AWAY, TOO_OLD, Answers, ScriptedCluster, says

OFFSETS = "__consumer_offsets"
MB = 1_000_000
VALUES = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.5",
    "segment.bytes": "1000000",
    "min.compaction.lag.ms": "0",
    "log.cleaner.enable": "true",
    "offsets.retention.minutes": "10080",
}
"""The settings of the brokers."""


def topic(name: str, partitions: int = 1) -> Any:
    usual = {"leader_id": 1, "leader_epoch": 0, "replica_nodes": [1, 2], "isr_nodes": [1, 2], "offline_replicas": []}
    described = [says(partition_index=p, error_code=0, **usual) for p in range(partitions)]
    return says(name=name, partitions=described, error_code=0, topic_id=None, is_internal=name == OFFSETS)


def absent(name: str, error: int = 3) -> Any:
    """Describe a topic that does not exist, or that may not be described (29)."""
    return says(name=name, partitions=[], error_code=error, topic_id=None, is_internal=False)


def configs(values: dict[str, str], denied: Collection[str] = ()) -> Any:
    """Return the answer to a request for settings; the resources in `denied` have an error."""

    def described(each: Any) -> Any:
        known = [name for name in each.configuration_keys if name in values]
        settings = [says(name=name, value=values[name], config_source=5) for name in known]
        return says(
            resource_name=each.resource_name, error_code=29 if each.resource_name in denied else 0, configs=settings
        )

    return lambda _, request: says(results=[described(each) for each in request.resources])


def disks(sizes_by_topic: dict[str, list[int]]) -> Any:
    """Return the answer to a request for disks: partitions of these sizes by topic on each broker."""
    usual = {"offset_lag": 0, "is_future_key": False}
    topics = [
        says(
            name=name, partitions=[says(partition_index=p, partition_size=size, **usual) for p, size in enumerate(held)]
        )
        for name, held in sizes_by_topic.items()
    ]
    return lambda *_: says(error_code=0, results=[says(error_code=0, log_dir="/d", topics=topics)])


def sizes(*by_partition: int) -> Any:
    """Return the answer to a request for disks: partitions of the offsets topic of these sizes on each broker."""
    return disks({OFFSETS: list(by_partition)})


def quotas(*clients: str) -> Any:
    """Return the answer to a request for quotas: a quota of each of these clients."""
    values = [says(key="consumer_byte_rate", value=1024.0)]
    entries = [says(entity=[says(entity_type="client-id", entity_name=each)], values=values) for each in clients]
    return lambda *_: says(error_code=0, entries=entries)


def texts(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return the rows as tuples."""
    return [tuple(row.values()) for row in table.to_pylist()]


def answers(*topics: Any, **changes: Any) -> dict[str, Any]:
    """Return the answers of a healthy cluster with these topics; `changes` has other answers by the kind of request."""
    by_name = {each.name: each for each in topics}

    def metadata(_: int | None, asked: Collection[str] | None) -> Any:
        named = by_name if asked is None else asked
        return says(topics=[by_name.get(name) or absent(name) for name in named], controller_id=2)

    times = {"replica_directory_id": None, "last_fetch_timestamp": 5_000, "last_caught_up_timestamp": 4_000}
    voter, observer = (says(replica_id=node, log_end_offset=100 - node, **times) for node in (1, 2))
    leader = {"error_code": 0, "leader_id": 1, "leader_epoch": 3, "high_watermark": 98}
    quorum = says(
        error_code=0, topics=[says(partitions=[says(**leader, current_voters=[voter], observers=[observer])])]
    )
    changed = {"replicas": [1, 2], "adding_replicas": [2], "removing_replicas": []}
    moving = says(name="read", partitions=[says(partition_index=p, **changed) for p in (0, 2)])
    features = says(
        error_code=0,
        api_keys=[says(api_key=1, min_version=4, max_version=17)],
        supported_features=[says(name="metadata.version", min_version=7, max_version=27)],
        finalized_features=[says(name="metadata.version", max_version_level=20)],
        finalized_features_epoch=5,
    )
    return {
        "Metadata": metadata,
        "DescribeQuorumRequest": lambda *_: quorum,
        "ListPartitionReassignmentsRequest": lambda *_: says(error_code=0, topics=[moving]),
        "ApiVersionsRequest": lambda *_: features,
        "DescribeClientQuotasRequest": quotas("c"),
        "DescribeConfigsRequest": configs(VALUES),
        "DescribeLogDirsRequest": sizes(100, 200),
        "ListOffsetsRequest": lambda *_: AWAY,
        **changes,
    }


def poll_of(script: Answers, *, hide_clients: bool = False) -> tuple[ClusterPoll, ScriptedCluster]:
    cluster = ScriptedCluster(script)
    return ClusterPoll(cluster, PollOptions(100, hide_clients=hide_clients)), cluster  # type: ignore[arg-type]


def test_a_poll_of_a_healthy_cluster_has_all_facts() -> None:
    """The facts have brokers, controller, topics, settings and sizes, and no fact is unknown."""
    poll, cluster = poll_of(answers(topic(OFFSETS, 2), topic("read", 3), topic("not-read")))
    facts = poll.poll(snapshot([{"group": "g", "topic": "read", "partition": 0}]), 100.0)
    assert (facts.taken_at, facts.controller, facts.cleaner_suspect, facts.cleaner_evidence) == (100.0, 1, False, ())
    assert facts.brokers["broker"].to_pylist() == [1, 2]
    assert facts.cluster_topics["topic"].to_pylist() == [OFFSETS, "not-read", "read"]
    assert facts.topic_partitions.num_rows == facts.partitions_shown.num_rows == 6
    assert texts(facts.offsets_replicas) == [(1, 300, None, None), (2, 300, None, None)]
    assert {row["name"] for row in facts.configs.to_pylist()} == {"1", "2", OFFSETS, "read"}
    assert facts.unknown_facts.num_rows == 0
    asked = [request for _, request in cluster.asked if type(request).__name__ == "DescribeConfigsRequest"]
    wanted = [set(request.resources[0].configuration_keys) for request in asked]
    assert wanted == [set(BROKER_SETTINGS)] * 2 + [set(TOPIC_SETTINGS), set(OFFSETS_SETTINGS)]


def test_quorum_reassignments_and_features_are_read() -> None:
    """A poll has the quorum, reassignments and features of the cluster, and the feature ranges of each broker."""
    poll, _ = poll_of(answers(topic("read", 3)))
    facts = poll.poll(None, 0)
    quorum = {"leader_epoch": 3, "metadata_high_watermark": 98, "quorum_voters": 1, "quorum_voters_behind": 0}
    moves = {"reassigning_partitions": 2, "adding_replicas": 2, "removing_replicas": 0}
    others = {"version_sets": 1, "quotas": 1, "under_replicated_ratio": 0.0}
    assert facts.cluster_totals.to_pylist() == [quorum | moves | others]
    replicas = [(row["replica"], row["role"], row["lag"]) for row in facts.quorum_replicas.to_pylist()]
    assert replicas == [(1, "voter", 0), (2, "observer", 1)]
    assert facts.quorum_replicas["last_fetch_time"].cast("int64").to_pylist() == [5_000, 5_000]
    assert texts(facts.reassignments) == [("read", 0, [1, 2], [2], []), ("read", 2, [1, 2], [2], [])]
    assert texts(facts.reassigning_topics) == [("read", 2)]
    assert texts(facts.features) == [("metadata.version", 20)]
    assert texts(facts.broker_features) == [(1, "metadata.version", 27, 7), (2, "metadata.version", 27, 7)]
    assert facts.mixed_versions == ()


def test_no_quota_is_read_if_clients_are_hidden() -> None:
    """Quotas name users and clients. They are not asked for, and no fact is unknown."""
    poll, cluster = poll_of(answers(topic("read", 3)), hide_clients=True)
    facts = poll.poll(None, 0)
    assert "DescribeClientQuotasRequest" not in {type(request).__name__ for _, request in cluster.asked}
    assert (facts.quotas.num_rows, facts.unknown_facts.num_rows) == (0, 0)


def test_a_follower_that_is_not_in_sync_has_a_lag_or_a_reason() -> None:
    """A follower that answers has its lag. A follower with an error is counted with the reason."""
    behind = topic("t", 2)
    for partition in behind.partitions:
        partition.isr_nodes = [1]

    def ends(node: int | None, request: Any) -> Any:
        asked = [p.partition_index for p in request.topics[0].partitions]
        failed, offset = {p: 3 if node == 2 and p else 0 for p in asked}, 100 if node == 1 else 70
        found = [says(partition_index=p, error_code=failed[p], offset=offset) for p in asked]
        return says(topics=[says(name="t", partitions=found)])

    facts = poll_of(answers(behind, ListOffsetsRequest=ends))[0].poll(None, 0)
    assert texts(facts.followers) == [("t", 0, 2, 30)]
    assert ("follower", "not_found", 1) in texts(facts.unknown_facts)


def test_sizes_on_disk() -> None:
    """Every broker and topic has a size. Replicas of a topic that does not exist count for their broker only.

    The size of a topic needs every broker that has a replica of it.
    """
    script = answers(topic(OFFSETS, 2), topic("t", 2))
    script["DescribeLogDirsRequest"] = disks({OFFSETS: [100, 200], "t": [7, 0], "gone": [50, 60], "denied": [1]})
    facts = poll_of(script)[0].poll(None, 0)
    assert texts(facts.broker_disks) == [(1, 418, 0), (2, 418, 0)]
    assert texts(facts.topic_sizes) == [(OFFSETS, 600), ("t", 14)]
    assert facts.offsets_replicas["bytes"].to_pylist() == [300, 300]
    whole = disks({OFFSETS: [100, 200], "t": [7]})
    script = answers(topic(OFFSETS, 2), topic("t"), DescribeLogDirsRequest=lambda n, _: AWAY if n == 2 else whole())
    facts = poll_of(script)[0].poll(None, 0)
    assert texts(facts.broker_disks) == [(1, 307, 0)]
    assert facts.topic_sizes.num_rows == 0


def test_sizes_of_a_large_cluster_are_those_of_the_offsets_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the limit of replicas, only the sizes of the offsets topic are requested."""
    monkeypatch.setattr("stream.cluster_facts.poll.MOST_REPLICAS", 7)
    poll, cluster = poll_of(answers(topic(OFFSETS, 2), topic("t", 2)))
    facts = poll.poll(None, 0)
    asked = [request.topics for _, request in cluster.asked if type(request).__name__ == "DescribeLogDirsRequest"]
    assert [[each.topic for each in topics] for topics in asked] == [[OFFSETS], [OFFSETS]]
    assert (facts.broker_disks.num_rows, facts.topic_sizes.num_rows) == (0, 0)
    assert facts.offsets_replicas["bytes"].to_pylist() == [300, 300]
    assert texts(facts.unknown_facts) == [("size on disk", "not_asked", 2)]


def test_facts_that_old_brokers_do_not_report_are_null() -> None:
    """Unsupported requests are counted, except that for the quorum, which a cluster with ZooKeeper does not have."""
    kinds = ("DescribeQuorum", "ListPartitionReassignments", "ApiVersions", "DescribeClientQuotas")
    poll, _ = poll_of(answers(topic("read"), **{f"{kind}Request": lambda *_: TOO_OLD for kind in kinds}))
    facts = poll.poll(None, 0)
    (totals,) = facts.cluster_totals.to_pylist()
    assert {name for name, value in totals.items() if value is not None} == {"under_replicated_ratio"}
    assert facts.controller == 2
    for table in (facts.quorum_replicas, facts.reassignments, facts.reassigning_topics, facts.features):
        assert table.num_rows == 0
    assert texts(facts.unknown_facts) == [
        ("broker versions", "unsupported", 2),
        ("quotas", "unsupported", 1),
        ("reassignments", "unsupported", 1),
    ]


def only_one(node: int | None, request: Any) -> Any:
    """Return the sizes on the first broker; the second one is away."""
    return AWAY if node == 2 else sizes(1, 1)(node, request)


REFUSED: Any = lambda *_: says(error_code=31, topics=[], results=[])  # noqa: E731 -- an answer like the others
DENIED = "not_authorized"
ERRORS: list[tuple[str, Any, list[tuple[str, str, int]], bool | None]] = [
    ("DescribeQuorumRequest", REFUSED, [("controller", DENIED, 1)], False),
    ("ListPartitionReassignmentsRequest", REFUSED, [("reassignments", DENIED, 1)], False),
    ("DescribeLogDirsRequest", REFUSED, [("offsets topic size", DENIED, 2)], None),
    (
        "DescribeConfigsRequest",
        configs(VALUES, denied=["1", "2", OFFSETS]),
        [("broker setting", DENIED, 2 * len(BROKER_SETTINGS)), ("topic setting", DENIED, len(OFFSETS_SETTINGS))],
        None,
    ),
    ("DescribeLogDirsRequest", only_one, [("offsets topic size", "unreachable", 1)], False),
]


def test_an_error_affects_only_its_own_fact() -> None:
    """Each error is counted with its reason, and all other facts are known."""
    for kind, answer, lost, suspect in ERRORS:
        facts = poll_of(answers(topic(OFFSETS, 2), **{kind: answer}))[0].poll(None, 0)
        assert (kind, texts(facts.unknown_facts), facts.cleaner_suspect) == (kind, lost, suspect)
        assert facts.topic_partitions.num_rows == 2


def test_an_instance_judges_the_sizes_of_its_own_partitions() -> None:
    """Only partitions of this instance cause evidence. The sizes and settings are those of the whole cluster."""
    script = answers(topic(OFFSETS, 2), topic("t"), DescribeLogDirsRequest=sizes(0, 0))
    cluster = ScriptedCluster(script)
    poll = ClusterPoll(cluster, PollOptions(100, InstancePart(0, 2)))  # type: ignore[arg-type]
    assert "t" in poll.poll(None, 0).configs["name"].to_pylist()
    script["DescribeLogDirsRequest"] = sizes(3 * MB, 3 * MB)
    poll.poll(None, 60)
    facts = poll.poll(None, 60 + PATIENCE_SECONDS)
    assert [sentence[:49] for sentence in facts.cleaner_evidence] == [
        "partition 0 of __consumer_offsets on broker 1 has",
        "partition 0 of __consumer_offsets on broker 2 has",
    ]
    assert facts.offsets_replicas["bytes"].to_pylist() == [6 * MB, 6 * MB]


def test_an_unreachable_cluster_raises() -> None:
    """A poll raises Unreachable if the cluster does not answer."""
    poll, _ = poll_of(answers(Metadata=lambda *_: AWAY))
    with pytest.raises(Unreachable):
        poll.poll(None, 0)


def test_live_keys_are_estimated_per_partition() -> None:
    """An offsets partition has a key for each offset, and the records of its groups and their members."""
    rows = [{"group": "one", "partitions": 10, "members": 2}, {"group": "two", "partitions": 5}, {"group": "simple"}]
    wanted: dict[int, int] = {}
    for group, keys in (("one", 10 + 3 + 6), ("two", 5 + 3), ("simple", 3)):
        wanted[partition_for(group, 50)] = wanted.get(partition_for(group, 50), 0) + keys
    assert estimate_live_keys(snapshot(groups=rows), 50) == wanted
