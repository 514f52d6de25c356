"""The leaders of partitions and their epochs, for requests that only a leader answers.

Read on every call, with one metadata request per few thousand topics; nothing is cached.
"""

from collections.abc import Collection, Mapping
from typing import Final

from stream.cluster.transport import error_codes as reasons
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.error_codes import ErrorReason

Leader = tuple[int, int] | ErrorReason
"""The node and its leader epoch, or the reason why there is none."""

_TOPICS_AT_ONCE: Final = 5_000
_TOPIC: Final = -1


class Leaders:
    """The leaders of some partitions at one moment."""

    def __init__(self, found: Mapping[tuple[str, int], Leader]) -> None:
        self._found = found

    def of(self, topic: str, partition: int) -> Leader:
        """Return the leader of a partition; NOT_FOUND if there is no such partition."""
        return self._found.get((topic, partition), self._found.get((topic, _TOPIC), ErrorReason.NOT_FOUND))


def find_leaders(cluster: Cluster, topics: Collection[str]) -> Leaders:
    """Return the leaders of all partitions of these topics. Raises ClusterError when no broker answers at all."""
    names = sorted(set(topics))
    found: dict[tuple[str, int], Leader] = {}
    for start in range(0, len(names), _TOPICS_AT_ONCE):
        for topic in cluster.metadata(names[start : start + _TOPICS_AT_ONCE]).topics:
            if not topic.partitions:
                found[topic.name, _TOPIC] = reasons.of_code(topic.error_code) or ErrorReason.NOT_FOUND
            for p in topic.partitions:
                led = p.leader_id >= 0
                found[topic.name, p.partition_index] = (p.leader_id, p.leader_epoch) if led else ErrorReason.NO_LEADER
    return Leaders(found)
