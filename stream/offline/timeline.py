"""The story of one group, told from the records of the offsets topic: what happened when, and why.

Owns the words. A moment is what one record says in the light of those before it; a stretch of commits that only move
forward is one moment. Times are those of the records, Unix ms; a moment of a compacted log tells what is left of it.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from decoders import scalar
from decoders.errors import DecodeError
from decoders.events import OffsetCommitted, OffsetRemoved
from decoders.interpret import events
from decoders.records import Record
from stream.offline.rows import OFFSETS_TOPIC
from stream.offline.timeline_membership import MembershipTimeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from decoders.events import Event
    from stream.offline.rows import TopicRow

_SEPARATE_MS: Final = 3_600_000
"""Commits of one partition further apart than this are moments of their own."""


@dataclasses.dataclass(frozen=True, slots=True)
class TimelineEvent:
    """Something that happened: when, where in the log (offsets partition and offset), what kind, and a sentence."""

    time: int | None
    partition: int
    position: int
    kind: str
    text: str


def timeline(rows: Iterable[TopicRow], group: str) -> Iterator[TimelineEvent]:
    """Tell the story of a group, in the order of the log."""
    teller = _Teller()
    needle = group.encode("utf-8", "surrogatepass")
    for row in rows:
        # Cheaper than decoding: nearly all rows are of other groups.
        if row.topic != OFFSETS_TOPIC or row.key is None or needle not in row.key:
            continue
        record = scalar.decode(row.key, row.value)
        if isinstance(record, DecodeError):
            if _group_of(scalar.decode(row.key, None)) == group:
                yield from teller.flush()
                what = f"a record of type {record.type} cannot be decoded: {record.reason.value} in {record.field}"
                yield TimelineEvent(row.timestamp, row.partition, row.offset, "unreadable", what)
        elif _group_of(record) == group:
            for event in events(record):
                yield from teller.tell(row, event)
    yield from teller.flush()


def _group_of(record: object) -> str | None:
    if not isinstance(record, Record):
        return None
    found = record.key.get("group", record.key.get("group_id"))
    return None if found is None else str(found)


@dataclasses.dataclass(slots=True)
class _Stretch:
    """Commits of one partition, each at or above the one before."""

    first: TopicRow
    last: TopicRow
    start: int
    end: int
    commits: int = 1

    def moment(self, place: str) -> TimelineEvent:
        if self.commits == 1:
            text = f"{place} committed at {self.end}"
        else:
            moved = f"stays at {self.end}" if self.start == self.end else f"{self.start} to {self.end}"
            text = f"{place} committed {self.commits} times: {moved}"
        return TimelineEvent(self.last.timestamp, self.last.partition, self.last.offset, "committed", text)


class _Teller:
    """What is known so far, and the commits that have not been told yet."""

    def __init__(self) -> None:
        self._stretches: dict[str, _Stretch] = {}
        self._offsets: dict[str, int] = {}
        self._story = MembershipTimeline()

    def tell(self, row: TopicRow, event: Event) -> Iterator[TimelineEvent]:
        match event:
            case OffsetCommitted():
                yield from self._commit(row, event)
            case OffsetRemoved():
                place = f"{event.topic}/{event.partition}"
                yield from self.flush()
                offset = self._offsets.pop(place, None)
                was = "" if offset is None else f", which was {offset}"
                text = f"{place} forgotten by the broker (tombstone){was}: expired, deleted, or its topic is gone"
                yield TimelineEvent(row.timestamp, row.partition, row.offset, "forgotten", text)
            case _:
                told = self._story.tell(event)
                if told:
                    yield from self.flush()
                    for kind, text in told:
                        yield TimelineEvent(row.timestamp, row.partition, row.offset, kind, text)

    def _commit(self, row: TopicRow, event: OffsetCommitted) -> Iterator[TimelineEvent]:
        place = f"{event.topic}/{event.partition}"
        before = self._offsets.get(place)
        self._offsets[place] = event.offset
        if before is not None and event.offset < before:
            yield from self.flush()
            text = f"{place} rewound from {before} to {event.offset}: {before - event.offset} offsets back"
            yield TimelineEvent(row.timestamp, row.partition, row.offset, "rewound", text)
            return
        known = self._stretches.get(place)
        if known is not None and _apart(known.last, row):
            yield from self.flush()
            known = None
        if known is None:
            self._stretches[place] = _Stretch(row, row, event.offset, event.offset)
        else:
            known.last, known.end, known.commits = row, event.offset, known.commits + 1

    def flush(self) -> Iterator[TimelineEvent]:
        """Tell the commits so far, in the order of the log."""
        told = [stretch.moment(place) for place, stretch in self._stretches.items()]
        self._stretches = {}
        yield from sorted(told, key=lambda moment: (moment.partition, moment.position))


def _apart(before: TopicRow, after: TopicRow) -> bool:
    return (after.timestamp or 0) - (before.timestamp or 0) > _SEPARATE_MS
