"""Facts derived from the topology: under-replicated partitions, non-preferred leaders, skew of brokers.

Pure: a function of a Topology, over whole columns. The percentages and their names are those of CMAK
(kafka.manager.model.ActorModel, TopicIdentity): integer percent, rounded down; a broker hosts the partitions of which
it is an in-sync replica. CMAK divides floating-point numbers; here the ceiling is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.cluster.topology import Topology

Int64s = npt.NDArray[np.int64]

NAME: Final = pa.dictionary(pa.int32(), pa.string())

PARTITION_FACTS: Final = pa.schema(
    [
        ("topic", NAME),
        ("partition", pa.int32()),
        ("replicas", pa.int32()),
        ("in_sync", pa.int32()),
        ("under_replicated", pa.bool_()),
        # True if the first of the replicas leads; false if no broker leads.
        ("preferred_leader", pa.bool_()),
        ("leaderless", pa.bool_()),
    ]
)
"""One row per partition, in the order of the topology's."""

TOPIC_FACTS: Final = pa.schema(
    [
        ("topic", NAME),
        ("partitions", pa.int32()),
        # Of the topic's first partition, as CMAK has it.
        ("replication_factor", pa.int32()),
        ("under_replicated", pa.int32()),
        ("leaderless", pa.int32()),
        ("preferred_replicas_percent", pa.int32()),
        ("under_replicated_percent", pa.int32()),
        # Brokers that host the topic, and the share of them that host or lead more than the average, rounded up.
        ("brokers", pa.int32()),
        ("brokers_skewed_percent", pa.int32()),
        ("brokers_leader_skewed_percent", pa.int32()),
        # The share of the cluster's brokers that host the topic.
        ("brokers_spread_percent", pa.int32()),
        # Partitions with exactly as many replicas in sync as min.insync.replicas, and with fewer or without a leader;
        # null if the setting of the topic is not known.
        ("at_min_isr", pa.int32()),
        ("under_min_isr", pa.int32()),
    ]
)
"""One row per topic that has partitions, in the order of the topology's."""


def partition_facts(topology: Topology) -> pa.Table:
    """Return PARTITION_FACTS: replicas in sync and leadership of each partition."""
    table = topology.partitions.combine_chunks()
    replicas, in_sync = (pc.list_value_length(table[name]) for name in ("replicas", "in_sync"))
    none = pa.scalar([-1], pa.list_(pa.int32()))  # list_element raises on an empty list
    first = pc.list_element(pc.if_else(pc.equal(replicas, 0), none, table["replicas"]), 0)
    leaderless = pc.is_null(table["leader"])
    columns = [
        table["topic"],
        table["partition"],
        replicas,
        in_sync,
        pc.not_equal(in_sync, replicas),
        pc.fill_null(pc.equal(table["leader"], first), fill_value=False),
        leaderless,
    ]
    return pa.table(columns, schema=PARTITION_FACTS)


def topic_facts(topology: Topology, min_isr: Mapping[str, int] | None = None) -> pa.Table:
    """Return TOPIC_FACTS: the sums of the partition facts by topic, with CMAK's percentages.

    `min_isr` has the known min.insync.replicas by topic. The brokers apply at most the number of replicas (Kafka's
    Partition.effectiveMinIsr).
    """
    facts = partition_facts(topology)
    topic: pa.DictionaryArray = _one(facts["topic"])
    # Rows are sorted by topic, so a topic's first row is its first partition.
    numbers, first, at, count = np.unique(
        topic.indices.to_numpy(), return_index=True, return_inverse=True, return_counts=True
    )
    under, leaderless, preferred = (
        np.bincount(at[_one(facts[name]).to_numpy(zero_copy_only=False)], minlength=len(numbers))
        for name in ("under_replicated", "leaderless", "preferred_leader")
    )
    factor = _one(facts["replicas"]).to_numpy().astype(np.int64)[first]
    hosting = _per_broker(*_in_sync(topology, at))
    hosts = np.bincount(hosting.topic, minlength=len(numbers))
    leading = _per_broker(*_leaders(topology, at))
    values = {
        "partitions": count,
        "replication_factor": factor,
        "under_replicated": under,
        "leaderless": leaderless,
        "preferred_replicas_percent": 100 * preferred // count,
        "under_replicated_percent": 100 * under // count,
        "brokers": hosts,
        "brokers_skewed_percent": _above(hosting, count * factor, hosts),
        "brokers_leader_skewed_percent": _above(leading, count, hosts),
        # A broker that has just stopped can still be in sync.
        "brokers_spread_percent": np.minimum(100 * hosts // (len(topology.brokers) or 1), 100),
    }
    names = pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), topic.dictionary)
    known = names.to_pylist()
    wanted = np.array([(min_isr or {}).get(name, -1) for name in known] or [-1], np.int64)
    counts = _by_min_isr(facts, wanted[at], at, len(numbers))
    is_unknown = wanted[: len(numbers)] < 0
    columns = [
        names,
        *(pa.array(values[name], pa.int32()) for name in TOPIC_FACTS.names[1:] if name in values),
        *(pa.array(count.astype(np.int32), mask=is_unknown) for count in counts),
    ]
    return pa.table(columns, TOPIC_FACTS)


def _by_min_isr(facts: pa.Table, wanted: Int64s, at: Int64s, topics: int) -> tuple[Int64s, Int64s]:
    """Return the partitions at and under the `wanted` number of replicas in sync, by topic."""
    replicas, in_sync = (_one(facts[name]).to_numpy().astype(np.int64) for name in ("replicas", "in_sync"))
    has_leader = ~_one(facts["leaderless"]).to_numpy(zero_copy_only=False)
    effective = np.minimum(wanted, replicas)
    at_min = has_leader & (in_sync == effective)
    under = ~has_leader | (in_sync < effective)
    by_min, by_under = (np.bincount(at[rows], minlength=topics).astype(np.int64) for rows in (at_min, under))
    return by_min, by_under


class _PerBroker(NamedTuple):
    """The number of partitions of a topic per broker: a row per topic and broker with at least one."""

    topic: Int64s
    partitions: Int64s


def _per_broker(topic: Int64s, node: Int64s) -> _PerBroker:
    pairs, count = np.unique(np.stack([topic, node]), axis=1, return_counts=True)
    return _PerBroker(pairs[0], count)


def _in_sync(topology: Topology, at: Int64s) -> tuple[Int64s, Int64s]:
    """Return topic and node of every replica that is in sync."""
    lists = _one(topology.partitions["in_sync"])
    return at[pc.list_parent_indices(lists).to_numpy()], pc.list_flatten(lists).to_numpy().astype(np.int64)


def _leaders(topology: Topology, at: Int64s) -> tuple[Int64s, Int64s]:
    """Return topic and node of every leader."""
    leader = _one(topology.partitions["leader"])
    led = leader.is_valid().to_numpy(zero_copy_only=False)
    return at[led], leader.drop_null().to_numpy().astype(np.int64)


def _above(brokers: _PerBroker, total: Int64s, hosts: Int64s) -> Int64s:
    """Return, per topic, the percentage of its hosts that have more than their share of the total, rounded up."""
    divisor = np.maximum(hosts, 1)
    share = -(-total // divisor)
    above = brokers.topic[brokers.partitions > share[brokers.topic]]
    return 100 * np.bincount(above, minlength=len(hosts)) // divisor


def _one(column: pa.ChunkedArray) -> Any:
    """Return a column as one array; an empty column has no chunk."""
    return column.combine_chunks()
