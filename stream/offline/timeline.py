"""The timeline of one group, from the records of the offsets topic: events with time, position, kind and a sentence.

An event is the meaning of one record, given the previous ones; consecutive commits of a partition that never move back
are one event. Times are the timestamps of the records, in Unix ms. The timeline of a compacted log is incomplete.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Final

from decoders import scalar
from decoders.errors import DecodeError
from decoders.events import OffsetCommitted, RecordEvent, Removed
from decoders.interpret import event_of
from decoders.schema import Record, RecordContent
from stream.offline.rows import OFFSETS_TOPIC, LogRow
from stream.offline.timeline_membership import MembershipTimeline
from stream.wording import count

_REPLACED: Final = "\ufffd"
_MAX_GAP_MS: Final = 3_600_000
"""The maximum time between two commits of a partition in one event."""


@dataclasses.dataclass(frozen=True, slots=True)
class TimelineEvent:
    """One event: time (null: the record has none), offsets partition and offset of its record, kind, and a sentence."""

    time: int | None
    partition: int
    position: int
    kind: str
    text: str


def timeline(rows: Iterable[LogRow], group: str) -> Iterator[TimelineEvent]:
    """Yield the events of a group, in log order."""
    builder = _TimelineBuilder()
    for row in records_of_group(rows, group):
        record = scalar.decode(row.key, row.value)
        if isinstance(record, DecodeError):
            yield from builder.flush()
            text = f"a record of type {record.type} cannot be decoded: {record.reason.value} in {record.field}"
            yield TimelineEvent(row.timestamp, row.partition, row.offset, "unreadable", text)
        else:
            yield from builder.add(row, event_of(record))
    yield from builder.flush()


def records_of_group(rows: Iterable[LogRow], group: str) -> Iterator[LogRow]:
    """Yield the rows of the offsets topic whose key names the group."""
    # Cheaper than decoding: nearly all rows belong to other groups. U+FFFD may stand for bytes that are not UTF-8.
    name = b"" if _REPLACED in group else group.encode("utf-8", "surrogatepass")
    for row in rows:
        if row.topic != OFFSETS_TOPIC or row.key is None or name not in row.key:
            continue
        record = scalar.decode(row.key, None)
        if isinstance(record, Record) and record.key.get("group", record.key.get("group_id")) == group:
            yield row


@dataclasses.dataclass(slots=True)
class _CommitSequence:
    """Commits of one partition whose offsets never decrease."""

    first: LogRow
    last: LogRow
    start: int
    end: int
    commits: int = 1

    def event(self, place: str) -> TimelineEvent:
        if self.commits == 1:
            text = f"{place} committed at {self.end}"
        else:
            moved = f"stays at {self.end}" if self.start == self.end else f"{self.start} to {self.end}"
            text = f"{place} committed {self.commits} times: {moved}"
        return TimelineEvent(self.last.timestamp, self.last.partition, self.last.offset, "committed", text)


class _TimelineBuilder:
    """Turns decoded events of one group into timeline events. Holds the commits that are not yet part of an event."""

    def __init__(self) -> None:
        self._sequences: dict[str, _CommitSequence] = {}
        self._offsets: dict[str, int] = {}
        self._membership = MembershipTimeline()

    def add(self, row: LogRow, event: RecordEvent) -> Iterator[TimelineEvent]:
        """Yield the events that are complete with this record."""
        match event:
            case OffsetCommitted():
                yield from self._add_commit(row, event)
            case Removed() if event.type.content is RecordContent.OFFSET:
                place = f"{event.key['topic']}/{event.key['partition']}"
                yield from self.flush()
                offset = self._offsets.pop(place, None)
                previous = "" if offset is None else f", was {offset}"
                text = (
                    f"{place} removed by the broker (tombstone){previous}: expired, deleted, or its topic was deleted"
                )
                yield TimelineEvent(row.timestamp, row.partition, row.offset, "forgotten", text)
            case _:
                texts = self._membership.add(event)
                if texts:
                    yield from self.flush()
                    for kind, text in texts:
                        yield TimelineEvent(row.timestamp, row.partition, row.offset, kind, text)

    def _add_commit(self, row: LogRow, event: OffsetCommitted) -> Iterator[TimelineEvent]:
        place = f"{event.topic}/{event.partition}"
        previous = self._offsets.get(place)
        self._offsets[place] = event.offset
        if previous is not None and event.offset < previous:
            yield from self.flush()
            step = count(previous - event.offset, "offset", separators=False)
            text = f"{place} rewound from {previous} to {event.offset}: {step} back"
            yield TimelineEvent(row.timestamp, row.partition, row.offset, "rewound", text)
            return
        sequence = self._sequences.get(place)
        if sequence is not None and (row.timestamp or 0) - (sequence.last.timestamp or 0) > _MAX_GAP_MS:
            yield from self.flush()
            sequence = None
        if sequence is None:
            self._sequences[place] = _CommitSequence(row, row, event.offset, event.offset)
        else:
            sequence.last, sequence.end, sequence.commits = row, event.offset, sequence.commits + 1

    def flush(self) -> Iterator[TimelineEvent]:
        """Yield the events of the pending commits, in log order."""
        pending = [sequence.event(place) for place, sequence in self._sequences.items()]
        self._sequences = {}
        yield from sorted(pending, key=lambda event: (event.partition, event.position))
