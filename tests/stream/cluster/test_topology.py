"""Tests of the topology: the metadata, with errors as values."""

import uuid
from collections.abc import Collection
from typing import Any

import pytest

from stream.cluster.topology import REPLICAS, TOPICS, Topology, read_topology
from stream.cluster.transport.errors import ErrorReason
from tests.support.scripted_cluster import AWAY, TOO_OLD, ScriptedCluster, says

ID = uuid.UUID(int=7)


def partition(index: int, leader: int = 1, **fields: Any) -> Any:
    """Describe a partition on brokers 1 and 2, in sync."""
    usual = {"leader_epoch": 4, "replica_nodes": [1, 2], "isr_nodes": [2, 1], "offline_replicas": []}
    return says(partition_index=index, leader_id=leader, **(usual | fields))


def topic(name: str, *partitions: Any, **fields: Any) -> Any:
    usual = {"error_code": 0, "topic_id": ID, "is_internal": False}
    return says(name=name, partitions=list(partitions), **(usual | fields))


def quorum(leader: int, error: int = 0, top: int = 0) -> Any:
    described = says(
        error_code=error, leader_id=leader, leader_epoch=3, high_watermark=9, current_voters=[], observers=[]
    )
    topics = [says(partitions=[described])]
    return says(error_code=top, topics=[] if top else topics)


def layout(*described: Any, topics: Collection[str] | None = None, controller: Any = None) -> tuple[Topology, Any]:
    by_name = {each.name: each for each in described}

    def metadata(_: int | None, asked: Collection[str] | None) -> Any:
        # A broker answers in an order that is not defined.
        described = [by_name[name] for name in (by_name if asked is None else asked)]
        return says(topics=described[::-1], controller_id=2)

    answer = quorum(1) if controller is None else controller
    cluster = ScriptedCluster({"Metadata": metadata, "DescribeQuorumRequest": lambda *_: answer})
    found = read_topology(cluster, topics)  # type: ignore[arg-type]
    assert (found.topics.schema, found.partitions.schema) == (TOPICS, REPLICAS)
    found.topics.validate(full=True)
    found.partitions.validate(full=True)
    return found, cluster


def test_all_topics_and_partitions_are_read() -> None:
    """Topics are sorted and have id and partition count; partitions are sorted; a missing leader or id is null.

    A partition without a leader does not affect the description of its topic.
    """
    gone_leader = partition(1, -1, leader_epoch=-1, isr_nodes=[2], offline_replicas=[1])
    found, _ = layout(
        topic("t", gone_leader, partition(0), error_code=5),
        topic("a", partition(0, 2), topic_id=uuid.UUID(int=0), is_internal=True),
        topic("denied", error_code=29, topic_id=None),
    )
    assert [tuple(row.values()) for row in found.topics.to_pylist()] == [
        ("a", None, True, 1, None),
        ("denied", None, False, None, "not_authorized"),
        ("t", ID.bytes, False, 2, None),
    ]
    assert [tuple(row.values()) for row in found.partitions.to_pylist()] == [
        ("a", 0, 2, 4, [1, 2], [2, 1], []),
        ("t", 0, 1, 4, [1, 2], [2, 1], []),
        ("t", 1, None, None, [1, 2], [2], [1]),
    ]
    assert (found.ids(), found.absent(), found.cluster_id) == ({"t": ID.bytes}, [], "scripted")
    assert [broker.node for broker in found.brokers] == [1, 2]


def test_named_topics_are_requested_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each name is requested once; topics that do not exist are reported."""
    monkeypatch.setattr("stream.cluster.partition_offsets._TOPICS_AT_ONCE", 2)
    described = [topic(f"t{n}", partition(0)) for n in range(4)]
    found, cluster = layout(
        *described, topic("none", error_code=3, topic_id=None), topics=["t3", "none", "t0", "t1", "t2", "t0"]
    )
    assert [asked for _, asked in cluster.asked[:-1]] == [["none", "t0"], ["t1", "t2"], ["t3"]]
    assert found.partitions["topic"].to_pylist() == ["t0", "t1", "t2", "t3"]
    assert found.absent() == ["none"]


# Per row: the answer about the quorum, the controller, and the reason if it is unknown.
CONTROLLERS: dict[str, tuple[Any, int | None, ErrorReason | None]] = {
    "KRaft: leader of the quorum": (quorum(7), 7, None),
    "ZooKeeper: controller of the metadata": (TOO_OLD, 2, None),
    "missing right to describe the cluster": (quorum(0, top=31), None, ErrorReason.NOT_AUTHORIZED),
    "during an election": (quorum(0, error=6), None, ErrorReason.LEADER_CHANGED),
    "no leader": (quorum(-1), None, ErrorReason.NO_LEADER),
    "an empty answer": (says(error_code=0, topics=[]), None, ErrorReason.OTHER),
    "unreachable after the metadata": (AWAY, None, ErrorReason.UNREACHABLE),
}


def test_the_controller_is_known_or_has_a_reason() -> None:
    """With KRaft the controller is the quorum's leader, with ZooKeeper the metadata name it; else there is a reason."""
    for name, (answer, controller, error) in CONTROLLERS.items():
        found, _ = layout(topic("t", partition(0)), controller=answer)
        assert (name, found.controller, found.controller_error) == (name, controller, error)
        assert found.partitions.num_rows == 1
        assert (found.quorum is not None) == (name in {"KRaft: leader of the quorum", "no leader"})


def test_brief_reads_ids_and_counts_only() -> None:
    """A brief read sends one request, and reads no partitions and no controller."""
    cluster = ScriptedCluster({"Metadata": lambda *_: says(topics=[topic("t", partition(0))], controller_id=1)})
    found = read_topology(cluster, ["t"], brief=True)  # type: ignore[arg-type]
    assert (found.ids(), found.topics["partitions"].to_pylist()) == ({"t": ID.bytes}, [1])
    assert (found.partitions.num_rows, found.controller_error) == (0, ErrorReason.NOT_ASKED)
    assert len(cluster.asked) == 1
