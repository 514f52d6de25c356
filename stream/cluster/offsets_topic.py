"""The topic `__consumer_offsets`: its id and its partitions, or the error why it cannot be read.

Read before the streaming query starts, which needs a topic that exists and may be read. Never creates the topic: on a
new cluster the first consumer does.
"""

import dataclasses
import uuid
from typing import Final

from stream.cluster.transport import requests
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.connection_errors import no_topic_right
from stream.cluster.transport.errors import Unreachable

NAME: Final = "__consumer_offsets"

_UNKNOWN_TOPIC: Final = 3
_DENIED: Final = 29
NO_ID: Final = uuid.UUID(int=0)


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetsTopic:
    """The topic of one cluster at one moment.

    `topic_id` changes when the topic is deleted and created again; None on brokers before 2.8, which have no topic ids.
    """

    cluster_id: str
    topic_id: uuid.UUID | None
    partitions: tuple[int, ...]


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
    operations = topic.authorized_operations  # none from brokers before 2.3: the first read will show it
    if operations and requests.READ not in operations:
        raise no_topic_right(NAME, "Read")
    topic_id = None if topic.topic_id in (None, NO_ID) else topic.topic_id
    return OffsetsTopic(answer.cluster_id, topic_id, tuple(sorted(each.partition_index for each in topic.partitions)))
