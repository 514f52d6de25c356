"""The batches of a partition behind its last stable offset, which readers of committed records are not given.

Owns the fetching, without a group and bounded by a deadline; what the batches mean is decided by who asked. Errors are
no exceptions here: a partition whose leader does not answer is read on at the next call, and one whose log does not
have the position any more is given up.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from decoders.log.errors import Damaged
from decoders.log.transactions import is_transactional_data, transaction_marker
from stream.cluster.fetch_records import whole_batches
from stream.cluster.leaders import find_leaders
from stream.cluster.transport import requests
from stream.cluster.transport.error_codes import ErrorReason
from stream.cluster.transport.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from decoders.log.batch import LogRecord
    from decoders.log.frames import LogBatch
    from stream.cluster.transport.client import Cluster

_MOST_BYTES: Final = 8 << 20
"""Of one turn, shared by the partitions; each gets at least the least, and of one batch all of it."""
_LEAST_BYTES: Final = 64 << 10


@dataclasses.dataclass(frozen=True, slots=True)
class HiddenBatch:
    """One batch: records, or the marker that ends a transaction."""

    records: tuple[LogRecord, ...] = ()
    producer_id: int | None = None
    """Whose transaction the records belong to, or the marker ends; None: of no transaction."""
    committed: bool | None = None
    """How the marker ended the transaction; None: this is no marker."""


@dataclasses.dataclass(slots=True)
class HiddenRead:
    """What was read of one partition: batches in log order, and the offset to read next."""

    position: int
    batches: list[HiddenBatch] = dataclasses.field(default_factory=list)
    complete: bool = False
    """There was nothing more behind it."""
    gone: bool = False
    """The log does not have the position any more: it was cut, or made anew."""


def read_hidden(
    cluster: Cluster, topic: str, positions: Mapping[int, int], *, clock: Callable[[], float], deadline: float
) -> dict[int, HiddenRead]:
    """Read these partitions of a topic on from their positions to their high watermarks, in turns of one fetch each.

    No turn begins after the deadline but the first. Partitions that could not be asked are not in the answer.
    """
    try:
        leaders = find_leaders(cluster, {topic})
    except ClusterError:
        return {}
    led = {partition: leaders.of(topic, partition) for partition in positions}
    nodes = {partition: leader for partition, leader in led.items() if not isinstance(leader, ErrorReason)}
    found: dict[int, HiddenRead] = {}
    open_ = sorted(nodes)
    while open_:
        calls = []
        most = max(_MOST_BYTES // len(open_), _LEAST_BYTES)
        for partition in open_:
            at = found[partition].position if partition in found else positions[partition]
            node, epoch = nodes[partition]
            request = {topic: [(partition, epoch, at)]}
            calls.append((node, requests.fetch_tails(request, most_bytes=most, most_bytes_each=most)))
        more = []
        for partition, answer in zip(open_, cluster.call_all(calls), strict=True):
            read = found.get(partition) or HiddenRead(positions[partition])
            if _take(read, answer):
                found[partition] = read
                if not (read.complete or read.gone):
                    more.append(partition)
        open_ = more if clock() < deadline else []
    return found


def _take(read: HiddenRead, answer: Any) -> bool:
    """Take one answer; return whether it was one."""
    if isinstance(answer, ClusterError) or not answer.responses:
        return False
    part = answer.responses[0].partitions[0]
    if part.error_code == requests.OUT_OF_RANGE:
        read.gone = True
        return True
    if part.error_code:
        return False
    before = read.position
    try:
        for batch in whole_batches(bytes(part.records or b"")):
            read.batches += _seen(batch, before)
            read.position = max(read.position, batch.last_offset + 1)
    except Damaged:
        return False
    read.complete = read.position == before
    return True


def _seen(batch: LogBatch, position: int) -> Iterator[HiddenBatch]:
    """Give what a batch says; nothing if all of it lies before the position."""
    if batch.last_offset < position:
        return
    if batch.is_control:
        marker = transaction_marker(batch)
        if marker is not None:
            yield HiddenBatch(producer_id=batch.producer_id, committed=marker.committed)
        return
    records = tuple(record for record in batch.records() if record.offset >= position)
    yield HiddenBatch(records, batch.producer_id if is_transactional_data(batch) else None)
