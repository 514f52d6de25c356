"""The read of many partitions in progress, without I/O: which requests are due, and what their answers mean.

All partitions of a leader are fetched with one request, in ascending order: a broker fills a response in the order of
the request, so one partition after the other is finished. A partition that cannot be read now does not hold up the
others. All times are seconds of a monotonic clock.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from stream.cluster.partition_offsets import Leader
from stream.cluster.records.partition_read import FetchedPart, Lookup, PartitionRead
from stream.cluster.records.ranges import OffsetRange, ReadTally
from stream.cluster.transport.connection_errors import no_topic_right
from stream.cluster.transport.errors import ClusterError, ErrorReason

LIMIT_SECONDS: Final = 120.0
"""The default time without progress after which a read fails: a rolling restart of a cluster takes less per broker."""
_LONGEST_THROTTLE: Final = 60.0
_SHORTEST_PAUSE: Final = 0.01

Ends = tuple[int, int] | str
"""Log start offset and last stable offset of a partition, or the reason why they are unknown."""

FetchCall = tuple[int, list[tuple[int, int, int]]]
"""One request: the node, and (partition, leader epoch, position) in the order of the request."""


class ReadPlan:
    """Reads these ranges of one topic; `limit` is the time without progress after which the read fails."""

    def __init__(self, topic: str, wanted: Iterable[OffsetRange], tally: ReadTally, limit: float) -> None:
        self.topic: Final = topic
        self.tally: Final = tally
        self._limit = limit
        reads = sorted((PartitionRead(topic, each, tally) for each in wanted), key=lambda read: read.partition)
        self._reads = {read.partition: read for read in reads if not read.finished}
        self._node_ready: dict[int, float] = {}

    @property
    def finished(self) -> bool:
        """True if all ranges are read."""
        return not self._reads

    def needing(self, lookup: Lookup, now: float) -> list[int]:
        """Return the partitions that need a look-up now."""
        return [each.partition for each in self._reads.values() if each.needs is lookup and each.retry_at <= now]

    def set_leaders(self, leaders: Mapping[int, Leader], now: float) -> None:
        """Set the leaders of partitions. Raises NotAuthorised if the topic may not be described."""
        for partition, leader in leaders.items():
            if not isinstance(leader, ErrorReason):
                self._reads[partition].set_leader(leader)
            elif leader is ErrorReason.NOT_AUTHORIZED:
                raise no_topic_right(self.topic, "Read")
            else:
                self._reads[partition].retry(now, f"there is no leader ({leader.value})", Lookup.LEADER)

    def set_ends(self, ends: Mapping[int, Ends], now: float) -> None:
        """Set the ends of the logs of partitions. Raises NotAuthorised if the topic may not be read."""
        for partition, known in ends.items():
            if not isinstance(known, str):
                self._reads[partition].set_ends(*known, now)
            elif known == ErrorReason.NOT_AUTHORIZED:
                raise no_topic_right(self.topic, "Read")
            else:
                self._reads[partition].retry(now, f"the ends of its log are unknown ({known})", Lookup.ENDS)
        self._drop_finished()

    def failed(self, partitions: Iterable[int], error: ClusterError, now: float) -> None:
        """Note that a look-up for these partitions failed. Raises the error if it is permanent."""
        for partition in partitions:
            self._reads[partition].fail(error, now)

    def calls(self, now: float) -> list[FetchCall]:
        """Return the requests that are due, one per leader. Raises ClusterError after `limit` without progress."""
        self._give_up(now)
        by_node: dict[int, list[tuple[int, int, int]]] = {}
        for read in self._reads.values():
            if read.leader is not None and read.needs is Lookup.NOTHING and read.retry_at <= now:
                node, epoch = read.leader
                if self._node_ready.get(node, 0.0) <= now:
                    by_node.setdefault(node, []).append((read.partition, epoch, read.position))
        return list(by_node.items())

    def pause(self, now: float) -> float:
        """Return the seconds until something is due, when no request is."""
        due = [
            max(read.retry_at, self._node_ready.get(read.leader[0], 0.0) if read.leader is not None else 0.0)
            for read in self._reads.values()
        ]
        return max(min(due, default=now) - now, _SHORTEST_PAUSE)

    def add(self, calls: Sequence[FetchCall], answers: Sequence[Any], sent: float, now: float) -> list[FetchedPart]:
        """Add the answers to requests that were sent at `sent`; a ClusterError stands for a failed request.

        Raises permanent ClusterErrors.
        """
        parts: list[FetchedPart] = []
        for (node, positions), answer in zip(calls, answers, strict=True):
            reads = [self._reads[partition] for partition, _, _ in positions]
            if isinstance(answer, ClusterError):
                for read in reads:
                    read.fail(answer, now, took=now - sent)
            else:
                # From version 8 of the request on, a broker answers before it throttles (KIP-219).
                self._node_ready[node] = now + min(answer.throttle_time_ms / 1000, _LONGEST_THROTTLE)
                parts += _add_answer(reads, answer, now)
        self._drop_finished()
        return parts

    def _drop_finished(self) -> None:
        self._reads = {partition: read for partition, read in self._reads.items() if not read.finished}

    def _give_up(self, now: float) -> None:
        """End reads without progress when the limit has passed, but not before the other partitions are read."""
        failing = [read for read in self._reads.values() if read.failing_since is not None]
        if len(failing) < len(self._reads):
            return
        for read in failing:
            if read.failing_since is not None and now - read.failing_since >= self._limit:
                read.give_up()
        self._drop_finished()


def _add_answer(reads: Sequence[PartitionRead], answer: Any, now: float) -> list[FetchedPart]:
    by_partition = {part.partition_index: part for topic in answer.responses for part in topic.partitions}
    with_records = {partition for partition, part in by_partition.items() if part.records}
    found: list[FetchedPart] = []
    for read in reads:
        part = by_partition.get(read.partition)
        if part is None and answer.throttle_time_ms and not answer.error_code:
            continue  # the answer to a request above the quota mentions no partition
        if part is None:
            read.omitted(answer.error_code, now)
        elif (added := read.add(part, now, is_alone=with_records <= {read.partition})) is not None:
            found.append(added)
    return found
