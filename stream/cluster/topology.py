"""The topology of the cluster: brokers, controller, topics with their ids, partitions.

One poll sends a Metadata request (for named topics, one per few thousand topics) and one request for the quorum.
Errors are values: a topic that cannot be described has a row with the error. Facts derived from the topology are in
`stream.cluster_facts.topics` and `topic_ids`.
"""

import dataclasses
from collections.abc import Collection, Iterable
from typing import Any, Final

import pyarrow as pa

from exporters.readmodel import NAME, rows_table
from stream.cluster.admin.quorum import Quorum, read_quorum
from stream.cluster.offsets_topic import NO_ID
from stream.cluster.partition_offsets import metadata_of
from stream.cluster.transport import errors as reasons
from stream.cluster.transport.client import Broker, Cluster
from stream.cluster.transport.errors import ErrorReason

_NODES: Final = pa.list_(pa.int32())

TOPICS: Final = pa.schema(
    [
        ("topic", pa.string()),
        # Changes when the topic is deleted and created again; null before Kafka 2.8, which has no ids.
        ("topic_id", pa.binary(16)),
        ("internal", pa.bool_()),
        # The number of partitions; null with an error.
        ("partitions", pa.int32()),
        # An ErrorReason if the topic could not be described, else null.
        ("error", pa.string()),
    ]
)
"""One row per topic, sorted by name."""

REPLICAS: Final = pa.schema(
    [
        ("topic", NAME),
        ("partition", pa.int32()),
        # Null: the partition has no leader.
        ("leader", pa.int32()),
        ("leader_epoch", pa.int32()),
        # Node ids; the first of them is the preferred leader.
        ("replicas", _NODES),
        ("in_sync", _NODES),
        # Replicas whose broker or log directory is offline.
        ("offline", _NODES),
    ]
)
"""One row per partition, sorted by topic and partition."""


@dataclasses.dataclass(frozen=True, slots=True)
class Topology:
    """The topology of a cluster. `topics` has the schema TOPICS, `partitions` the schema REPLICAS.

    `controller` is the node of the active controller: with KRaft the leader of the metadata quorum, which may be no
    broker at all. None if it is unknown; `controller_error` then has the reason. `quorum` is None with ZooKeeper, and
    if the controller is unknown for another reason than a missing leader.
    """

    cluster_id: str | None
    brokers: tuple[Broker, ...]
    controller: int | None
    controller_error: ErrorReason | None
    topics: pa.Table
    partitions: pa.Table
    quorum: Quorum | None = None

    def ids(self) -> dict[str, bytes]:
        """Return the id of each topic that has one, by name."""
        rows = zip(self.topics["topic"].to_pylist(), self.topics["topic_id"].to_pylist(), strict=True)
        return {name: topic_id for name, topic_id in rows if topic_id is not None}

    def partitions_of(self, topic: str) -> int:
        """Return the number of partitions of a topic; 0 if it does not exist, or may not be described."""
        rows = zip(self.topics["topic"].to_pylist(), self.topics["partitions"].to_pylist(), strict=True)
        return next((partitions or 0 for name, partitions in rows if name == topic), 0)

    def absent(self) -> list[str]:
        """Return the topics that were requested by name and do not exist."""
        rows = zip(self.topics["topic"].to_pylist(), self.topics["error"].to_pylist(), strict=True)
        return [name for name, error in rows if error == ErrorReason.NOT_FOUND]


def read_topology(cluster: Cluster, topics: Collection[str] | None = None, *, brief: bool = False) -> Topology:
    """Read the topology of these topics, or of all that the user may describe (others are then left out).

    `brief` is for frequent polls: topics with ids and counts only, no partitions, and no request for the quorum.
    Creates no topic. Raises ClusterError when no broker answers at all.
    """
    answers = [cluster.metadata(None)] if topics is None else metadata_of(cluster, topics) or [cluster.metadata([])]
    described = sorted((topic for answer in answers for topic in answer.topics), key=lambda topic: topic.name)
    quorum = ErrorReason.NOT_ASKED if brief else read_quorum(cluster)
    controller = _controller(quorum, answers[-1].controller_id)
    return Topology(
        cluster_id=cluster.cluster_id,
        brokers=cluster.brokers,
        controller=None if isinstance(controller, ErrorReason) else controller,
        controller_error=controller if isinstance(controller, ErrorReason) else None,
        topics=_topics(described),
        partitions=_partitions(() if brief else described),
        quorum=None if isinstance(quorum, ErrorReason) else quorum,
    )


def _controller(quorum: Quorum | ErrorReason, named: int) -> int | ErrorReason:
    """Return the node of the active controller, or the reason why it is unknown.

    Metadata names it with ZooKeeper only: with KRaft the response has any broker that accepts admin requests
    (kafka.server.metadata.KRaftMetadataCache#getControllerId in 3.x: a random broker that is alive).
    """
    if isinstance(quorum, ErrorReason):
        if quorum is not ErrorReason.UNSUPPORTED:
            return quorum
        return named if named >= 0 else ErrorReason.NO_LEADER
    return ErrorReason.NO_LEADER if quorum.leader is None else quorum.leader


def _topics(described: Iterable[Any]) -> pa.Table:
    rows = []
    for topic in described:
        error = reasons.of_code(topic.error_code) if not topic.partitions else None
        topic_id = None if topic.topic_id in (None, NO_ID) else topic.topic_id.bytes
        count = len(topic.partitions) if error is None else None
        rows.append((topic.name, topic_id, topic.is_internal, count, error))
    return rows_table(rows, TOPICS)


def _partitions(described: Iterable[Any]) -> pa.Table:
    rows = []
    for topic in described:
        name = topic.name
        for p in sorted(topic.partitions, key=lambda partition: partition.partition_index):
            leader, epoch = (value if value >= 0 else None for value in (p.leader_id, p.leader_epoch))
            rows.append((name, p.partition_index, leader, epoch, p.replica_nodes, p.isr_nodes, p.offline_replicas))
    return rows_table(rows, REPLICAS)
