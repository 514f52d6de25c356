"""The batches of a partition after its last stable offset, which `read_committed` readers do not receive.

Fetches without a group, bounded by a deadline; the caller interprets the batches. Errors are not raised: a partition
whose leader does not answer is continued at the next call, and a partition whose log no longer has the position is
marked with `position_lost`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from decoders.log.errors import Damaged
from decoders.log.fetched import FetchedBatches
from decoders.log.transactions import is_transactional_data, transaction_marker
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
"""Bytes of one round, shared by the partitions; each gets at least _LEAST_BYTES, and always one whole batch."""
_LEAST_BYTES: Final = 64 << 10


@dataclasses.dataclass(frozen=True, slots=True)
class HiddenBatch:
    """One batch: records, or the marker that ends a transaction."""

    records: tuple[LogRecord, ...] = ()
    producer_id: int | None = None
    """The producer of the transaction that the records belong to or the marker ends; None: no transaction."""
    committed: bool | None = None
    """True if the marker committed the transaction, False if it aborted it; None: not a marker."""


@dataclasses.dataclass(slots=True)
class HiddenRead:
    """The batches read of one partition, in log order, and the offset to read next."""

    position: int
    batches: list[HiddenBatch] = dataclasses.field(default_factory=list)
    complete: bool = False
    """True if the log has no batch after them."""
    position_lost: bool = False
    """True if the log no longer has the position: it was truncated, or created again."""


def read_hidden(
    cluster: Cluster, topic: str, positions: Mapping[int, int], *, clock: Callable[[], float], deadline: float
) -> dict[int, HiddenRead]:
    """Read these partitions of a topic from their positions to their high watermarks, in rounds of one fetch each.

    Only the first round may begin after the deadline. Partitions that could not be read are not in the result.
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
            calls.append((node, requests.fetch(request, most_bytes=most, most_bytes_each=most)))
        more = []
        for partition, answer in zip(open_, cluster.call_all(calls), strict=True):
            read = found.get(partition) or HiddenRead(positions[partition])
            if _add_answer(read, answer):
                found[partition] = read
                if not (read.complete or read.position_lost):
                    more.append(partition)
        open_ = more if clock() < deadline else []
    return found


def _add_answer(read: HiddenRead, answer: Any) -> bool:
    """Add one answer to the read; return False if it is an error."""
    if isinstance(answer, ClusterError) or not answer.responses:
        return False
    part = answer.responses[0].partitions[0]
    if part.error_code == requests.OUT_OF_RANGE:
        read.position_lost = True
        return True
    if part.error_code:
        return False
    previous_position = read.position
    fetched = FetchedBatches.read(bytes(part.records or b""))
    if fetched.fault is not None:
        return False
    try:
        for batch in fetched.block.batches():
            read.batches += _hidden_batches(batch, previous_position)
            read.position = max(read.position, batch.last_offset + 1)
    except Damaged:
        return False
    read.complete = read.position == previous_position
    return True


def _hidden_batches(batch: LogBatch, position: int) -> Iterator[HiddenBatch]:
    """Yield the part of a batch from the position on; nothing if all of it is before."""
    if batch.last_offset < position:
        return
    if batch.is_control:
        marker = transaction_marker(batch)
        if marker is not None:
            yield HiddenBatch(producer_id=batch.producer_id, committed=marker.committed)
        return
    records = tuple(record for record in batch.records() if record.offset >= position)
    yield HiddenBatch(records, batch.producer_id if is_transactional_data(batch) else None)
