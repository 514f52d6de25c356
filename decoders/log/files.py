"""Opens files of unknown content safely: only regular files, without blocking, and with a limit on the size read.

A FIFO would block the reader forever, and a device has no end.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple

from decoders.log.batch import FRAME, HEADER, RecordBatch, record_batch
from decoders.log.legacy import SMALLEST, LegacyBatch, legacy_batch

LARGEST_STATE_FILE: Final = 256 << 20
"""The largest index or state file in bytes that is read; brokers limit an index to 10 MB by default."""

_KINDS: Final = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_regular(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open a regular file and return its descriptor. Raises OSError, also if it is not a regular file."""
    # Check before opening: opening a device can have side effects, and opening a FIFO blocks until its other end opens.
    try:
        _check(path.stat().st_mode, path)
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    try:
        _check(os.fstat(descriptor).st_mode, path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def open_to_read(path: Path) -> IO[bytes]:
    """Open a regular file for unbuffered reading. Raises OSError."""
    return os.fdopen(open_regular(path), "rb", buffering=0)


def read_small(path: Path, limit: int = LARGEST_STATE_FILE) -> bytes:
    """Return the content of a regular file. Raises OSError, also if it is larger than `limit`."""
    with os.fdopen(open_regular(path), "rb") as file:
        if os.fstat(file.fileno()).st_size > limit:
            raise OSError(errno.EFBIG, f"larger than {limit} bytes", str(path))
        return file.read()


def kind_of(mode: int) -> str | None:
    """Return the kind of a file that is not regular, such as "a FIFO"; None for a regular file."""
    if stat.S_ISREG(mode):
        return None
    return next((kind for is_kind, kind in _KINDS if is_kind(mode)), "a file of another kind")


def _check(mode: int, path: Path) -> None:
    kind = kind_of(mode)
    if kind is not None:
        number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        raise OSError(number, f"it is {kind}, not a regular file", str(path))


LogBatch = RecordBatch | LegacyBatch

MAGIC_AT: Final = 16
"""The position of the magic byte, which identifies the layout of a batch; the same in all magics."""
UP_TO_MAGIC: Final = MAGIC_AT + 1
"""Bytes of a batch up to and including its magic."""
SMALLEST_BY_MAGIC: Final = (*SMALLEST, HEADER.size - FRAME)
"""The smallest length (after the frame) of a batch, by magic."""


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
