"""What a walk over a log file gives: batches, blocks of them, and where and why it stopped."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, NamedTuple

from decoders.log.batch import RecordBatch, record_batch
from decoders.log.errors import LogFault
from decoders.log.legacy import LegacyBatch, legacy_batch

if TYPE_CHECKING:
    from collections.abc import Iterator

LogBatch = RecordBatch | LegacyBatch

MAGIC_AT: Final = 16
"""The byte that tells how a batch is laid out: the same in all magics."""
_QUIET: Final = frozenset({LogFault.TORN, LogFault.ZEROS})


class BatchBlock(NamedTuple):
    """Good batches that lie one behind the other in a piece of the file: the unit in which fast readers work.

    `chunk` begins at `position` of the file; batch n is `chunk[starts[n]:ends[n]]`.
    """

    chunk: bytes
    position: int
    starts: list[int]
    ends: list[int]

    def batch(self, number: int) -> LogBatch:
        """Give one batch, as a view of the chunk."""
        start, end = self.starts[number], self.ends[number]
        make = record_batch if self.chunk[start + MAGIC_AT] == 2 else legacy_batch
        return make(memoryview(self.chunk)[start:end], self.position + start)

    def batches(self) -> Iterator[LogBatch]:
        """Give the batches one by one, as views of the chunk."""
        return map(self.batch, range(len(self.ends)))


@dataclasses.dataclass(frozen=True, slots=True)
class Tail:
    """Where and why reading stopped.

    `position` is the first byte that belongs to no good batch, `size` the bytes from there to the end of the file,
    `frame_size` what the bad batch there claims to take (0 = unknown), `fault` None when the file ends with a batch.
    """

    position: int
    size: int
    fault: LogFault | None = None
    detail: str = ""
    frame_size: int = 0
    offset: int | None = None

    def is_expected(self, *, last_segment: bool) -> bool:
        """Whether this is how a healthy log may end.

        Only the segment being written to may end inside a batch, in preallocated zeros, or with one batch whose pages
        did not all reach the disk.
        """
        torn_pages = self.fault is LogFault.BAD_CRC and self.frame_size >= self.size
        return self.fault is None or (last_segment and (self.fault in _QUIET or torn_pages))
