"""One `.log` file, read batch by batch while a broker may still append to it.

Owns the rules for where valid data ends. The file is read in chunks with `pread` and never mapped: a broker may cut a
file at any moment, and touching a cut mapping kills the process. Indexes and look-ups are `decoders.log.lookup`'s.

Source: org.apache.kafka.common.record.internal.FileLogInputStream, org.apache.kafka.storage.internals.log.LogSegment.
"""

from __future__ import annotations

import dataclasses
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from decoders.log.batch import FRAME, HEADER, RecordBatch, record_batch
from decoders.log.errors import Fault, LogError
from decoders.log.legacy import SMALLEST, LegacyBatch, legacy_batch

if TYPE_CHECKING:
    from collections.abc import Iterator

Batch = RecordBatch | LegacyBatch

CHUNK: Final = 4 << 20
"""Bytes read at once: enough that the cost of a read vanishes, little enough for many segments at a time."""
LARGEST_BATCH: Final = 256 << 20
"""Bytes of one batch that a reader accepts; brokers by default take one megabyte."""
_UP_TO_MAGIC: Final = 17
_LENGTH: Final = struct.Struct(">i")
_SMALLEST_BY_MAGIC: Final = (*SMALLEST, HEADER.size - FRAME)
_OFFSETS_PER_SEGMENT: Final = 1 << 31
_QUIET: Final = frozenset({Fault.TORN, Fault.ZEROS})


@dataclasses.dataclass(frozen=True, slots=True)
class Tail:
    """Where and why reading stopped.

    `position` is the first byte that belongs to no good batch, `size` the bytes from there to the end of the file,
    `frame_size` what the bad batch there claims to take (0 = unknown), `fault` None when the file ends with a batch.
    """

    position: int
    size: int
    fault: Fault | None = None
    detail: str = ""
    frame_size: int = 0
    offset: int | None = None

    def is_quiet(self, *, last_segment: bool) -> bool:
        """Whether this is how a healthy log may end.

        Only the segment being written to may end inside a batch, in preallocated zeros, or with one batch whose pages
        did not all reach the disk.
        """
        torn_pages = self.fault is Fault.BAD_CRC and self.frame_size >= self.size
        return self.fault is None or (last_segment and (self.fault in _QUIET or torn_pages))


