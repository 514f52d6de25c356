"""Tests of the tables of a poll: numbers of the topology, and the selection of shown partitions."""

from exporters.catalogue import brokers
from stream.cluster.configs import REPLICA_SIZES
from stream.cluster.topology import TOPICS, Topology
from stream.cluster.transport.client import Broker
from stream.cluster.transport.errors import ErrorReason
from stream.cluster_facts import tables
from stream.cluster_facts.topics import partitions_table
from tests.exporters.snapshots import table
from tests.support.topologies import Partition, layout

GOOD: Partition = (0, [0, 1], [0, 1])
ELSEWHERE: Partition = (1, [0, 1], [0, 1])
UNDER: Partition = (0, [0, 1], [0])
LOST: Partition = (None, [2, 1], [])
NO_PARTITIONS = layout({}, 1).partitions


def test_a_broker_has_the_numbers_of_replicas_that_it_leads_and_holds() -> None:
    """All topics count. A broker without replicas has zeros, and an absent broker has no row."""
    found = tables.brokers_table(layout({"a": [GOOD, ELSEWHERE, UNDER], "b": [LOST]}, brokers=2))
    assert found.schema == brokers.BROKERS.schema
    assert [(row["broker"], row["leads"], row["holds"]) for row in found.to_pylist()] == [(0, 2, 3), (1, 1, 4)]
    empty = tables.brokers_table(layout({}, brokers=1))
    assert [(row["leads"], row["holds"], row["rack"]) for row in empty.to_pylist()] == [(0, 0, None)]


def test_shown_partitions_are_bounded() -> None:
    """Leaderless and under-replicated partitions have priority, then healthy ones; the order is kept."""
    every = partitions_table(layout({"a": [GOOD, ELSEWHERE, UNDER], "b": [GOOD, LOST]}, 3))
    shown = {9: "a0 a1 a2 b0 b1", 5: "a0 a1 a2 b0 b1", 4: "a0 a1 a2 b1", 2: "a2 b1", 1: "b1", 0: ""}
    found = {most: tables.shown_partitions(every, most).to_pylist() for most in shown}
    assert {
        most: " ".join(f"{row['topic']}{row['partition']}" for row in rows) for most, rows in found.items()
    } == shown


def test_a_broker_has_a_size_or_a_reason() -> None:
    """A broker without an answer has a reason instead of a size."""
    replicas = table(REPLICA_SIZES, [{"broker": 1, "topic": "o", "size": 5}, {"broker": 2, "error": "storage_failed"}])
    found = tables.offsets_replicas_table({2: None, 1: 5}, {1: 0.5, 2: None}, replicas)
    assert found.schema == brokers.OFFSETS_REPLICAS.schema
    assert [tuple(row.values()) for row in found.to_pylist()] == [(1, 5, 0.5, None), (2, None, None, "storage_failed")]


def test_unknown_facts_are_counted() -> None:
    """Each fact is counted with its reason."""
    topics = table(TOPICS, [{"topic": "a", "error": "invalid"}, {"topic": "b", "partitions": 1}])
    live = (Broker(1, "h", 1, None),)
    topology = Topology("c", live, None, ErrorReason.NOT_AUTHORIZED, topics, NO_PARTITIONS)
    replicas = table(REPLICA_SIZES, [{"broker": n, "error": "not_authorized"} for n in (1, 2)])
    silent = [{"scope": scope, "name": "n", "key": "k", "unknown_reason": "timed_out"} for scope in ("broker", "topic")]
    unknown = tables.Unknown()
    tables.count_unknown(unknown, topology, replicas, table(brokers.CONFIGS.schema, silent))
    assert unknown == {
        ("controller", "not_authorized"): 1,
        ("topic", "invalid"): 1,
        ("offsets topic size", "not_authorized"): 2,
        ("broker setting", "timed_out"): 1,
        ("topic setting", "timed_out"): 1,
    }
    written = tables.unknown_table(tables.Unknown({("b", "r"): 2, ("a", "s"): 0, ("a", "r"): 1}))
    assert [tuple(row.values()) for row in written.to_pylist()] == [("a", "r", 1), ("b", "r", 2)]
