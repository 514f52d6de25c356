"""The ends of partition logs: the last record of data before markers and aborted records, which consumers skip.

Fetches a few offsets before the high watermark, of many partitions at once, without a group; bounded in bytes and in
time. Needs the right to read the topic. Errors are values. The caller decides which partitions are read, and when.

Data is a record outside transactions, a record of a committed transaction, and a record of an open transaction, which
is unread and may become readable. A record of an aborted transaction does not count as data, although a
`read_uncommitted` consumer receives it: no client waits for it, and for a `read_committed` group it would be a lag that
never ends. The marker of a transaction follows its records, so a reader up to the high watermark needs no list of
aborted transactions.
"""

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from decoders.log.batch import RecordBatch
from decoders.log.control import BatchOutcome, TransactionMarkers, is_transactional_data
from decoders.log.errors import Damaged
from decoders.log.fetched import FetchedBatches, times_of_all
from decoders.log.files import LogBatch
from stream.cluster.partition_offsets import Leader, Leaders, find_leaders
from stream.cluster.transport import errors as reasons
from stream.cluster.transport import requests
from stream.cluster.transport.client import Cluster
from stream.cluster.transport.errors import ClusterError, ErrorReason

_EACH_AT_FIRST: Final = 32 << 10
"""Markers are 78 bytes, and most tails consist only of markers, so the first fetch is small."""
_EACH_ALONE: Final = 1 << 20
_AT_ONCE: Final = 500
_ROUNDS: Final = 8


@dataclasses.dataclass(frozen=True, slots=True)
class TailRequest:
    """A range of offsets up to the high watermark `end` of its partition."""

    topic: str
    partition: int
    data_from: int
    end: int
    with_times: bool = False
    """The times of the first records are wanted, too."""


@dataclasses.dataclass(frozen=True, slots=True)
class TailRead:
    """The result of one tail. `data_end` is 1 + the offset of the last record of data, `data_from` if there is none.

    None with a `reason`: the tail could not be read. None without: it was not read to its end in time, or the log no
    longer has the position.
    """

    wanted: TailRequest
    data_end: int | None = None
    reason: ErrorReason | None = None
    times: NDArray[np.int64] = dataclasses.field(default_factory=lambda: np.empty((2, 0), np.int64), compare=False)
    """Offset and time (ms) of each record from `data_from` on that compaction has left, as far as one answer has it."""


class _PendingTail:
    """A tail whose read is in progress."""

    def __init__(self, wanted: TailRequest, leader: Leader) -> None:
        self.wanted = wanted
        self.position = wanted.data_from
        self.batches: list[LogBatch] = []
        self.fetched: FetchedBatches | None = None
        """The first answer with records."""
        self.node, self.epoch = (-1, -1) if isinstance(leader, ErrorReason) else leader
        self.read = TailRead(wanted, reason=leader) if isinstance(leader, ErrorReason) else None

    def add(self, part: Any, *, alone: bool) -> int:
        """Add a leader's answer and return its size in bytes. With `alone`, an empty answer ends the read."""
        if part.error_code:
            moved = part.error_code == requests.OUT_OF_RANGE
            self.end(reason=None if moved else reasons.of_code(part.error_code))
            return 0
        raw = bytes(part.records or b"")
        previous = self.position
        fetched = FetchedBatches.read(raw)
        self.batches += fetched.block.batches()
        self.position = max(self.position, fetched.next_offset)
        try:
            if fetched.fault is not None:
                raise fetched.fault
            if self.wanted.with_times and self.fetched is None and len(fetched.base_offset):
                self.fetched = fetched
            if self.position >= self.wanted.end or (alone and self.position == previous):
                self.end(data_end=data_end(self.batches, self.wanted))
        except Damaged:
            self.end(reason=ErrorReason.OTHER)
        return len(raw)

    def end(self, *, data_end: int | None = None, reason: ErrorReason | None = None) -> None:
        """Set the result and release the batches."""
        self.read = TailRead(self.wanted, data_end, reason)
        self.batches = []


def read_tails(
    cluster: Cluster,
    wanted: Sequence[TailRequest],
    leaders: Leaders | None = None,
    *,
    most_bytes: int = 16 << 20,
    seconds: float = 2.0,
    clock: Callable[[], float] = time.monotonic,
) -> list[TailRead]:
    """Read these tails (no partition twice) and return one result each, in the same order.

    The `leaders` are requested if they are not given.
    No request is sent after `most_bytes` were received or `seconds` have passed; the limits can be exceeded by one
    batch and by one request time-out. Raises ClusterError only when no broker answers at all.
    """
    leaders = find_leaders(cluster, {each.topic for each in wanted}) if leaders is None else leaders
    readings = [_PendingTail(each, leaders.of(each.topic, each.partition)) for each in wanted]
    deadline, left = clock() + seconds, most_bytes
    for number in range(_ROUNDS):
        open_ = [reading for reading in readings if reading.read is None]
        if not open_ or left <= 0 or (number and clock() >= deadline):
            break
        left -= _round(cluster, open_, alone=number > 0, most_bytes=left)
    return _with_times([reading.read or _unfinished(reading) for reading in readings], readings)


