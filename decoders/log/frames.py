"""The results of a walk over a log file: batches, blocks of batches, and where and why the walk stopped."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from decoders.log.batch import FRAME, HEADER, RecordBatch, record_batch
from decoders.log.errors import LogFault
from decoders.log.legacy import SMALLEST, LegacyBatch, legacy_batch

LogBatch = RecordBatch | LegacyBatch

MAGIC_AT: Final = 16
"""The position of the magic byte, which identifies the layout of a batch; the same in all magics."""
UP_TO_MAGIC: Final = MAGIC_AT + 1
"""Bytes of a batch up to and including its magic."""
SMALLEST_BY_MAGIC: Final = (*SMALLEST, HEADER.size - FRAME)
"""The smallest length (after the frame) of a batch, by magic."""
_EXPECTED_AT_END: Final = frozenset({LogFault.TORN, LogFault.ZEROS})


class BatchBlock(NamedTuple):
    """Consecutive valid batches in one chunk of the file: the unit of the vectorised readers.

    `chunk` begins at `position` of the file; batch n is `chunk[starts[n]:ends[n]]`.
    """

    chunk: bytes
    position: int
    starts: Sequence[int]
    ends: Sequence[int]

    def batch(self, number: int) -> LogBatch:
        """Return one batch, as a view of the chunk."""
        start, end = self.starts[number], self.ends[number]
        make = record_batch if self.chunk[start + MAGIC_AT] == 2 else legacy_batch
        return make(memoryview(self.chunk)[start:end], self.position + start)

    def batches(self) -> Iterator[LogBatch]:
        """Return an iterator over the batches, as views of the chunk."""
        return map(self.batch, range(len(self.ends)))


@dataclasses.dataclass(frozen=True, slots=True)
class Tail:
    """The position at which reading stopped, with the reason.

    `position` is the first byte after the valid batches, `size` the bytes from there to the end of the file,
    `frame_size` the size that the invalid batch there states (0 = unknown), `fault` None if the file ends with a batch.
    """

    position: int
    size: int
    fault: LogFault | None = None
    detail: str = ""
    frame_size: int = 0
    offset: int | None = None

    def is_expected(self, *, last_segment: bool) -> bool:
        """Return whether a healthy log can end like this.

        Only the active segment may end inside a batch, in preallocated zeros, or with one batch of which not all pages
        were written to disk.
        """
        torn_pages = self.fault is LogFault.BAD_CRC and self.frame_size >= self.size
        return self.fault is None or (last_segment and (self.fault in _EXPECTED_AT_END or torn_pages))
