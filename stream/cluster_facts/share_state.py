"""The progress of share groups, folded from the records of `__share_group_state`. Pure.

A share group has no committed offset. Its progress in a partition is a start offset, before which every record is
finished, and batches after it with the state of their records. Records that a member has acquired are in the memory of
the leader only and never in the log. Source: org.apache.kafka.coordinator.share.ShareCoordinatorShard and
PersisterStateBatchCombiner; KIP-932, KIP-1226.
"""

import dataclasses
import enum
from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from decoders.events import RecordEvent, Removed, SharePartitionStateRecorded

SharePartitionKey = tuple[str, bytes, int]
"""Group, topic id and partition."""

MOST_KEPT: Final = 50_000
"""The maximum number of partitions of share groups that are kept, the first that the topic has."""
MOST_BATCHES: Final = 200_000
"""The maximum number of batches of all partitions; a broker keeps at most one per record in flight."""


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
    """None until the first delivery has ended."""
    finished: int | None
    """Records from the start offset on that are acknowledged or archived; None: written by a broker before 4.2."""
    batches: tuple[StateBatch, ...] | None
    """Ordered and without overlaps, none before the start offset. None: too many to keep, not known."""

    @property
    def returned(self) -> int | None:
        """The number of records that were delivered and returned, and wait for another delivery; None: not known."""
        if self.batches is None:
            return None
        return sum(each.last - each.first + 1 for each in self.batches if each.state == DeliveryState.AVAILABLE)

    @property
    def most_deliveries(self) -> int | None:
        """The highest number of deliveries of a returned record; None if there is none, or not known."""
        return max(
            (each.delivery_count for each in self.batches or () if each.state == DeliveryState.AVAILABLE), default=None
        )

    def lag(self, end: int | None) -> int | None:
        """Return the records before `end` that are not finished, as `kafka-share-groups --describe --offsets` does.

        None: not known, or the start offset was set beyond the end, which a broker accepts (Kafka 4.3.1).
        """
        if end is None or self.start_offset is None or self.finished is None or self.start_offset > end:
            return None
        return max(end - self.start_offset - self.finished, 0)


@dataclasses.dataclass(slots=True)
class FinishedRecords:
    """The records that were seen to become finished or to be returned, since the reader began to count."""

    acknowledged: int = 0
    archived: int = 0
    returns: int = 0
    """Deliveries that ended without the record being finished."""


class ShareState:
    """The progress of all share groups, within bounds. Add the records of each partition of the topic in log order.

    Of partitions beyond the bound nothing is kept. Of batches beyond theirs the partition keeps none, until the next
    snapshot of it.
    """

    def __init__(self, most_partitions: int = MOST_KEPT, most_batches: int = MOST_BATCHES) -> None:
        self.partitions: dict[SharePartitionKey, SharePartition] = {}
        self.finished: dict[SharePartitionKey, FinishedRecords] = {}
        self.incomplete: set[str] = set()
        """The kept groups that may have partitions that are not kept."""
        self.omitted = 0
        """The number of records of partitions that are not kept."""
        self._most_partitions = most_partitions
        self._most_batches = most_batches
        self._batches = 0
        # The number of kept partitions by group.
        self._kept: Counter[str] = Counter()

    def add(self, event: RecordEvent) -> None:
        """Add a record."""
        if isinstance(event, Removed):
            self._remove((event.group, event.key["topic_id"], event.key["partition"]))
        elif isinstance(event, SharePartitionStateRecorded):
            key = event.group, event.topic_id, event.partition
            before = self.partitions.get(key)
            if before is None and not self._admit(event.group):
                return
            self.partitions[key] = self._within_bound(before, _changed(before, event))
            counted = self.finished.setdefault(key, FinishedRecords())
            counted.acknowledged += _newly_in(DeliveryState.ACKNOWLEDGED, before, event)
            counted.archived += _newly_in(DeliveryState.ARCHIVED, before, event)
            counted.returns += _newly_in(DeliveryState.AVAILABLE, before, event)

    def _remove(self, key: SharePartitionKey) -> None:
        removed = self.partitions.pop(key, None)
        if removed is None:
            return
        del self.finished[key]
        self._batches -= len(removed.batches or ())
        group = key[0]
        self._kept[group] -= 1
        if not self._kept[group]:
            del self._kept[group]
            self.incomplete.discard(group)

    def _admit(self, group: str) -> bool:
        """Return whether another partition of a group is kept."""
        is_kept = group in self._kept
        if len(self.partitions) >= self._most_partitions:
            self.omitted += 1
            if is_kept:
                self.incomplete.add(group)
            return False
        if self.omitted and not is_kept:
            self.incomplete.add(group)
        self._kept[group] += 1
        return True

    def _within_bound(self, before: SharePartition | None, after: SharePartition) -> SharePartition:
        """Return the new state of a partition, without its batches if these are too many."""
        old = 0 if before is None else len(before.batches or ())
        new = len(after.batches or ())
        if new > old and self._batches - old + new > self._most_batches:
            after, new = dataclasses.replace(after, batches=None), 0
        self._batches += new - old
        return after

    def restart_counts(self) -> None:
        """Set the counts of finished records to 0: what is in the log already is no news."""
        for key in self.finished:
            self.finished[key] = FinishedRecords()


def _changed(before: SharePartition | None, event: SharePartitionStateRecorded) -> SharePartition:
    """Return the state after a record: a snapshot replaces it, an update has what changed."""
    start = None if event.start_offset < 0 else event.start_offset
    batches = tuple(StateBatch(*each) for each in event.batches)
    if event.snapshot or before is None:
        return SharePartition(start, event.delivery_complete_count, _from(start, batches))
    start = before.start_offset if start is None else start
    count = before.finished if event.delivery_complete_count is None else event.delivery_complete_count
    if before.batches is None:
        return SharePartition(start, count, None)
    merged = before.batches
    for each in batches:
        merged = _with_batch(merged, each)
    return SharePartition(start, count, _from(start, merged))


def _from(start: int | None, batches: Iterable[StateBatch]) -> tuple[StateBatch, ...]:
    """Return the parts of the batches at or after the start offset, in order; equal neighbours are one batch."""
    found: list[StateBatch] = []
    for each in sorted(batches):
        if start is None or each.last >= start:
            part = each if start is None else each._replace(first=max(each.first, start))
            if found and found[-1].last + 1 == part.first and found[-1][2:] == part[2:]:
                part = found.pop()._replace(last=part.last)
            found.append(part)
    return tuple(found)


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
    """Return the number of records that a log record moves to a state; a further delivery that is returned counts."""
    start = 0 if before is None or before.start_offset is None else before.start_offset
    known = () if before is None else before.batches
    if known is None:
        if event.snapshot:  # it repeats what was counted already
            return 0
        known = ()
    number = 0
    for first, last, of_batch, deliveries in event.batches:
        if of_batch != state:
            continue
        number += max(last - max(first, start) + 1, 0)
        for each in known:
            if each.state != DeliveryState.AVAILABLE or (state == each.state and deliveries <= each.delivery_count):
                number -= max(min(last, each.last) - max(first, start, each.first) + 1, 0)
    return number
