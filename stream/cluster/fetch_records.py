"""The committed records of a topic, fetched in order up to the last stable offset at the start of the read.

Sends Fetch requests without a group, which change nothing on the cluster, and filters aborted records as Kafka's
`read_committed` consumer does, by the broker's list of aborted transactions. Partitions are read one after the other. A
leader that moves is looked up again. A permanent failure is raised as a ClusterError; a caller can then resume after
the last record returned.
"""

from __future__ import annotations

import dataclasses
import struct
import time
from typing import TYPE_CHECKING, Any, Final

from decoders.log.errors import Damaged
from decoders.log.frames import MAGIC_AT, BatchBlock
from decoders.log.transactions import is_transactional_data, transaction_marker
from stream.cluster.partition_offsets import EndError, read_ends
from stream.cluster.transport import requests
from stream.cluster.transport.connection_errors import no_topic_right
from stream.cluster.transport.errors import Malformed, Unreachable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from decoders.log.batch import LogRecord
    from decoders.log.frames import LogBatch
    from stream.cluster.transport.client import Cluster

_FRAME: Final = struct.Struct(">qi")
_MOST_BYTES: Final = 8 << 20
_ATTEMPTS: Final = 20
_PAUSE_SECONDS: Final = 0.25
_DENIED: Final = 29
_RETRIABLE: Final = frozenset({3, 5, 6, 7, 9, 56, 74, 75, 78, 100})
"""Kafka's retriable error codes: no leader, another leader, another epoch, a leader that is not ready."""


@dataclasses.dataclass(slots=True)
class OffsetRange:
    """The offsets to read of one partition: from `position` to before `end`, the last stable offset at the start."""

    partition: int
    position: int
    end: int


@dataclasses.dataclass(frozen=True, slots=True)
class FetchedRecords:
    """Consecutive committed records of one partition, and the position after them."""

    partition: int
    records: list[LogRecord]
    position: int


def unread_ranges(cluster: Cluster, topic: str, after: Mapping[int, int]) -> list[OffsetRange]:
    """Return the offsets to read of each partition: the whole log, or the part after the partition's offset in `after`.

    Raises ClusterError if the end offsets of any partition are unknown, because the read would then be incomplete.
    """
    found = []
    for row in read_ends(cluster, [topic]).to_pylist():
        if row["error"] == EndError.NOT_AUTHORIZED:
            raise no_topic_right(topic, "Read")
        if row["error"] is not None:
            where = topic if row["partition"] < 0 else f"partition {row['partition']} of {topic}"
            raise Unreachable(f"{where} cannot be read ({row['error']})", "check the topic's name and its brokers")
        start = max(row["log_start_offset"], after.get(row["partition"], -1) + 1)
        found.append(OffsetRange(row["partition"], start, row["last_stable_offset"]))
    return found


def read_records(cluster: Cluster, topic: str, wanted: Iterable[OffsetRange]) -> Iterator[FetchedRecords]:
    """Read these ranges and advance their positions. Raises ClusterError."""
    for wanted_range in wanted:
        failures = 0
        node = _leader(cluster, topic, wanted_range.partition)
        while wanted_range.position < wanted_range.end:
            fetched = None if node is None else _fetch(cluster, topic, wanted_range, node)
            if fetched is not None:
                failures = 0
                yield fetched
                continue
            failures += 1
            if failures >= _ATTEMPTS:
                raise Unreachable(f"partition {wanted_range.partition} of {topic} has no leader", "try again later")
            time.sleep(_PAUSE_SECONDS)
            node = _leader(cluster, topic, wanted_range.partition)


def _leader(cluster: Cluster, topic: str, partition: int) -> int | None:
    described = cluster.metadata([topic]).topics[0]
    leaders = (each.leader_id for each in described.partitions if each.partition_index == partition)
    return next((leader for leader in leaders if leader >= 0), None)


def _fetch(cluster: Cluster, topic: str, wanted_range: OffsetRange, node: int) -> FetchedRecords | None:
    """Fetch the next records from the leader; None if the error is retriable."""
    request = requests.fetch(topic, wanted_range.partition, wanted_range.position, most_bytes=_MOST_BYTES)
    answer = cluster.call(request, node)
    if answer.error_code in _RETRIABLE:
        return None
    part = answer.responses[0].partitions[0] if answer.responses else None
    code = answer.error_code if part is None else part.error_code
    if code == _DENIED:
        raise no_topic_right(topic, "Read")
    if code == requests.OUT_OF_RANGE:
        return _skip_deleted(cluster, topic, wanted_range)
    if code in _RETRIABLE:
        return None
    if part is None or code:
        where = f"partition {wanted_range.partition} of {topic}"
        raise Unreachable(f"{where} cannot be read (Kafka error {code})", "see the broker's log")
    return _committed_records(wanted_range, part)


def _skip_deleted(cluster: Cluster, topic: str, wanted_range: OffsetRange) -> FetchedRecords:
    """Continue at the log start offset: retention has deleted the records at the position."""
    current = {
        each.partition: each
        for each in unread_ranges(cluster, topic, {wanted_range.partition: wanted_range.position - 1})
    }
    found = current.get(wanted_range.partition)
    # A log that ends before the position was truncated or created again: nothing of the range is left.
    wanted_range.position = wanted_range.end if found is None or found.end < wanted_range.position else found.position
    return FetchedRecords(wanted_range.partition, [], wanted_range.position)


def _committed_records(wanted_range: OffsetRange, part: Any) -> FetchedRecords:
    """Return the committed records of an answer and advance the position."""
    position = wanted_range.position
    records: list[LogRecord] = []
    try:
        for batch, is_committed in _outcomes(
            whole_batches(bytes(part.records or b"")), part.aborted_transactions or ()
        ):
            position = max(position, batch.last_offset + 1)
            if is_committed:
                records += [each for each in batch.records() if wanted_range.position <= each.offset < wanted_range.end]
    except Damaged as fault:
        what = f"a batch of partition {wanted_range.partition} cannot be read: {fault.detail}"
        raise Malformed(what, "report it with the broker's version") from fault
    # An answer without a batch: compaction removed everything that was left below the end.
    wanted_range.position = wanted_range.end if position == wanted_range.position else min(position, wanted_range.end)
    return FetchedRecords(wanted_range.partition, records, wanted_range.position)


def whole_batches(raw: bytes) -> Iterator[LogBatch]:
    """Yield the complete batches of an answer; a broker may truncate the last one at the size limit."""
    at = 0
    while at + MAGIC_AT < len(raw):
        end = at + _FRAME.size + _FRAME.unpack_from(raw, at)[1]
        if end <= at + MAGIC_AT or end > len(raw):
            return
        yield BatchBlock(raw, 0, [at], [end]).batch(0)
        at = end


def _outcomes(batches: Iterable[LogBatch], aborted: Iterable[Any]) -> Iterator[tuple[LogBatch, bool]]:
    """Yield each batch with True if its records are committed data.

    Source: org.apache.kafka.clients.consumer.internals.CompletedFetch#nextFetchedRecord.
    """
    waiting = sorted(((each.first_offset, each.producer_id) for each in aborted), reverse=True)
    aborting: set[int] = set()
    for batch in batches:
        while waiting and waiting[-1][0] <= batch.last_offset:
            aborting.add(waiting.pop()[1])
        if batch.is_control:
            marker = transaction_marker(batch)
            if marker is not None and not marker.committed:
                aborting.discard(batch.producer_id)
            yield batch, False
        else:
            yield batch, not (is_transactional_data(batch) and batch.producer_id in aborting)
