"""Reads one `.log` file batch by batch, also while a broker appends to it, and determines where valid data ends.

The file is read in chunks with `pread` and never mapped: a broker may truncate a file at any time, and access to a
truncated mapping kills the process.

Source: org.apache.kafka.common.record.internal.FileLogInputStream, org.apache.kafka.storage.internals.log.LogSegment.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

import google_crc32c

from decoders.log.batch import CRC_STARTS, FRAME, HEADER
from decoders.log.errors import LogError, LogFault
from decoders.log.files import SMALLEST_BY_MAGIC, UP_TO_MAGIC, BatchBlock, LogBatch, open_to_read

CHUNK: Final = 4 << 20
"""Bytes per read: large enough to make the cost of a read negligible, small enough for many open segments."""
LARGEST_BATCH: Final = 256 << 20
"""The largest batch in bytes that a reader accepts; the brokers' default limit is one megabyte."""
_FRAME_HEAD: Final = struct.Struct(">qiib")
"""Base offset, length, leader epoch (in message sets: checksum), magic."""
_BATCH_HEAD: Final = struct.Struct(">qiibIhi")
"""The same and checksum, attributes, last offset delta: the fields that decide whether a batch of magic 2 is valid."""
_OFFSETS_PER_SEGMENT: Final = 1 << 31


class Segment:
    """An open segment file, at the size that it had then. `base_offset` is the number in its name."""

    def __init__(self, path: Path, base_offset: int, *, largest_batch: int = LARGEST_BATCH) -> None:
        """Open the file. Raises OSError."""
        self.path = path
        self.base_offset = base_offset
        self.largest_batch = largest_batch
        self._file = open_to_read(path)
        self.size = os.fstat(self._file.fileno()).st_size

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open a segment; its name has the base offset. Raises OSError, and ValueError for other names."""
        path = Path(path)
        stem, dot, suffix = path.name.partition(".")
        if suffix not in {"log", "log.swap"} or not (dot and stem.isdecimal()):
            raise ValueError(f"{path.name}: not a segment; the name must be <base offset>.log")
        return cls(path, int(stem))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read(self, position: int, size: int) -> bytes:
        """Read at most `size` bytes, not beyond the known size; fewer if the file was truncated in the meantime."""
        return os.pread(self._file.fileno(), max(0, min(size, self.size - position)), position)

    def batches(self, *, verify: bool = True) -> BatchCursor:
        """Return a walk over the batches.

        `verify` checks the CRC, and that offsets ascend and are within the range of the segment. Without it every batch
        with a valid frame is returned.
        """
        return BatchCursor(self, verify=verify)


class BatchCursor:
    """A walk over a segment, by blocks or by batches.

    `end` is the position of the first byte after the valid batches; None while there are more.
    """

    def __init__(self, segment: Segment, *, verify: bool) -> None:
        self.segment = segment
        self.end: int | None = None
        self._error: LogError | None = None
        self._expected_at_end = False
        self._verify = verify
        self._next_offset = segment.base_offset
        self._checked_to = 0

    def error(self, *, last_segment: bool) -> LogError | None:
        """Return the fault that ended the walk; None before its end, and for ends expected in a healthy log.

        Only the active segment may end inside a batch, in preallocated zeros, or with one batch of which not all pages
        were written to disk.
        """
        return None if last_segment and self._expected_at_end else self._error

    def __iter__(self) -> Iterator[LogBatch]:
        for block in self.blocks():
            yield from block.batches()

    def blocks(self) -> Iterator[BatchBlock]:
        """Yield the batches in blocks."""
        try:
            while block := self._read_block():
                yield block
        except OSError as error:
            self._stop(self._checked_to, LogFault.UNREADABLE, error.strerror or str(error))

    def _read_block(self) -> BatchBlock | None:
        """Read the next chunk and return its valid batches; None at the end. Raises OSError."""
        read_size = CHUNK
        while self.end is None:
            chunk = self.segment.read(self._checked_to, read_size)
            block = BatchBlock(chunk, self._checked_to, *self._frames(chunk))
            if block.ends:
                self._checked_to += block.ends[-1]
                return block
            # The chunk has no complete batch: read the size that the batch states, unless the file ends here.
            needed = FRAME + int(_FRAME_HEAD.unpack_from(chunk)[1]) if len(chunk) >= UP_TO_MAGIC else 0
            if self.end is None and needed <= read_size:
                self._stop(self._checked_to, LogFault.TORN if chunk else None, "the file ends inside a batch")
            read_size = needed
        return None

    def _frames(self, chunk: bytes) -> tuple[list[int], list[int]]:
        """Return the starts and ends of the valid batches at the beginning of a chunk."""
        starts: list[int] = []
        ends: list[int] = []
        while True:
            at = self._valid_run(chunk, starts, ends)
            size = self._checked_frame_size(chunk, at) if at + UP_TO_MAGIC <= len(chunk) else 0
            if size == 0:
                break
            starts.append(at)
            ends.append(at + size)
        return starts, ends

    def _valid_run(self, chunk: bytes, starts: list[int], ends: list[int]) -> int:
        """Append valid batches of magic 2 to `starts` and `ends`; return the position of the first other data.

        This is the fast path; `_checked_frame_size` checks everything else, one rule after the other.
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

    def _checked_frame_size(self, chunk: bytes, at: int) -> int:
        """Return the size of the batch at `at` if it is valid and complete in the chunk, else 0.

        The walk ends if the data there is invalid.
        """
        _, length, _, magic = _FRAME_HEAD.unpack_from(chunk, at)
        start, size = self._checked_to + at, FRAME + length
        if length == 0 and self._only_zeros(start):
            self._stop(start, LogFault.ZEROS, "preallocated space")
        elif magic not in {0, 1, 2}:
            self._stop(start, LogFault.BAD_MAGIC, f"magic {magic}")
        elif length < SMALLEST_BY_MAGIC[magic]:
            self._stop(start, LogFault.BAD_LENGTH, f"the length of a batch of magic {magic} is {length}")
        elif size > self.segment.size - start:
            self._stop(start, LogFault.TORN, "the file ends inside a batch")
        elif size > self.segment.largest_batch:
            self._stop(start, LogFault.TOO_LARGE, f"the batch size is {size} bytes")
        elif at + size <= len(chunk):
            batch = next(BatchBlock(chunk, self._checked_to, [at], [at + size]).batches())
            return size if not self._verify or self._accept(batch) else 0
        return 0

    def _accept(self, batch: LogBatch) -> bool:
        """Return whether the checksum and the offsets of a batch are valid; if not, the walk ends."""
        first, last, expected = batch.base_offset, batch.last_offset, self._next_offset
        if not batch.has_valid_crc():
            self._stop(batch.position, LogFault.BAD_CRC, "the checksum does not match", batch)
        elif first < expected or last >= self.segment.base_offset + _OFFSETS_PER_SEGMENT:
            detail = f"offsets {first} to {last}, but at least {expected} is expected"
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
        self.end = position
        if fault is not None:
            torn_pages = batch is not None and position + batch.size >= self.segment.size and fault is LogFault.BAD_CRC
            self._expected_at_end = torn_pages or fault in {LogFault.TORN, LogFault.ZEROS}
            offset = None if batch is None else batch.base_offset
            self._error = LogError(fault, str(self.segment.path), position, offset, detail)
