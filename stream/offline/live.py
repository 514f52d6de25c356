"""A live topic as a source of rows: what stands in it now, read without a group and without a trace."""

from __future__ import annotations

import base64
import uuid
from typing import TYPE_CHECKING, Any, Final

from stream.cluster.fetch_records import read_records, stretches
from stream.offline.rows import Origin, TopicRow, UnreadableRefusal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from stream.cluster.fetch_records import OffsetRange
    from stream.cluster.transport.client import Cluster
    from stream.offline.rows import TopicAndPartition

_NO_ID: Final = uuid.UUID(int=0)
_UNKNOWN_TOPIC: Final = 3


class LiveTopics:
    """Topics of a cluster, up to their last stable offsets when the reading begins.

    `on_progress` is told, now and then, how many offsets lie behind and how many there are in all.
    """

    def __init__(
        self, cluster: Cluster, topics: Collection[str], on_progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Ask for the topics' ids. Raises ClusterError, and UnreadableRefusal for a topic that is not there."""
        self.problems: list[str] = []
        self.notes: list[str] = []
        self._cluster = cluster
        self._topics = tuple(topics)
        self._on_progress = on_progress
        described = cluster.metadata(topics).topics
        for topic in described:
            if topic.error_code == _UNKNOWN_TOPIC:
                raise UnreadableRefusal(
                    f"the cluster has no topic {topic.name}", "check its name: it is made at first use"
                )
        self._origin = Origin(cluster.cluster_id, {topic.name: _id_text(topic) for topic in described})

    @property
    def origin(self) -> Origin:
        """Whose records they are."""
        return self._origin

    def rows(self, after: Mapping[TopicAndPartition, int] | None = None) -> Iterator[TopicRow]:
        """Give the committed rows, topic by topic, partition by partition. Raises ClusterError."""
        known = after or {}
        wanted: dict[str, list[OffsetRange]] = {
            topic: stretches(
                self._cluster, topic, {number: last for (name, number), last in known.items() if name == topic}
            )
            for topic in self._topics
        }
        every = [stretch for mine in wanted.values() for stretch in mine]
        total = sum(max(0, stretch.end - stretch.position) for stretch in every)
        for topic, mine in wanted.items():
            for fetched in read_records(self._cluster, topic, mine):
                for record in fetched.records:
                    timestamp = None if record.timestamp == -1 else record.timestamp
                    yield TopicRow(topic, fetched.partition, record.offset, timestamp, record.key, record.value)
                if self._on_progress:
                    self._on_progress(total - sum(max(0, each.end - each.position) for each in every), total)


def _id_text(topic: Any) -> str | None:
    """Give a topic's id as Kafka prints it; None from brokers before 2.8 and for a topic that is not there."""
    known = topic.topic_id
    if known in (None, _NO_ID):
        return None
    return base64.urlsafe_b64encode(known.bytes).decode().rstrip("=")
