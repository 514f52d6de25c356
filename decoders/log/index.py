"""The three indexes beside a segment: `.index` (offset -> position), `.timeindex`, `.txnindex` (aborted transactions).

Nothing in them is protected by a checksum, and a sequential reader needs none of them; `decoders.log.lookup` therefore
takes their answers as hints. Offset and time index are preallocated with zeros while their segment is active: the
entries end where they stop ascending.

Source: org.apache.kafka.storage.internals.log.OffsetIndex, TimeIndex, TransactionIndex and AbortedTxn.
"""

from __future__ import annotations

import bisect
import dataclasses
import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from decoders.log.errors import LogError, LogFault

if TYPE_CHECKING:
    from pathlib import Path

_OFFSET_SLOT: Final = struct.Struct(">ii")
_TIME_SLOT: Final = struct.Struct(">qi")
_ABORTED: Final = struct.Struct(">hqqqq")
_ABORTED_VERSION: Final = 0


class OffsetEntry(NamedTuple):
    """A batch: its last offset (its first one where Kafka 1.1 or older wrote) and its byte position in the segment."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """The largest timestamp (ms) of the segment up to here, and the last offset of the batch that has it."""

    timestamp: int
    offset: int


class AbortedTransaction(NamedTuple):
    """A transaction that was aborted: its first offset here, the offset of its marker, the stable offset after it."""

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetIndex:
    """An `.index` file: the ascending entries, and the raw slots behind them."""

    path: Path
    base_offset: int
    raw: bytes
    entries: tuple[OffsetEntry, ...]

    @classmethod
    def read(cls, path: Path, base_offset: int) -> OffsetIndex:
        """Read the file of the segment with this base offset. Raises OSError; any content gives an index."""
        raw = path.read_bytes()
        entries: list[OffsetEntry] = []
        for relative, position in _OFFSET_SLOT.iter_unpack(_whole_slots(raw, _OFFSET_SLOT)):
            entry = OffsetEntry(base_offset + relative, position)
            if min(relative, position) < 0 or (entries and not _ascends(entries[-1], entry)):
                break
            entries.append(entry)
        return cls(path, base_offset, raw, tuple(entries))

    def position_before(self, offset: int) -> int:
        """Give a position at or before the batch that holds the offset: that of the last entry not above it, or 0."""
        at = bisect.bisect_right(self.entries, offset, key=lambda entry: entry.offset)
        return self.entries[at - 1].position if at else 0

    def fault(self) -> LogError | None:
        """Check what a broker checks at start before it trusts the index; None when it would."""
        if len(self.raw) % _OFFSET_SLOT.size:
            return _bad_index(self.path, f"{len(self.raw)} bytes are no multiple of {_OFFSET_SLOT.size}")
        if self.raw and (relative := _OFFSET_SLOT.unpack_from(self.raw, len(self.raw) - _OFFSET_SLOT.size)[0]) < 0:
            return _bad_index(self.path, f"the last offset {self.base_offset + relative} lies below {self.base_offset}")
        return None


@dataclasses.dataclass(frozen=True, slots=True)
class TimeIndex:
    """A `.timeindex` file: the ascending entries, and the raw slots behind them."""

    path: Path
    base_offset: int
    raw: bytes
    entries: tuple[TimeEntry, ...]

    @classmethod
    def read(cls, path: Path, base_offset: int) -> TimeIndex:
        """Read the file of the segment with this base offset. Raises OSError; any content gives an index."""
        raw = path.read_bytes()
        entries: list[TimeEntry] = []
        for timestamp, relative in _TIME_SLOT.iter_unpack(_whole_slots(raw, _TIME_SLOT)):
            entry = TimeEntry(timestamp, base_offset + relative)
            if relative < 0 or (entries and not _ascends(entries[-1], entry)):
                break
            entries.append(entry)
        return cls(path, base_offset, raw, tuple(entries))

    def offset_before(self, timestamp: int) -> int:
        """Give an offset at or before the first record that is as late as `timestamp` (ms)."""
        at = bisect.bisect_left(self.entries, timestamp, key=lambda entry: entry.timestamp)
        return self.entries[at - 1].offset if at else self.base_offset

    def fault(self) -> LogError | None:
        """Check what a broker checks at start before it trusts the index; None when it would.

        A preallocated index fails it, as it does in Kafka: the broker trims an index before it closes it.
        """
        if len(self.raw) % _TIME_SLOT.size:
            return _bad_index(self.path, f"{len(self.raw)} bytes are no multiple of {_TIME_SLOT.size}")
        if not self.raw:
            return None
        first = _TIME_SLOT.unpack_from(self.raw)[0]
        last, relative = _TIME_SLOT.unpack_from(self.raw, len(self.raw) - _TIME_SLOT.size)
        if last < first:
            return _bad_index(self.path, f"the last timestamp {last} lies below the first, {first}")
        if relative < 0:
            return _bad_index(self.path, f"the last offset {self.base_offset + relative} lies below {self.base_offset}")
        return None


def read_aborted(path: Path) -> tuple[tuple[AbortedTransaction, ...], LogError | None]:
    """Read a `.txnindex`: the entries in the order of their markers, and what is wrong behind the last good one.

    Raises OSError. Half an entry at the end is an append under way and no fault.
    """
    entries: list[AbortedTransaction] = []
    for fields in _ABORTED.iter_unpack(_whole_slots(path.read_bytes(), _ABORTED)):
        entry = AbortedTransaction._make(fields)
        position = len(entries) * _ABORTED.size
        if not 0 <= entry.version <= _ABORTED_VERSION:
            return tuple(entries), _bad_index(path, f"an entry of version {entry.version}", position)
        if entries and entry.last_offset < entries[-1].last_offset:
            return tuple(entries), _bad_index(path, f"offset {entry.last_offset} below its predecessor", position)
        entries.append(entry)
    return tuple(entries), None


def _whole_slots(raw: bytes, slot: struct.Struct) -> bytes:
    return raw[: len(raw) - len(raw) % slot.size]


def _ascends(before: tuple[int, int], after: tuple[int, int]) -> bool:
    return after[0] > before[0] and after[1] > before[1]


def _bad_index(path: Path, detail: str, position: int = 0) -> LogError:
    return LogError(LogFault.BAD_INDEX, str(path), position, None, detail)
