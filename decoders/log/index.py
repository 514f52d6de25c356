"""The three indexes beside a segment: `.index` (offset -> position), `.timeindex`, `.txnindex` (aborted transactions).

They have no checksums, and a sequential reader does not need them; `decoders.log.lookup` therefore uses them only as
hints. Offset and time index are preallocated with zeros while their segment is active: the entries end where they stop
ascending.

Source: org.apache.kafka.storage.internals.log.OffsetIndex, TimeIndex, TransactionIndex and AbortedTxn.
"""

from __future__ import annotations

import bisect
import dataclasses
import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from decoders.log.errors import LogError, LogFault
from decoders.log.files import read_small

if TYPE_CHECKING:
    from pathlib import Path

_OFFSET_SLOT: Final = struct.Struct(">ii")
_TIME_SLOT: Final = struct.Struct(">qi")
_ABORTED: Final = struct.Struct(">hqqqq")
_ABORTED_VERSION: Final = 0


class OffsetEntry(NamedTuple):
    """The last offset of a batch (the first one if written by Kafka 1.1 or older) and its position in the segment."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """The largest timestamp (ms) of the segment so far, and the last offset of the batch that has it."""

    timestamp: int
    offset: int


class AbortedTransaction(NamedTuple):
    """An aborted transaction: its first offset in this partition, the offset of its marker, and the LSO after it."""

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetIndex:
    """An `.index` file: its valid entries, in ascending order, and its raw bytes."""

    path: Path
    base_offset: int
    raw: bytes
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
        return cls(path, base_offset, raw, tuple(entries))

    def position_before(self, offset: int) -> int:
        """Return a position at or before the batch with this offset: that of the last entry not above it, or 0."""
        at = bisect.bisect_right(self.entries, offset, key=lambda entry: entry.offset)
        return self.entries[at - 1].position if at else 0

    def rest_fault(self) -> LogError | None:
        """Return the fault of what follows the valid entries, or None; a broker preallocates an index with zeros."""
        return _rest_fault(self.path, self.raw, len(self.entries) * _OFFSET_SLOT.size)

    def fault(self) -> LogError | None:
        """Return the fault that a broker would find in its check of the index at startup, or None."""
        if len(self.raw) % _OFFSET_SLOT.size:
            return _bad_index(self.path, f"the file size {len(self.raw)} is not a multiple of {_OFFSET_SLOT.size}")
        if self.raw and (relative := _OFFSET_SLOT.unpack_from(self.raw, len(self.raw) - _OFFSET_SLOT.size)[0]) < 0:
            return _bad_index(self.path, f"the last offset {self.base_offset + relative} is below {self.base_offset}")
        return None


@dataclasses.dataclass(frozen=True, slots=True)
class TimeIndex:
    """A `.timeindex` file: its valid entries, in ascending order, and its raw bytes."""

    path: Path
    base_offset: int
    raw: bytes
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
        return cls(path, base_offset, raw, tuple(entries))

    def offset_before(self, timestamp: int) -> int:
        """Return an offset at or before the first record with at least this timestamp (ms)."""
        at = bisect.bisect_left(self.entries, timestamp, key=lambda entry: entry.timestamp)
        return self.entries[at - 1].offset if at else self.base_offset

    def rest_fault(self) -> LogError | None:
        """Return the fault of what follows the valid entries, or None; a broker preallocates an index with zeros."""
        return _rest_fault(self.path, self.raw, len(self.entries) * _TIME_SLOT.size)

    def fault(self) -> LogError | None:
        """Return the fault that a broker would find in its check of the index at startup, or None.

        As in Kafka, a preallocated index fails the check: the broker trims an index before it closes it.
        """
        if len(self.raw) % _TIME_SLOT.size:
            return _bad_index(self.path, f"the file size {len(self.raw)} is not a multiple of {_TIME_SLOT.size}")
        if not self.raw:
            return None
        first = _TIME_SLOT.unpack_from(self.raw)[0]
        last, relative = _TIME_SLOT.unpack_from(self.raw, len(self.raw) - _TIME_SLOT.size)
        if last < first:
            return _bad_index(self.path, f"the last timestamp {last} is below the first, {first}")
        if relative < 0:
            return _bad_index(self.path, f"the last offset {self.base_offset + relative} is below {self.base_offset}")
        return None


def read_aborted(path: Path) -> tuple[tuple[AbortedTransaction, ...], LogError | None]:
    """Read a `.txnindex`: the entries in the order of their markers, and the fault after the last valid one, or None.

    A partial entry at the end is an append in progress and not a fault. Raises OSError.
    """
    entries: list[AbortedTransaction] = []
    for fields in _ABORTED.iter_unpack(_whole_slots(read_small(path), _ABORTED)):
        entry = AbortedTransaction._make(fields)
        position = len(entries) * _ABORTED.size
        if not 0 <= entry.version <= _ABORTED_VERSION:
            return tuple(entries), _bad_index(path, f"the version of an entry is {entry.version}", position)
        if entries and entry.last_offset < entries[-1].last_offset:
            return tuple(entries), _bad_index(
                path, f"the last offset {entry.last_offset} is below that of the previous entry", position
            )
        entries.append(entry)
    return tuple(entries), None


def _whole_slots(raw: bytes, slot: struct.Struct) -> bytes:
    return raw[: len(raw) - len(raw) % slot.size]


def _ascends(before: tuple[int, int], after: tuple[int, int]) -> bool:
    return after[0] > before[0] and after[1] > before[1]


def _rest_fault(path: Path, raw: bytes, end: int) -> LogError | None:
    return _bad_index(path, "what follows the last valid entry is no entry", end) if any(raw[end:]) else None


def _bad_index(path: Path, detail: str, position: int = 0) -> LogError:
    return LogError(LogFault.BAD_INDEX, str(path), position, None, detail)
