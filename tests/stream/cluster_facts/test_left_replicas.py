"""Replicas that a deletion or a reassignment leaves on a broker that is away."""

from collections.abc import Collection

import pyarrow as pa

from stream.cluster.topology import REPLICAS, TOPICS, Topology
from stream.cluster.transport.client import Broker
from stream.cluster_facts.topics import LeftReplicas
from tests.exporters.snapshots import table

Layout = dict[str, list[list[int]]]
"""The replicas of each partition of a topic, by name. A name is followed by the first letter of its id, as in `t/a`."""


def topology(layout: Layout, live: Collection[int], failed: Collection[str] = ()) -> Topology:
    """Return the topology with these live brokers; topics that `failed` could not be described."""
    names = [name.split("/") for name in layout]
    topics = [{"topic": name, "topic_id": id_.encode() * 16, "partitions": 1} for name, id_ in names]
    topics += [{"topic": name, "error": "leader_not_available"} for name in failed]
    rows = [
        {"topic": name.split("/")[0], "partition": partition, "replicas": replicas}
        for name, partitions in layout.items()
        for partition, replicas in enumerate(partitions)
    ]
    brokers = tuple(Broker(node, "h", 1, None) for node in live)
    return Topology("c", brokers, None, None, table(TOPICS, topics), pa.Table.from_pylist(rows, REPLICAS))


def left(*polls: Topology, absent: Collection[str] = ("t",)) -> dict[int, int]:
    """Return the counts after these polls; `absent` are the topics that do not exist."""
    counter = LeftReplicas()
    for each in polls:
        counts = counter.update(each, lambda asked: sorted(set(asked) & set(absent)))
    return dict(counts)


BEFORE: Layout = {"t/a": [[1, 2], [2, 3]], "other/b": [[2, 3]]}


def test_a_deletion_leaves_the_replicas_of_absent_brokers() -> None:
    """An absent broker is counted once for each of its replicas of the deleted topic. A live broker is not counted."""
    after: Layout = {"other/b": [[2, 3]]}
    assert left(topology(BEFORE, [1, 3]), topology(after, [1, 3])) == {2: 2}
    assert left(topology(BEFORE, [1]), topology(after, [1])) == {2: 2, 3: 1}


def test_a_topic_that_is_created_again_leaves_its_former_replicas() -> None:
    """A topic with another id is another topic, even on the same broker.

    An absent broker keeps its replica of a partition that is reassigned to another broker.
    """
    again: Layout = {"t/c": [[1, 2], [2, 3]], "other/b": [[2, 3]]}
    moved: Layout = {"t/a": [[1, 3], [2, 3]], "other/b": [[2, 3]]}
    found = [left(topology(BEFORE, [1, 3]), topology(after, [1, 3]), absent=()) for after in (again, moved)]
    assert found == [{2: 2}, {2: 1}]


def test_a_broker_that_is_live_at_either_poll_has_no_left_replicas() -> None:
    """A broker that is live at one of the two polls may have deleted the files, and is not counted."""
    for before, after in (([1, 2, 3], [1, 3]), ([1, 3], [1, 2, 3]), ([1, 2, 3], [1, 2, 3])):
        assert left(topology(BEFORE, before), topology({}, after), absent=("t", "other")) == {}


def test_a_topic_that_cannot_be_described_is_not_deleted() -> None:
    """A topic that exists but is not listed, or that has an error instead of partitions, leaves no replicas."""
    assert left(topology(BEFORE, [1, 3]), topology({}, [1, 3]), absent=()) == {}
    assert left(topology(BEFORE, [1, 3]), topology({}, [1, 3], failed=["t", "other"]), absent=("t", "other")) == {}
