"""The topic `__consumer_offsets`: its id, its partitions and their leaders, or the error why it cannot be read.

Read before the streaming query starts, which needs a topic that exists and may be read. Never creates the topic: on a
new cluster the first consumer does.
"""

import dataclasses
import uuid
from typing import Any, Final

from stream.cluster.transport import requests
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.connection_errors import no_topic_right
from stream.cluster.transport.errors import Unreachable

NAME: Final = "__consumer_offsets"

_UNKNOWN_TOPIC: Final = 3
_DENIED: Final = 29
_NO_ID: Final = uuid.UUID(int=0)


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetsTopic:
    """The topic of one cluster at one moment. `leaders[i]` leads `partitions[i]`; None if no broker does.

    `topic_id` changes when the topic is deleted and created again; None on brokers before 2.8, which have no topic ids.
    """

    cluster_id: str
    topic_id: uuid.UUID | None
    partitions: tuple[int, ...]
    leaders: tuple[int | None, ...]


def describe(cluster: Cluster) -> OffsetsTopic | None:
    """Describe the topic; None when it does not exist yet.

    Raises NotAuthorised when the user may not describe or not read it, and any ClusterError of the connection.
    """
    answer = cluster.metadata([NAME], operations=True)
    topic = answer.topics[0]
    if topic.error_code == _UNKNOWN_TOPIC:
        return None
    if topic.error_code == _DENIED:
        raise no_topic_right(NAME, "Read")
    if topic.error_code != 0 and not topic.partitions:
        raise Unreachable(f"the topic {NAME} is not ready (Kafka error {topic.error_code})", "it is read again")
    if not _may_read(topic):
        raise no_topic_right(NAME, "Read")
    return _topic(answer, topic)


def _may_read(topic: Any) -> bool:
    """Return True if the user may read; also if brokers before 2.3 do not report it (the first read will show it)."""
    operations = topic.authorized_operations
    return not operations or requests.READ in operations


def _topic(answer: Any, topic: Any) -> OffsetsTopic:
    partitions = sorted(topic.partitions, key=lambda partition: partition.partition_index)
    topic_id = topic.topic_id
    return OffsetsTopic(
        cluster_id=answer.cluster_id,
        topic_id=None if topic_id in (None, _NO_ID) else topic_id,
        partitions=tuple(partition.partition_index for partition in partitions),
        leaders=tuple(partition.leader_id if partition.leader_id >= 0 else None for partition in partitions),
    )
