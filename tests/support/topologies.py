"""Cluster topologies from literal layouts."""

import pyarrow as pa

from stream.cluster.topology import REPLICAS, TOPICS, Topology
from stream.cluster.transport.client import Broker

Partition = tuple[int | None, list[int], list[int]]
"""Leader, replicas, in-sync replicas."""


def layout(topics: dict[str, list[Partition]], brokers: int) -> Topology:
    """Return the topology of a cluster with `brokers` brokers, numbered from 0."""
    rows = [
        {"topic": name, "partition": number, "leader": leader, "leader_epoch": 0, "replicas": replicas, "in_sync": isr}
        for name, partitions in sorted(topics.items())
        for number, (leader, replicas, isr) in enumerate(partitions)
    ]
    names = pa.array([row["topic"] for row in rows], pa.string()).dictionary_encode()
    others = pa.Table.from_pylist([{**row, "offline": []} for row in rows], schema=REPLICAS.remove(0))
    table = others.add_column(0, REPLICAS[0], names.cast(REPLICAS[0].type) if rows else pa.array([], REPLICAS[0].type))
    nodes = tuple(Broker(node, "b", 1, None) for node in range(brokers))
    return Topology("c", nodes, None, None, TOPICS.empty_table(), table)
