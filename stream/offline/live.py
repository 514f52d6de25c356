"""Topics of a live cluster as a source of rows, read without a consumer group."""

import base64
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from stream.cluster.offsets_topic import NO_ID
from stream.cluster.records.ranges import OffsetRange, ReadTally, unread_ranges
from stream.cluster.records.read import read_records
from stream.cluster.transport.client import Cluster
from stream.offline.rows import LogRow, Origin, TopicAndPartition, UnreadableRefusal
from stream.wording import count

UNKNOWN_TOPIC: Final = 3


class LiveTopics:
    """Topics of a cluster, up to their last stable offsets at the start of the read.

    `on_progress` is called regularly with the number of offsets read and the total number.
    """

    def __init__(
        self, cluster: Cluster, topics: Collection[str], on_progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Request the topic ids. Raises ClusterError, and UnreadableRefusal for a topic that does not exist."""
        self.problems: list[str] = []
        self.notes: list[str] = []
        self._cluster = cluster
        self._topics = tuple(topics)
        self._on_progress = on_progress
        described = cluster.metadata(topics).topics
        for topic in described:
            if topic.error_code == UNKNOWN_TOPIC:
                raise UnreadableRefusal(
                    f"the cluster has no topic {topic.name}", "check its name; it is created at first use"
                )
        self.origin: Final = Origin(cluster.cluster_id, {topic.name: _id_text(topic) for topic in described})

    def rows(self, after: Mapping[TopicAndPartition, int] | None = None) -> Iterator[LogRow]:
        """Yield the committed rows, topic by topic, partition by partition. Raises ClusterError."""
        last_offsets = after or {}
        ranges: dict[str, list[OffsetRange]] = {
            topic: unread_ranges(
                self._cluster, topic, {number: last for (name, number), last in last_offsets.items() if name == topic}
            )
            for topic in self._topics
        }
        all_ranges = [each for ranges_of_topic in ranges.values() for each in ranges_of_topic]
        total = _offsets_left(all_ranges)
        for topic, ranges_of_topic in ranges.items():
            tally = ReadTally()
            for fetched in read_records(self._cluster, topic, ranges_of_topic, ahead=True, tally=tally):
                for partition, record in fetched.rows():
                    timestamp = None if record.timestamp == -1 else record.timestamp
                    yield LogRow(topic, partition, record.offset, timestamp, record.key, record.value)
                if self._on_progress:
                    self._on_progress(total - _offsets_left(all_ranges), total)
            self.problems += tally_problems(topic, tally)


def tally_problems(topic: str, tally: ReadTally) -> Iterator[str]:
    """Yield a line for each kind of batch that could not be decoded and of offsets that were not read."""
    for fault, batches in tally.faults.items():
        yield f"{topic}: {count(batches, 'record batch', 'record batches')} cannot be decoded ({fault.value})"
    for reason, offsets in tally.skipped.items():
        yield f"{topic}: {count(offsets, 'offset')} not read ({reason.value})"


def _offsets_left(ranges: Iterable[OffsetRange]) -> int:
    return sum(max(0, each.end - each.position) for each in ranges)


def _id_text(topic: Any) -> str | None:
    """Return the id of a topic as Kafka prints it; None from brokers before 2.8 and for a topic that does not exist."""
    topic_id = topic.topic_id
    if topic_id in (None, NO_ID):
        return None
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
