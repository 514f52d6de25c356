"""The distance of followers that are not in sync from their leader's high watermark, and replicas that are being moved.

DescribeLogDirs does not have the distance: its offset lag compares the log end of a replica with the high watermark
that the same broker knows, which is never beyond that log end. A follower answers ListOffsets with its own log end if
the request has the replica id of Kafka's replica verification (ListOffsetsRequest.DEBUGGING_REPLICA_ID). The right to
describe the topic is sufficient.

Moves are one ListPartitionReassignments request (KIP-455, brokers from 2.4), as of `kafka-reassign-partitions --list`.
Errors are values.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from stream.cluster.topology import Topology
from stream.cluster.transport import errors as reasons
from stream.cluster.transport import requests
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError, ErrorReason

MOST_FOLLOWERS: Final = 1_000
"""The maximum number of followers that one call looks up, the first by topic and partition."""

_ANY_EPOCH: Final = -1
_Partitions = dict[str, list[tuple[int, int]]]


Follower = tuple[str, int, int, int]
"""Topic, partition and live broker of a replica that is not in sync, and the leader of the partition."""


class FollowerLag(NamedTuple):
    """The number of offsets that a follower lacks up to the leader's high watermark, or why it is unknown."""

    topic: str
    partition: int
    broker: int
    lag: int | None
    reason: ErrorReason | None = None


def followers_out_of_sync(topology: Topology) -> list[Follower]:
    """Return the replicas on live brokers that are not in sync, by topic and partition. A partition needs a leader."""
    alive = {broker.node for broker in topology.brokers}
    names = ("topic", "partition", "leader", "replicas", "in_sync", "offline")
    columns = (topology.partitions[name].to_pylist() for name in names)
    return [
        (topic, partition, node, leader)
        for topic, partition, leader, replicas, in_sync, offline in zip(*columns, strict=True)
        if leader is not None and len(in_sync) < len(replicas)
        for node in sorted((set(replicas) & alive) - set(in_sync) - set(offline))
    ]


def read_follower_lags(cluster: Cluster, followers: Sequence[Follower]) -> list[FollowerLag]:
    """Look up the first MOST_FOLLOWERS followers and their leaders, all at once. Raises nothing."""
    wanted = list(followers[:MOST_FOLLOWERS])
    of_leaders = _by_node({(leader, topic, partition) for topic, partition, _, leader in wanted})
    of_followers = _by_node({(broker, topic, partition) for topic, partition, broker, _ in wanted})
    answers = cluster.call_all(
        [(node, requests.list_offsets(some, requests.LATEST)) for node, some in of_leaders]
        + [(node, requests.replica_ends(some)) for node, some in of_followers]
    )
    led = _offsets(of_leaders, answers[: len(of_leaders)])
    followed = _offsets(of_followers, answers[len(of_leaders) :])
    lags = []
    for topic, partition, broker, leader in wanted:
        high_watermark = led.get((leader, topic, partition), ErrorReason.OTHER)
        end = followed.get((broker, topic, partition), ErrorReason.OTHER)
        reason = next((each for each in (high_watermark, end) if isinstance(each, ErrorReason)), None)
        lag = max(int(high_watermark) - int(end), 0) if reason is None else None
        lags.append(FollowerLag(topic, partition, broker, lag, reason))
    return lags


def _by_node(places: Iterable[tuple[int, str, int]]) -> list[tuple[int, _Partitions]]:
    """Return, per node, the partitions of a ListOffsets request."""
    by_node: dict[int, _Partitions] = {}
    for node, topic, partition in sorted(places):
        by_node.setdefault(node, {}).setdefault(topic, []).append((partition, _ANY_EPOCH))
    return list(by_node.items())


def _offsets(
    wanted: Sequence[tuple[int, _Partitions]], answers: Sequence[Any]
) -> dict[tuple[int, str, int], int | ErrorReason]:
    """Return the offset, or the reason why it is unknown, by node, topic and partition."""
    found: dict[tuple[int, str, int], int | ErrorReason] = {}
    for (node, partitions), answer in zip(wanted, answers, strict=True):
        if isinstance(answer, ClusterError):
            reason = reasons.of_failure(answer)
            found |= {(node, topic, index): reason for topic, rows in partitions.items() for index, _ in rows}
            continue
        for topic in answer.topics:
            for p in topic.partitions:
                found[node, topic.name, p.partition_index] = reasons.of_code(p.error_code) or p.offset
    return found


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
    request = requests.list_partition_reassignments()
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
