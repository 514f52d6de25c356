"""The partitions of the topology and the sums of their topics, as tables: replicas in sync, leaders, skew of brokers.

Pure: a function of a Topology, over whole columns. The ratios are the percentages of CMAK
(kafka.manager.model.ActorModel, TopicIdentity): integer percent, rounded down; a broker hosts the partitions of which
it is an in-sync replica. CMAK divides floating-point numbers; here the ceiling is exact.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from exporters.cluster.model import CLUSTER_TOPICS, TOPIC_PARTITIONS
from stream.cluster.configs import Settings
from stream.cluster.topology import Topology

Int64s = npt.NDArray[np.int64]

MIN_ISR: Final = "min.insync.replicas"


def partitions_table(topology: Topology) -> pa.Table:
    """Return a row per partition (TOPIC_PARTITIONS)."""
    table = topology.partitions.combine_chunks()
    replicas, in_sync = (pc.list_value_length(table[name]) for name in ("replicas", "in_sync"))
    none = pa.scalar([-1], pa.list_(pa.int32()))  # list_element raises on an empty list
    first = pc.list_element(pc.if_else(pc.equal(replicas, 0), none, table["replicas"]), 0)
    columns = [
        *(table[name] for name in ("topic", "partition", "leader", "leader_epoch")),
        replicas,
        in_sync,
        pc.not_equal(in_sync, replicas),
        pc.fill_null(pc.equal(table["leader"], first), fill_value=False),
        *(table[name] for name in ("replicas", "in_sync", "offline")),
    ]
    return pa.table(columns, schema=TOPIC_PARTITIONS)


def topics_table(topology: Topology, settings: Mapping[str, Settings]) -> pa.Table:
    """Return a row per topic that has partitions (CLUSTER_TOPICS), with `settings` as far as they are known.

    The brokers apply at most the number of replicas as the minimum in sync (Kafka's Partition.effectiveMinIsr).
    """
    facts = partitions_table(topology)
    topic: pa.DictionaryArray = _one(facts["topic"])
    # Rows are sorted by topic, so a topic's first row is its first partition.
    numbers, first, at, count = np.unique(
        topic.indices.to_numpy(), return_index=True, return_inverse=True, return_counts=True
    )
    under, preferred, led = (
        np.bincount(at[_one(rows).to_numpy(zero_copy_only=False)], minlength=len(numbers))
        for rows in (facts["under_replicated"], facts["preferred_leader"], pc.is_valid(facts["leader"]))
    )
    factor = _one(facts["replicas"]).to_numpy().astype(np.int64)[first]
    hosting = _per_broker(*_in_sync(topology, at))
    hosts = np.bincount(hosting.topic, minlength=len(numbers))
    leading = _per_broker(*_leaders(topology, at))
    names = pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), topic.dictionary)
    min_isr = {name: each[MIN_ISR].number() for name, each in settings.items() if MIN_ISR in each}
    known = [-1 if (number := min_isr.get(name)) is None else number for name in names.to_pylist()]
    wanted = np.array(known or [-1], np.int64)
    at_min, under_min = _by_min_isr(facts, wanted[at], at, len(numbers))
    is_unknown = wanted[: len(numbers)] < 0
    values = {
        "topic": names,
        "partitions": count,
        "replication_factor": factor,
        "under_replicated": under,
        "under_replicated_ratio": (100 * under // count) / 100,
        "at_min_isr": pa.array(at_min.astype(np.int32), mask=is_unknown),
        "under_min_isr": pa.array(under_min.astype(np.int32), mask=is_unknown),
        "leaderless": count - led,
        "preferred_leaders_ratio": (100 * preferred // count) / 100,
        "brokers_skewed_ratio": _above(hosting, count * factor, hosts) / 100,
        # A broker that has just stopped can still be in sync.
        "brokers_spread_ratio": np.minimum(100 * hosts // (len(topology.brokers) or 1), 100) / 100,
        "leaders_skewed_ratio": _above(leading, count, hosts) / 100,
    }
    columns = [pa.array(values[field.name]).cast(field.type) for field in CLUSTER_TOPICS]
    return pa.table(columns, CLUSTER_TOPICS)


def _by_min_isr(facts: pa.Table, wanted: Int64s, at: Int64s, topics: int) -> tuple[Int64s, Int64s]:
    """Return the partitions at and under the `wanted` number of replicas in sync, by topic."""
    replicas, in_sync = (_one(facts[name]).to_numpy().astype(np.int64) for name in ("replicas", "in_sync_replicas"))
    has_leader = _one(facts["leader"]).is_valid().to_numpy(zero_copy_only=False)
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
