"""The indexes beside a segment: `.index` (offset -> position) and `.timeindex`.

They have no checksums, and a sequential reader does not need them; `decoders.log.lookup` therefore uses them only as
hints. Offset and time index are preallocated with zeros while their segment is active: the entries end where they stop
ascending.

Source: org.apache.kafka.storage.internals.log.OffsetIndex and TimeIndex.
"""

from __future__ import annotations

import bisect
import dataclasses
import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from decoders.log.files import read_small

if TYPE_CHECKING:
    from pathlib import Path

_OFFSET_SLOT: Final = struct.Struct(">ii")
_TIME_SLOT: Final = struct.Struct(">qi")


class OffsetEntry(NamedTuple):
    """The last offset of a batch (the first one if written by Kafka 1.1 or older) and its position in the segment."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """The largest timestamp (ms) of the segment so far, and the last offset of the batch that has it."""

    timestamp: int
    offset: int


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetIndex:
    """An `.index` file: its valid entries, in ascending order."""

    base_offset: int
    entries: tuple[OffsetEntry, ...]

    @classmethod
    def read(cls, path: Path, base_offset: int) -> OffsetIndex:
        """Read the index of the segment with this base offset; any content is accepted. Raises OSError."""
        raw = read_small(path)
        entries: list[OffsetEntry] = []
        for relative, position in _OFFSET_SLOT.iter_unpack(_whole_slots(raw, _OFFSET_SLOT)):
            entry = OffsetEntry(base_offset + relative, position)
            if min(relative, position) < 0 or (entries and not _ascends(entries[-1], entry)):
                break
            entries.append(entry)
        return cls(base_offset, tuple(entries))

    def position_before(self, offset: int) -> int:
        """Return a position at or before the batch with this offset: that of the last entry not above it, or 0."""
        at = bisect.bisect_right(self.entries, offset, key=lambda entry: entry.offset)
        return self.entries[at - 1].position if at else 0


@dataclasses.dataclass(frozen=True, slots=True)
class TimeIndex:
    """A `.timeindex` file: its valid entries, in ascending order."""

    base_offset: int
    entries: tuple[TimeEntry, ...]

    @classmethod
    def read(cls, path: Path, base_offset: int) -> TimeIndex:
        """Read the index of the segment with this base offset; any content is accepted. Raises OSError."""
        raw = read_small(path)
        entries: list[TimeEntry] = []
        for timestamp, relative in _TIME_SLOT.iter_unpack(_whole_slots(raw, _TIME_SLOT)):
            entry = TimeEntry(timestamp, base_offset + relative)
            if relative < 0 or (entries and not _ascends(entries[-1], entry)):
                break
            entries.append(entry)
        return cls(base_offset, tuple(entries))

    def offset_before(self, timestamp: int) -> int:
        """Return an offset at or before the first record with at least this timestamp (ms)."""
        at = bisect.bisect_left(self.entries, timestamp, key=lambda entry: entry.timestamp)
        return self.entries[at - 1].offset if at else self.base_offset


def _whole_slots(raw: bytes, slot: struct.Struct) -> bytes:
    return raw[: len(raw) - len(raw) % slot.size]


def _ascends(before: tuple[int, int], after: tuple[int, int]) -> bool:
    return after[0] > before[0] and after[1] > before[1]