def _unfinished(reading: _PendingTail) -> TailRead:
    """Return the result of a tail that was not read to its end.

    If a record outside transactions was read, everything after it may be data too.
    """
    certain = any(
        not batch.is_control and not is_transactional_data(batch) and batch.last_offset >= reading.wanted.data_from
        for batch in reading.batches
    )
    return TailRead(reading.wanted, reading.wanted.end if certain else None)


def data_end(batches: Sequence[LogBatch], wanted: TailRequest) -> int:
    """Return 1 + the offset of the last record of data in a whole tail. Raises Damaged."""
    markers = TransactionMarkers()
    for batch in batches:
        markers.add(batch)
    for batch in reversed(batches):
        if batch.is_control or batch.base_offset >= wanted.end:
            continue
        if is_transactional_data(batch) and markers.outcome(batch) is BatchOutcome.ABORTED:
            continue
        after = _last_record(batch) + 1
        if after > wanted.data_from:
            return min(after, wanted.end)
    return wanted.data_from


def _with_times(reads: list[TailRead], readings: Sequence[_PendingTail]) -> list[TailRead]:
    """Return these reads with the times of the requests that want them; damaged records are an error."""
    at = [number for number, each in enumerate(reads) if each.wanted.with_times and each.data_end is not None]
    fetched = [(number, found) for number in at if (found := readings[number].fetched) is not None]
    for (number, _), times in zip(fetched, times_of_all([found for _, found in fetched]), strict=True):
        wanted = reads[number].wanted
        if isinstance(times, Damaged):
            reads[number] = TailRead(wanted, reason=ErrorReason.OTHER)
        else:
            first = np.searchsorted(times[0], wanted.data_from)
            reads[number] = dataclasses.replace(reads[number], times=times[:, first:])
    return reads


def _last_record(batch: LogBatch) -> int:
    """Return the offset of the last record in a batch: compaction removes records but keeps the batch's offsets."""
    if not isinstance(batch, RecordBatch) or batch.record_count == batch.last_offset_delta + 1:
        return batch.last_offset
    return max((record.offset for record in batch.records()), default=-1)


def _round(cluster: Cluster, readings: Sequence[_PendingTail], *, alone: bool, most_bytes: int) -> int:
    """Fetch the next part of each tail; return the number of bytes received."""
    batches = list(_shares(readings, 1 if alone else _AT_ONCE, most_bytes))
    each = _EACH_ALONE if alone else _EACH_AT_FIRST
    calls = [(some[0].node, _request(some, most_bytes=most_bytes, each=each)) for some in batches]
    received = 0
    for some, answer in zip(batches, cluster.call_all(calls), strict=True):
        if isinstance(answer, ClusterError):
            for reading in some:
                reading.end(reason=reasons.of_failure(answer))
            continue
        parts = {(each.topic, part.partition_index): part for each in answer.responses for part in each.partitions}
        for reading in some:
            part = parts.get((reading.wanted.topic, reading.wanted.partition))
            if part is not None:
                received += reading.add(part, alone=alone)
            elif alone:
                reading.end(reason=reasons.of_code(answer.error_code) or ErrorReason.OTHER)
    return received


def _shares(readings: Sequence[_PendingTail], most: int, most_bytes: int) -> Iterator[list[_PendingTail]]:
    """Group the tails by leader into requests; with one tail per request, only as many as `most_bytes` allows."""
    of_node: dict[int, list[_PendingTail]] = {}
    for reading in readings[: max(1, most_bytes // _EACH_ALONE)] if most == 1 else readings:
        of_node.setdefault(reading.node, []).append(reading)
    for of_leader in of_node.values():
        for start in range(0, len(of_leader), most):
            yield of_leader[start : start + most]


def _request(readings: Sequence[_PendingTail], *, most_bytes: int, each: int) -> Any:
    positions: dict[str, list[tuple[int, int, int]]] = {}
    for reading in readings:
        row = (reading.wanted.partition, reading.epoch, reading.position)
        positions.setdefault(reading.wanted.topic, []).append(row)
    return requests.fetch(positions, most_bytes=most_bytes, most_bytes_each=each)
