"""The records of a topic, fetched in order up to the last stable offset as it was at the start.

Owns the fetch loop: raw Fetch requests without a group, which leave no trace on the cluster, and `read_committed` as
Kafka's own consumer does it: by the broker's list of aborted transactions. One partition after the other. A leader that
moves is looked up again; what does not pass is raised as a ClusterError, after which the reading can be taken up behind
the last record given.
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
_PASSING: Final = frozenset({3, 5, 6, 7, 9, 56, 74, 75, 78, 100})
"""Kafka's error codes that pass: no leader, another leader, another epoch, a leader that is not ready."""


@dataclasses.dataclass(slots=True)
class OffsetRange:
    """What is to be read of one partition: from `position` to before `end`, the last stable offset of the start."""

    partition: int
    position: int
    end: int


@dataclasses.dataclass(frozen=True, slots=True)
class FetchedRecords:
    """Some consecutive committed records of one partition, and where the reading of it stands after them."""

    partition: int
    records: list[LogRecord]
    position: int


def stretches(cluster: Cluster, topic: str, after: Mapping[int, int]) -> list[OffsetRange]:
    """Say what there is to read of each partition: all of it, or what lies behind the offset in `after`.

    Raises ClusterError where any partition's ends are not known, for then the reading would have holes.
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
    """Read these stretches, which move forward with the reading. Raises ClusterError."""
    for stretch in wanted:
        failed = 0
        node = _leader(cluster, topic, stretch.partition)
        while stretch.position < stretch.end:
            fetched = None if node is None else _fetch(cluster, topic, stretch, node)
            if fetched is not None:
                failed = 0
                yield fetched
                continue
            failed += 1
            if failed >= _ATTEMPTS:
                raise Unreachable(f"partition {stretch.partition} of {topic} has no leader", "try again later")
            time.sleep(_PAUSE_SECONDS)
            node = _leader(cluster, topic, stretch.partition)


def _leader(cluster: Cluster, topic: str, partition: int) -> int | None:
    described = cluster.metadata([topic]).topics[0]
    leaders = (each.leader_id for each in described.partitions if each.partition_index == partition)
    return next((leader for leader in leaders if leader >= 0), None)


def _fetch(cluster: Cluster, topic: str, stretch: OffsetRange, node: int) -> FetchedRecords | None:
    """Read on from the leader; None where that may work the next time."""
    request = requests.fetch(topic, stretch.partition, stretch.position, most_bytes=_MOST_BYTES)
    answer = cluster.call(request, node)
    if answer.error_code in _PASSING:
        return None
    part = answer.responses[0].partitions[0] if answer.responses else None
    code = answer.error_code if part is None else part.error_code
    if code == _DENIED:
        raise no_topic_right(topic, "Read")
    if code == requests.OUT_OF_RANGE:
        return _skip_deleted(cluster, topic, stretch)
    if code in _PASSING:
        return None
    if part is None or code:
        where = f"partition {stretch.partition} of {topic}"
        raise Unreachable(f"{where} cannot be read (Kafka error {code})", "look into the broker's log")
    return _take(stretch, part)


def _skip_deleted(cluster: Cluster, topic: str, stretch: OffsetRange) -> FetchedRecords:
    """Go on where the log begins now: retention has deleted what was to be read next."""
    again = {each.partition: each for each in stretches(cluster, topic, {stretch.partition: stretch.position - 1})}
    found = again.get(stretch.partition)
    # A log that ends before the position was cut or made anew: nothing of the stretch is left.
    stretch.position = stretch.end if found is None or found.end < stretch.position else found.position
    return FetchedRecords(stretch.partition, [], stretch.position)


def _take(stretch: OffsetRange, part: Any) -> FetchedRecords:
    """Take the committed records of an answer, and move on."""
    position = stretch.position
    records: list[LogRecord] = []
    try:
        for batch, counts in _outcomes(whole_batches(bytes(part.records or b"")), part.aborted_transactions or ()):
            position = max(position, batch.last_offset + 1)
            if counts:
                records += [each for each in batch.records() if stretch.position <= each.offset < stretch.end]
    except Damaged as fault:
        what = f"a batch of partition {stretch.partition} cannot be read: {fault.detail}"
        raise Malformed(what, "report it with the broker's version") from fault
    # An answer without a batch: compaction took all that was left below the end.
    stretch.position = stretch.end if position == stretch.position else min(position, stretch.end)
    return FetchedRecords(stretch.partition, records, stretch.position)


def whole_batches(raw: bytes) -> Iterator[LogBatch]:
    """Give the whole batches of an answer; brokers cut the last one off wherever the answer is full."""
    at = 0
    while at + MAGIC_AT < len(raw):
        end = at + _FRAME.size + _FRAME.unpack_from(raw, at)[1]
        if end <= at + MAGIC_AT or end > len(raw):
            return
        yield BatchBlock(raw, 0, [at], [end]).batch(0)
        at = end


def _outcomes(batches: Iterable[LogBatch], aborted: Iterable[Any]) -> Iterator[tuple[LogBatch, bool]]:
    """Say of each batch whether its records are committed data.

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
