"""A cluster that returns scripted answers to fetches, with a clock that advances only in pauses."""

import dataclasses
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Final

from sandbox.kafka import log_writer as write
from stream.cluster.transport.errors import ClusterError

TOPIC: Final = "t"
TRANSACTIONAL: Final = 0x10


@dataclasses.dataclass(frozen=True)
class Part:
    """A partition's part of a response."""

    raw: bytes = b""
    error: int = 0
    aborted: tuple[tuple[int, int], ...] = ()
    """(producer id, first offset) of aborted transactions."""
    last_stable: int = 1_000


@dataclasses.dataclass(frozen=True)
class Reply:
    """A response with a part per partition; other partitions are not mentioned."""

    parts: Mapping[int, Part] = dataclasses.field(default_factory=dict)
    error: int = 0
    throttle_ms: int = 0


def only(
    raw: bytes = b"", error: int = 0, aborted: tuple[tuple[int, int], ...] = (), last_stable: int = 1_000
) -> Reply:
    """Return a response with a part of partition 0."""
    return Reply({0: Part(raw, error, aborted, last_stable)})


def batch(at: int, count: int = 1, codec: int = write.NONE, **options: int) -> bytes:
    """Return a batch; the value of each record is its offset."""
    return write.batch(at, [write.Rec(n, n, b"k", b"%d" % (at + n)) for n in range(count)], codec, **options)


def in_transaction(at: int, producer: int, count: int = 1) -> bytes:
    return batch(at, count, attributes=TRANSACTIONAL, producer_id=producer, producer_epoch=0)


@dataclasses.dataclass(frozen=True)
class Asked:
    """A fetch that the cluster received."""

    at: float
    node: int
    positions: dict[int, int]
    epochs: dict[int, int]


class FakeLeader:
    """A cluster whose leaders return these replies, one per request in the order of the requests.

    `leaders` has the leader of each partition, one mapping per metadata request (the last one is kept); an element that
    is a ClusterError is raised. Node -1 means no leader. The epoch of a leader is its number plus 100.
    """

    cluster_id = "own"

    def __init__(
        self,
        replies: Sequence[Reply | ClusterError],
        leaders: Sequence[Mapping[int, int] | ClusterError] = ({0: 1},),
        ends: Sequence[Mapping[int, tuple[int, int] | str] | ClusterError] = (),
    ) -> None:
        self.now = 0.0
        self.asked: list[Asked] = []
        self.lookups = 0
        self._replies = list(replies)
        self._leaders = list(leaders)
        self._ends = list(ends)

    @property
    def positions(self) -> list[dict[int, int]]:
        return [each.positions for each in self.asked]

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds

    def metadata(self, names: Sequence[str]) -> Any:
        assert names == [TOPIC]
        self.lookups += 1
        found = self._leaders.pop(0) if len(self._leaders) > 1 else self._leaders[0]
        if isinstance(found, ClusterError):
            raise found
        partitions = [
            SimpleNamespace(partition_index=partition, leader_id=node, leader_epoch=node + 100)
            for partition, node in found.items()
        ]
        return SimpleNamespace(topics=[SimpleNamespace(name=TOPIC, error_code=0, partitions=partitions)])

    def read_ends(self, _: object, topics: Sequence[str]) -> Any:
        """Return the next ends; replaces `partition_offsets.read_ends`."""
        assert topics == [TOPIC]
        found = self._ends.pop(0)
        if isinstance(found, ClusterError):
            raise found
        rows = [
            {"partition": partition, "error": ends, "log_start_offset": None, "last_stable_offset": None}
            if isinstance(ends, str)
            else {"partition": partition, "error": None, "log_start_offset": ends[0], "last_stable_offset": ends[1]}
            for partition, ends in found.items()
        ]
        return SimpleNamespace(to_pylist=lambda: rows)

    def call_all(self, calls: Sequence[tuple[int, Any]]) -> list[Any]:
        """Return the next reply to each request."""
        return [self._answer(node, request) for node, request in calls]

    def _answer(self, node: int, request: Any) -> Any:
        (topic,) = request.topics
        assert (topic.topic, request.isolation_level, request.max_wait_ms, request.session_epoch) == (TOPIC, 1, 0, -1)
        wanted = {each.partition: each.fetch_offset for each in topic.partitions}
        assert list(wanted) == sorted(wanted)
        epochs = {each.partition: each.current_leader_epoch for each in topic.partitions}
        self.asked.append(Asked(self.now, node, wanted, epochs))
        # Without further replies every partition has an error, so that the limit ends the read.
        reply = self._replies.pop(0) if self._replies else Reply({partition: Part(error=6) for partition in wanted})
        if isinstance(reply, ClusterError):
            return reply
        parts = [_part(partition, part) for partition, part in reply.parts.items()]
        responses = [SimpleNamespace(topic=TOPIC, partitions=parts)] if parts else []
        return SimpleNamespace(error_code=reply.error, throttle_time_ms=reply.throttle_ms, responses=responses)


def _part(partition: int, part: Part) -> Any:
    aborted = [SimpleNamespace(producer_id=producer, first_offset=first) for producer, first in part.aborted]
    known = {"error_code": part.error, "records": part.raw or None, "last_stable_offset": part.last_stable}
    return SimpleNamespace(partition_index=partition, **known, aborted_transactions=aborted)
