"""Counts the replicas that stay on the disks of brokers which were away when their topic was deleted. Pure.

With KRaft a deleted topic leaves the metadata at once. A broker that is away keeps the files; when it is back it
renames their folders to `…-stray`, deletes none of them, and does not report them (kafka.log.LogManager#loadLog).
So they can be counted only when the metadata changes. A reassignment away from such a broker leaves its replicas in the
same way. See docs/internals/decisions/0013-replicas-left-on-absent-brokers.md.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from stream.cluster.topology import Topology


class _Replica(NamedTuple):
    """A replica of a topic; a topic that is created again has another id."""

    topic: str
    topic_id: bytes | None
    partition: int


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
            unlisted = {replica.topic for _, replica in removed} - listed
            described = set(topology.topics.filter(pc.is_valid(topology.topics["partitions"]))["topic"].to_pylist())
            known = described.union(absent(unlisted) if unlisted else ())
            self._counts.update(node for node, replica in removed if replica.topic in known)
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
        found.setdefault(node, set()).add(_Replica(topic, ids.get(topic), partition))
    return found
