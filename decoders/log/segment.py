"""One `.log` file, read batch by batch while a broker may still append to it.

Owns the rules for where valid data ends. The file is read in chunks with `pread` and never mapped: a broker may cut a
file at any moment, and touching a cut mapping kills the process. Indexes and look-ups are `decoders.log.lookup`'s.

Source: org.apache.kafka.common.record.internal.FileLogInputStream, org.apache.kafka.storage.internals.log.LogSegment.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import google_crc32c

from decoders.log.batch import CRC_STARTS, FRAME, HEADER
from decoders.log.errors import LogError, LogFault
from decoders.log.frames import MAGIC_AT, BatchBlock, LogBatch, Tail
from decoders.log.legacy import SMALLEST

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK: Final = 4 << 20
"""Bytes read at once: enough that the cost of a read vanishes, little enough for many segments at a time."""
LARGEST_BATCH: Final = 256 << 20
"""Bytes of one batch that a reader accepts; brokers by default take one megabyte."""
_UP_TO_MAGIC: Final = MAGIC_AT + 1
_FRAME_HEAD: Final = struct.Struct(">qiib")
"""Offset, length, leader epoch (in message sets: checksum), magic."""
_BATCH_HEAD: Final = struct.Struct(">qiibIhi")
"""The same and checksum, attributes, last offset delta: what decides whether a batch of magic 2 is good."""
_SMALLEST_BY_MAGIC: Final = (*SMALLEST, HEADER.size - FRAME)
_OFFSETS_PER_SEGMENT: Final = 1 << 31


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

    `position` is the first byte not yet given; `tail` says why the walk ended and is None while there is more to read.
    Whoever asks for blocks does not iterate over batches, and the other way round.
    """

    def __init__(self, segment: Segment, position: int, *, verify: bool) -> None:
        self.segment = segment
        self.position = position
        self.tail: Tail | None = None
        self._verify = verify
        self._next_offset = segment.base_offset
        self._checked_to = position
        self._ready: Iterator[LogBatch] = iter(())

    def error(self, *, last_segment: bool) -> LogError | None:
        """Give the fault that ended the walk, None while it goes on or where it is how a healthy log may end."""
        tail = self.tail
        if tail is None or tail.fault is None or tail.is_expected(last_segment=last_segment):
            return None
        return LogError(tail.fault, str(self.segment.path), tail.position, tail.offset, tail.detail)

    def __iter__(self) -> Self:
        self.tail = None
        return self

    def __next__(self) -> LogBatch:
        while (batch := next(self._ready, None)) is None:
            if (block := self.next_block()) is None:
                raise StopIteration
            self._ready = block.batches()
        self.position = batch.position + batch.size
        return batch

    def blocks(self) -> Iterator[BatchBlock]:
        """Give the batches in blocks."""
        self.tail = None
        while block := self.next_block():
            self.position = block.position + block.ends[-1]
            yield block

    def next_block(self) -> BatchBlock | None:
        """Read on and give the good batches of what was read; None at the end."""
        want = CHUNK
        while self.tail is None:
            chunk = self.segment.read(self._checked_to, want)
            block = BatchBlock(chunk, self._checked_to, *self._frames(chunk))
            if block.ends:
                self._checked_to += block.ends[-1]
                return block
            # Not even one batch lies in the chunk: read as much as the batch says it takes, or the file ends here.
            needed = FRAME + int(_FRAME_HEAD.unpack_from(chunk)[1]) if len(chunk) >= _UP_TO_MAGIC else 0
            if self.tail is None and needed <= want:
                self._stop(self._checked_to, LogFault.TORN if chunk else None, "the file ends inside a batch")
            want = needed
        return None

    def _frames(self, chunk: bytes) -> tuple[list[int], list[int]]:
        """Find the good batches at the beginning of a chunk: where they begin and where they end."""
        starts: list[int] = []
        ends: list[int] = []
        while True:
            at = self._run(chunk, starts, ends)
            size = self._odd_frame(chunk, at) if at + _UP_TO_MAGIC <= len(chunk) else 0
            if size == 0:
                break
            starts.append(at)
            ends.append(at + size)
        return starts, ends

    def _run(self, chunk: bytes, starts: list[int], ends: list[int]) -> int:
        """Note good batches of magic 2 while there are such, and give where the first other thing begins.

        Whatever is not a good batch here is looked at again, slowly, by the rules in their order.
        """
        at, end, verify, next_offset = ends[-1] if ends else 0, len(chunk), self._verify, self._next_offset
        highest = self.segment.base_offset + _OFFSETS_PER_SEGMENT
        checksum, read_head, smallest = google_crc32c.value, _BATCH_HEAD.unpack_from, HEADER.size - FRAME
        while at + HEADER.size <= end:
            base, length, _, magic, crc, _, delta = read_head(chunk, at)
            after = at + FRAME + length
            if magic != 2 or length < smallest or after > end:
                break
            if verify:
                if base < next_offset or base + delta >= highest or checksum(chunk[at + CRC_STARTS : after]) != crc:
                    break
                next_offset = base + max(delta, 0) + 1
            starts.append(at)
            ends.append(after)
            at = after
        self._next_offset = next_offset
        return at

    def _odd_frame(self, chunk: bytes, at: int) -> int:
        """Judge the batch at a place of the chunk: its size if it is good and whole, else 0."""
        _, length, _, magic = _FRAME_HEAD.unpack_from(chunk, at)
        start, size = self._checked_to + at, FRAME + length
        if length == 0 and self._only_zeros(start):
            self._stop(start, LogFault.ZEROS, "preallocated space")
        elif magic not in {0, 1, 2}:
            self._stop(start, LogFault.BAD_MAGIC, f"magic {magic}")
        elif length < _SMALLEST_BY_MAGIC[magic]:
            self._stop(start, LogFault.BAD_LENGTH, f"a batch of magic {magic} and length {length}")
        elif size > self.segment.size - start:
            self._stop(start, LogFault.TORN, "the file ends inside a batch")
        elif size > self.segment.largest_batch:
            self._stop(start, LogFault.TOO_LARGE, f"a batch of {size} bytes")
        elif at + size <= len(chunk):
            batch = next(BatchBlock(chunk, self._checked_to, [at], [at + size]).batches())
            return size if not self._verify or self._accept(batch) else 0
        return 0

    def _accept(self, batch: LogBatch) -> bool:
        """Check one batch's checksum and its place in the order."""
        first, last, due = batch.base_offset, batch.last_offset, self._next_offset
        if not batch.has_valid_crc():
            self._stop(batch.position, LogFault.BAD_CRC, "the checksum does not fit", batch)
        elif first < due or last >= self.segment.base_offset + _OFFSETS_PER_SEGMENT:
            detail = f"offsets {first} to {last} where {due} or more is due"
            self._stop(batch.position, LogFault.OFFSET_ORDER, detail, batch)
        else:
            self._next_offset = max(first, last) + 1
            return True
        return False

    def _only_zeros(self, position: int) -> bool:
        while (piece := self.segment.read(position, CHUNK)) and not piece.strip(b"\0"):
            position += len(piece)
        return not piece

    def _stop(self, position: int, fault: LogFault | None, detail: str, batch: LogBatch | None = None) -> None:
        frame_size, offset = (batch.size, batch.base_offset) if batch else (0, None)
        size = max(0, self.segment.size - position)
        self.tail = Tail(position, size, fault, "" if fault is None else detail, frame_size, offset)
