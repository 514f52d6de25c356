"""The partitions whose replicas are being moved to other brokers.

One ListPartitionReassignments request (KIP-455, brokers from 2.4). Errors are values.
`kafka-reassign-partitions --list` shows the same.
"""

from typing import Any, Final, NamedTuple

from stream.cluster.transport import admin_requests
from stream.cluster.transport import error_codes as reasons
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.error_codes import ErrorReason
from stream.cluster.transport.errors import ClusterError

_NOT_CONTROLLER: Final = 41


class Reassignment(NamedTuple):
    """A partition that is being moved, with broker ids."""

    topic: str
    partition: int
    # All replicas, including those that are being added and removed.
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


def read_reassignments(cluster: Cluster, controller: int | None) -> list[Reassignment] | ErrorReason:
    """Read the reassignments in progress, by topic and partition, or return why they are unknown.

    With ZooKeeper only the `controller` answers; with KRaft any broker does. Needs the right to describe the cluster.
    Raises nothing.
    """
    request = admin_requests.list_partition_reassignments()
    try:
        answer = cluster.call_any(request)
        if answer.error_code == _NOT_CONTROLLER and controller is not None:
            answer = cluster.call(request, controller)
    except ClusterError as error:
        return reasons.of_failure(error)
    refused = reasons.of_code(answer.error_code)
    if refused is not None:
        return refused
    return sorted(_reassignment(topic.name, each) for topic in answer.topics for each in topic.partitions)


def _reassignment(topic: str, described: Any) -> Reassignment:
    brokers = (described.replicas, described.adding_replicas, described.removing_replicas)
    return Reassignment(topic, described.partition_index, *map(tuple, brokers))
