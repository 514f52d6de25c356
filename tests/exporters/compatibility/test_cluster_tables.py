"""The columns behind the other exporters' metrics about the cluster."""

import dataclasses

from exporters.compatibility.cluster_tables import peer_cluster_facts
from tests.exporters.cluster_facts import facts
from tests.exporters.compatibility.peer_world import facts_at


def test_the_controller_is_marked_by_its_id() -> None:
    """A broker that is the active controller is marked; if the controller is not known, the mark is null."""
    combined = peer_cluster_facts(dataclasses.replace(facts(), controller=2)).peer_brokers
    assert combined.column("is_controller").to_pylist() == [False, True]
    unknown = peer_cluster_facts(dataclasses.replace(facts(), controller=None))
    assert unknown.peer_brokers.column("is_controller").to_pylist() == [None, None]
    assert unknown.peer_cluster.column("controller_id").to_pylist() == [None]


def test_policies_sizes_and_addresses() -> None:
    """A topic has its own policy or null; a broker that did not report all directories has no size, but an address."""
    assert peer_cluster_facts(facts()).peer_cluster_topics.column("cleanup_policy").to_pylist() == [None]
    assert peer_cluster_facts(facts_at()).peer_cluster_topics.column("cleanup_policy").to_pylist() == ["compact"]
    combined = peer_cluster_facts(facts())
    sizes = combined.peer_brokers.select(["broker_id", "bytes"]).to_pylist()
    assert sizes == [{"broker_id": 1, "bytes": 2**41}, {"broker_id": 2, "bytes": None}]
    assert combined.peer_topic_sizes.to_pylist() == [{"topic_name": "orders", "bytes": 4096}]
    assert combined.peer_broker_addresses.column("address").to_pylist() == ["kafka-1:9092", "kafka-2:9092"]
