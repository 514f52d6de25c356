"""The partitions of the topology and the sums of their topics, as tables: replicas in sync, leaders, skew of brokers.

Pure: a function of a Topology, over whole columns. The ratios are the percentages of CMAK
(kafka.manager.model.ActorModel, TopicIdentity): integer percent, rounded down; a broker hosts the partitions of which
it is an in-sync replica. CMAK divides floating-point numbers; here the ceiling is exact.

Counts the replicas that stay on the disks of brokers which were away when their topic was deleted. Pure.

With KRaft a deleted topic leaves the metadata at once. A broker that is away keeps the files; when it is back it
renames their folders to `…-stray`, deletes none of them, and does not report them (kafka.log.LogManager#loadLog).
So they can be counted only when the metadata changes. A reassignment away from such a broker leaves its replicas in the
same way. See docs/internals/decisions/0013-replicas-left-on-absent-brokers.md.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from exporters.catalogue import topics
from stream.cluster.configs import Settings
from stream.cluster.topology import Topology

_Replica = tuple[str, bytes | None, int]
"""Topic, its id, and partition of a replica; a topic that is created again has another id."""


class LeftReplicas:
    """Compares the replicas of absent brokers between two polls; holds those of absent brokers only."""

    def __init__(self) -> None:
        self._assigned: dict[int, set[_Replica]] = {}
        self._counts: Counter[int] = Counter()

    def update(self, topology: Topology, absent: Callable[[Collection[str]], Collection[str]]) -> Mapping[int, int]:
        """Return the number of replicas that were left on each broker since the first call; others have none.

        A broker must have been away at the previous poll and at this one: otherwise it may have deleted the files.
        `absent` returns which topics do not exist, because one that may no longer be described is not listed either.
        """
        live = {broker.node for broker in topology.brokers}
        assigned = _replicas_of_absent(topology, live)
        removed = [
            (node, replica)
            for node, before in self._assigned.items()
            if node not in live
            for replica in before - assigned.get(node, set())
        ]
        self._assigned = assigned
        if removed:
            listed = set(topology.topics["topic"].to_pylist())
            unlisted = {replica[0] for _, replica in removed} - listed
            described = set(topology.topics.filter(pc.is_valid(topology.topics["partitions"]))["topic"].to_pylist())
            known = described.union(absent(unlisted) if unlisted else ())
            self._counts.update(node for node, replica in removed if replica[0] in known)
        return self._counts


def _replicas_of_absent(topology: Topology, live: Collection[int]) -> dict[int, set[_Replica]]:
    """Return the replicas that are assigned to brokers which are not live, by broker."""
    hosts = topology.partitions["replicas"].combine_chunks()
    nodes = pc.list_flatten(hosts)
    is_absent = pc.invert(pc.is_in(nodes, pa.array(sorted(live), pa.int32())))
    rows = topology.partitions.take(pc.list_parent_indices(hosts).filter(is_absent))
    ids = topology.ids() if rows.num_rows else {}
    found: dict[int, set[_Replica]] = {}
    columns = (nodes.filter(is_absent).to_pylist(), rows["topic"].to_pylist(), rows["partition"].to_pylist())
    for node, topic, partition in zip(*columns, strict=True):
        found.setdefault(node, set()).add((topic, ids.get(topic), partition))
    return found


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
    return pa.table(columns, schema=topics.TOPIC_PARTITIONS.schema)


def topics_table(topology: Topology, settings: Mapping[str, Settings]) -> pa.Table:
    """Return a row per topic that has partitions (CLUSTER_TOPICS), with `settings` as far as they are known.

    The brokers apply at most the number of replicas as the minimum in sync (Kafka's Partition.effectiveMinIsr).
    """
    facts = partitions_table(topology)
    topic: pa.DictionaryArray = facts["topic"].combine_chunks()
    # Rows are sorted by topic, so a topic's first row is its first partition.
    numbers, first, at, count = np.unique(
        topic.indices.to_numpy(), return_index=True, return_inverse=True, return_counts=True
    )
    under, preferred, led = (
        np.bincount(at[rows.combine_chunks().to_numpy(zero_copy_only=False)], minlength=len(numbers))
        for rows in (facts["under_replicated"], facts["preferred_leader"], pc.is_valid(facts["leader"]))
    )
    factor = facts["replicas"].combine_chunks().to_numpy().astype(np.int64)[first]
    lists = topology.partitions["in_sync"].combine_chunks()
    in_sync = _per_broker(at[pc.list_parent_indices(lists).to_numpy()], pc.list_flatten(lists))
    hosts = np.bincount(in_sync[0], minlength=len(numbers))
    leader = topology.partitions["leader"].combine_chunks()
    leading = _per_broker(at[leader.is_valid().to_numpy(zero_copy_only=False)], leader.drop_null())
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
        "brokers_skewed_ratio": _above(*in_sync, count * factor, hosts) / 100,
        # A broker that has just stopped can still be in sync.
        "brokers_spread_ratio": np.minimum(100 * hosts // (len(topology.brokers) or 1), 100) / 100,
        "leaders_skewed_ratio": _above(*leading, count, hosts) / 100,
    }
    columns = [pa.array(values[field.name]).cast(field.type) for field in topics.CLUSTER_TOPICS.schema]
    return pa.table(columns, topics.CLUSTER_TOPICS.schema)


def _by_min_isr(facts: pa.Table, wanted: Int64s, at: Int64s, topics: int) -> tuple[Int64s, Int64s]:
    """Return the partitions at and under the `wanted` number of replicas in sync, by topic."""
    replicas, in_sync = (
        facts[name].combine_chunks().to_numpy().astype(np.int64) for name in ("replicas", "in_sync_replicas")
    )
    has_leader = facts["leader"].combine_chunks().is_valid().to_numpy(zero_copy_only=False)
    effective = np.minimum(wanted, replicas)
    at_min = has_leader & (in_sync == effective)
    under = ~has_leader | (in_sync < effective)
    by_min, by_under = (np.bincount(at[rows], minlength=topics).astype(np.int64) for rows in (at_min, under))
    return by_min, by_under


def _per_broker(topic: Int64s, node: pa.Array) -> tuple[Int64s, Int64s]:
    """Return the topic of each pair of a topic and a broker, and how often the pair occurs."""
    pairs, count = np.unique(np.stack([topic, node.to_numpy().astype(np.int64)]), axis=1, return_counts=True)
    return pairs[0], count


def _above(topic: Int64s, partitions: Int64s, total: Int64s, hosts: Int64s) -> Int64s:
    """Return, per topic, the percentage of its hosts that have more than their share of the total, rounded up.

    `topic` and `partitions` have a row for each host of a topic.
    """
    divisor = np.maximum(hosts, 1)
    share = -(-total // divisor)
    above = topic[partitions > share[topic]]
    return 100 * np.bincount(above, minlength=len(hosts)) // divisor
