"""The batches of a partition after its last stable offset, which `read_committed` readers do not receive.

Fetches without a group, bounded by bytes and a deadline; the caller interprets the batches. Errors are not raised: a
partition whose leader does not answer is continued at the next call, and a partition whose log no longer has the
position is marked with `position_lost`.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from decoders.log.fetched import FetchedBatches
from stream.cluster.partition_offsets import find_leaders
from stream.cluster.transport import requests
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError, ErrorReason

_ROUND_BYTES: Final = 8 << 20
"""Bytes of one round, shared by the partitions; each gets at least _LEAST_BYTES, and always one whole batch."""
_LEAST_BYTES: Final = 64 << 10


@dataclasses.dataclass(frozen=True, slots=True)
class HiddenPart:
    """What one response adds to a partition: the batches with the offsets from `start` to before `position`."""

    partition: int
    start: int
    position: int
    """The offset to read next."""
    batches: FetchedBatches
    """As of a `read_uncommitted` response: data of transactions is `pending`, other data `visible`."""
    unread: int
    """The offsets from `position` to the high watermark of the response; 0 if the log has no batch there."""
    position_lost: bool = False
    """True if the log no longer has `start`: it was truncated, or created again."""


def read_hidden(
    cluster: Cluster,
    topic: str,
    positions: Mapping[int, int],
    *,
    most_bytes: int,
    clock: Callable[[], float],
    deadline: float,
) -> Iterator[HiddenPart]:
    """Read these partitions of a topic from their positions to their high watermarks, in rounds of one fetch each.

    No round begins after the deadline or after `most_bytes` of batches, except the first. The caller's work between
    two parts counts towards the deadline. Partitions that cannot be read are left out.
    """
    try:
        leaders = find_leaders(cluster, {topic})
    except ClusterError:
        return
    led = {partition: leaders.of(topic, partition) for partition in positions}
    nodes = {partition: leader for partition, leader in led.items() if not isinstance(leader, ErrorReason)}
    next_offsets = {partition: positions[partition] for partition in sorted(nodes)}
    left = most_bytes
    while next_offsets:
        most = max(_ROUND_BYTES // len(next_offsets), _LEAST_BYTES)
        calls = []
        for partition, position in next_offsets.items():
            node, epoch = nodes[partition]
            request = {topic: [(partition, epoch, position)]}
            calls.append((node, requests.fetch(request, most_bytes=most, most_bytes_each=most)))
        unfinished = {}
        for (partition, position), answer in zip(next_offsets.items(), cluster.call_all(calls), strict=True):
            part = _part_of(partition, position, answer)
            if part is None:
                continue
            left -= len(part.batches.block.chunk)
            yield part
            if part.unread and not part.position_lost:
                unfinished[partition] = part.position
        next_offsets = unfinished if left > 0 and clock() < deadline else {}


def _part_of(partition: int, position: int, answer: Any) -> HiddenPart | None:
    """Return what an answer adds; None if it is an error."""
    if isinstance(answer, ClusterError) or not answer.responses:
        return None
    part = answer.responses[0].partitions[0]
    if part.error_code == requests.OUT_OF_RANGE:
        return HiddenPart(partition, position, position, FetchedBatches.read(b""), 0, position_lost=True)
    if part.error_code:
        return None
    batches = FetchedBatches.read(bytes(part.records or b""), last_stable_offset=0)
    after = max(position, batches.next_offset)
    if after == position and batches.fault is not None:
        return None
    return HiddenPart(partition, position, after, batches, max(part.high_watermark - after, 0) if part.records else 0)