class Segment:
    """An open segment file of a fixed size: what is appended later is seen after `refresh()`.

    `base_offset` is the number in its name (0 for files that are no segments, such as KRaft snapshots).
    """

    def __init__(self, path: Path, base_offset: int, *, largest_batch: int = LARGEST_BATCH) -> None:
        """Open the file. Raises OSError."""
        self.path = path
        self.base_offset = base_offset
        self.largest_batch = largest_batch
        self._file = path.open("rb", buffering=0)
        self.size = 0
        self.refresh()

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open a segment by its path, whose name tells the base offset. Raises OSError, ValueError for another name."""
        path = Path(path)
        stem, dot, suffix = path.name.partition(".")
        if suffix not in {"log", "log.swap"} or not (dot and stem.isdecimal()):
            raise ValueError(f"{path.name}: a segment's name is its base offset and .log")
        return cls(path, int(stem))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def refresh(self) -> int:
        """Look how large the file is now, and give that size."""
        self.size = os.fstat(self._file.fileno()).st_size
        return self.size

    def read(self, position: int, size: int) -> bytes:
        """Read at most `size` bytes, never beyond the size seen last; fewer when the file was cut meanwhile."""
        return os.pread(self._file.fileno(), max(0, min(size, self.size - position)), position)

    def batches(self, position: int = 0, *, verify: bool = True) -> BatchCursor:
        """Walk over the batches from a position on, which must be the start of a batch.

        `verify` checks the CRC and that offsets ascend within the segment's range; without it every batch that has the
        frame of one is given.
        """
        return BatchCursor(self, position, verify=verify)


class BatchCursor:
    """A walk over a segment that can be continued: iterating again after `Segment.refresh()` goes on where it stopped.

    `position` is the first byte not yet given; `tail` says why the walk ended and is None before that.
    """

    def __init__(self, segment: Segment, position: int, *, verify: bool) -> None:
        self.segment = segment
        self.position = position
        self.tail: Tail | None = None
        self._verify = verify
        self._next_offset = segment.base_offset

    def error(self, *, last_segment: bool) -> LogError | None:
        """Give the fault that ended the walk, None while it goes on or where it is how a healthy log may end."""
        tail = self.tail
        if tail is None or tail.fault is None or tail.is_quiet(last_segment=last_segment):
            return None
        return LogError(tail.fault, str(self.segment.path), tail.position, tail.offset, tail.detail)

    def __iter__(self) -> Iterator[Batch]:
        self.tail = None
        want = CHUNK
        while self.tail is None:
            start = self.position
            chunk = self.segment.read(start, want)
            yield from self._walk(chunk)
            if self.tail is not None or self.position > start:
                want = CHUNK
                continue
            # Not even one batch lies in the chunk: read as much as the batch says it takes, or the file ends here.
            needed = self._frame_size(chunk) if len(chunk) >= _UP_TO_MAGIC else 0
            if needed <= want:
                self._stop(Fault.TORN if chunk else None, "the file ends inside a batch")
            want = needed

    def _walk(self, chunk: bytes) -> Iterator[Batch]:
        """Give the batches that lie whole in the chunk, which begins at `position`."""
        view, at, start = memoryview(chunk), 0, self.position
        end = len(chunk)
        while at + _UP_TO_MAGIC <= end:
            length, magic = _LENGTH.unpack_from(chunk, at + 8)[0], chunk[at + 16]
            if magic > 2 or length < _SMALLEST_BY_MAGIC[magic]:
                return self._stop_at_bad_frame(length, magic, chunk[at:])
            after = at + FRAME + length
            if after > end:
                return self._stop_if_unreadable(FRAME + length)
            raw = view[at:after]
            batch: Batch = record_batch(raw, start + at) if magic == 2 else legacy_batch(raw, start + at)
            if self._verify and not self._accept(batch):
                return None
            at = after
            self.position = start + at
            yield batch
        return None

    def _accept(self, batch: Batch) -> bool:
        if not batch.crc_is_right():
            self._stop(Fault.BAD_CRC, "the checksum does not fit", batch)
            return False
        base = self.segment.base_offset
        if batch.base_offset < self._next_offset or batch.last_offset - base >= _OFFSETS_PER_SEGMENT:
            detail = f"offsets {batch.base_offset} to {batch.last_offset} where {self._next_offset} or more is due"
            self._stop(Fault.OFFSET_ORDER, detail, batch)
            return False
        self._next_offset = max(batch.last_offset, batch.base_offset) + 1
        return True

    def _stop_at_bad_frame(self, length: int, magic: int, rest: bytes) -> None:
        if length == 0 and self._only_zeros(rest):
            self._stop(Fault.ZEROS, "preallocated space")
        elif magic > 2:
            self._stop(Fault.BAD_MAGIC, f"magic {magic}")
        else:
            self._stop(Fault.BAD_LENGTH, f"a batch of magic {magic} and length {length}")

    def _stop_if_unreadable(self, size: int) -> None:
        if size > self.segment.size - self.position:
            self._stop(Fault.TORN, "the file ends inside a batch")
        elif size > self.segment.largest_batch:
            self._stop(Fault.TOO_LARGE, f"a batch of {size} bytes")

    def _only_zeros(self, rest: bytes) -> bool:
        position = self.position
        while rest and not rest.strip(b"\0"):
            position += len(rest)
            rest = self.segment.read(position, CHUNK)
        return not rest

    def _stop(self, fault: Fault | None, detail: str = "", batch: Batch | None = None) -> None:
        position = self.position
        frame_size, offset = (batch.size, batch.base_offset) if batch else (0, None)
        size = max(0, self.segment.size - position)
        self.tail = Tail(position, size, fault, "" if fault is None else detail, frame_size, offset)

    @staticmethod
    def _frame_size(chunk: bytes) -> int:
        return FRAME + int(_LENGTH.unpack_from(chunk, 8)[0])
