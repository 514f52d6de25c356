"""The progress of share groups, folded from the records of `__share_group_state`. Pure.

A share group has no committed offset. Its progress in a partition is a start offset, before which every record is
finished, and batches after it with the state of their records. Records that a member has acquired are in the memory of
the leader only and never in the log. Source: org.apache.kafka.coordinator.share.ShareCoordinatorShard and
PersisterStateBatchCombiner; KIP-932, KIP-1226.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING, NamedTuple

from decoders.cluster_events import SharePartitionStateRecorded, SharePartitionStateRemoved

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from decoders.events import Event

SharePartitionKey = tuple[str, bytes, int]
"""Group, topic id and partition."""


class DeliveryState(enum.IntEnum):
    """The state of records in the log (org.apache.kafka.server.share.fetch.RecordState)."""

    AVAILABLE = 0
    """A delivery was returned: released, or the lock of its member has expired."""
    ACKNOWLEDGED = 2
    ARCHIVED = 4
    """Rejected, or delivered as often as allowed without an acknowledgement."""


class StateBatch(NamedTuple):
    """Consecutive offsets in one state, both ends included."""

    first: int
    last: int
    state: int
    delivery_count: int


@dataclasses.dataclass(frozen=True, slots=True)
class SharePartition:
    """The progress of a share group in one partition."""

    start_offset: int | None
    """None until the first delivery."""
    finished: int | None
    """Records from the start offset on that are acknowledged or archived; None: written by a broker before 4.2."""
    batches: tuple[StateBatch, ...]
    """Ordered and without overlaps, none before the start offset."""

    @property
    def returned(self) -> int:
        """The number of records that were delivered and returned, and wait for another delivery."""
        return sum(each.last - each.first + 1 for each in self.batches if each.state == DeliveryState.AVAILABLE)

    @property
    def most_deliveries(self) -> int | None:
        """The highest number of deliveries of a returned record; None if there is none."""
        return max(
            (each.delivery_count for each in self.batches if each.state == DeliveryState.AVAILABLE), default=None
        )

    def lag(self, end: int | None) -> int | None:
        """Return the records before `end` that are not finished, as `kafka-share-groups --describe --offsets` does."""
        if end is None or self.start_offset is None or self.finished is None:
            return None
        return max(end - self.start_offset - self.finished, 0)


@dataclasses.dataclass(slots=True)
class FinishedRecords:
    """The records that were seen to become finished, since the reader began to count."""

    acknowledged: int = 0
    archived: int = 0


class ShareState:
    """The progress of all share groups. Add the records of each partition of the topic in the order of the log."""

    def __init__(self) -> None:
        self.partitions: dict[SharePartitionKey, SharePartition] = {}
        self.finished: dict[SharePartitionKey, FinishedRecords] = {}

    def add(self, event: Event) -> None:
        """Add a record."""
        if isinstance(event, SharePartitionStateRemoved):
            self.partitions.pop((event.group, event.topic_id, event.partition), None)
            self.finished.pop((event.group, event.topic_id, event.partition), None)
        elif isinstance(event, SharePartitionStateRecorded):
            key = event.group, event.topic_id, event.partition
            before = self.partitions.get(key)
            after = _changed(before, event)
            self.partitions[key] = after
            counted = self.finished.setdefault(key, FinishedRecords())
            counted.acknowledged += _newly_in(DeliveryState.ACKNOWLEDGED, before, event)
            counted.archived += _newly_in(DeliveryState.ARCHIVED, before, event)

    def restart_counts(self) -> None:
        """Set the counts of finished records to 0: what is in the log already is no news."""
        for key in self.finished:
            self.finished[key] = FinishedRecords()


def _changed(before: SharePartition | None, event: SharePartitionStateRecorded) -> SharePartition:
    """Return the state after a record: a snapshot replaces it, an update has what changed."""
    start = None if event.start_offset < 0 else event.start_offset
    batches = tuple(StateBatch(*each) for each in event.batches)
    if event.snapshot or before is None:
        return SharePartition(start, event.delivery_complete_count, tuple(_from(start, batches)))
    start = before.start_offset if start is None else start
    count = before.finished if event.delivery_complete_count is None else event.delivery_complete_count
    merged = before.batches
    for each in batches:
        merged = _with_batch(merged, each)
    return SharePartition(start, count, tuple(_from(start, merged)))


def _from(start: int | None, batches: Iterable[StateBatch]) -> Iterator[StateBatch]:
    """Yield the parts of the batches at or after the start offset, in order."""
    for each in sorted(batches):
        if start is None or each.last >= start:
            yield each if start is None else each._replace(first=max(each.first, start))


def _with_batch(batches: tuple[StateBatch, ...], new: StateBatch) -> tuple[StateBatch, ...]:
    """Return the batches with another one. Where two overlap, more deliveries win, and then the later state."""
    found, position = [], new.first
    for each in batches:
        first, last = max(each.first, new.first), min(each.last, new.last)
        if first > last:
            found.append(each)
            continue
        if each.first < first:
            found.append(each._replace(last=first - 1))
        if position < first:
            found.append(new._replace(first=position, last=first - 1))
        winner = max(each, new, key=lambda batch: (batch.delivery_count, batch.state))
        found.append(winner._replace(first=first, last=last))
        if each.last > last:
            found.append(each._replace(first=last + 1))
        position = last + 1
    if position <= new.last:
        found.append(new._replace(first=position))
    return tuple(sorted(found))


def _newly_in(state: DeliveryState, before: SharePartition | None, event: SharePartitionStateRecorded) -> int:
    """Return the number of records that a log record moves to a final state."""
    start = 0 if before is None or before.start_offset is None else before.start_offset
    known = () if before is None else before.batches
    number = 0
    for first, last, of_batch, _ in event.batches:
        if of_batch != state:
            continue
        number += max(last - max(first, start) + 1, 0)
        for each in known:
            if each.state in {DeliveryState.ACKNOWLEDGED, DeliveryState.ARCHIVED}:
                number -= max(min(last, each.last) - max(first, start, each.first) + 1, 0)
    return number
