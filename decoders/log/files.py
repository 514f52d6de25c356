"""Opening files that somebody else wrote: only regular files, never waiting, and never more than a limit at once.

A FIFO would block the reader for ever, and a device has no end.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

LARGEST_STATE_FILE: Final = 256 << 20
"""Bytes of an index or a state file that are read: a broker's largest index takes 10 MB by default."""

_KINDS: Final = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_regular(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open a regular file and return its descriptor. Raises OSError, also for anything that is no regular file."""
    # What is there is looked at first: to open a device can have effects, and to open a FIFO waits for its other end.
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
    """Open a regular file for reading without a buffer. Raises OSError."""
    return os.fdopen(open_regular(path), "rb", buffering=0)


def read_small(path: Path, limit: int = LARGEST_STATE_FILE) -> bytes:
    """Read a regular file whole. Raises OSError, also for a file that is larger than `limit`."""
    with os.fdopen(open_regular(path), "rb") as file:
        if os.fstat(file.fileno()).st_size > limit:
            raise OSError(errno.EFBIG, f"larger than {limit} bytes", str(path))
        return file.read()


def kind_of(mode: int) -> str | None:
    """Return what a file of this mode is if it is no regular file, such as "a FIFO"; else None."""
    if stat.S_ISREG(mode):
        return None
    return next((kind for is_kind, kind in _KINDS if is_kind(mode)), "no regular file")


def _check(mode: int, path: Path) -> None:
    kind = kind_of(mode)
    if kind is not None:
        number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        raise OSError(number, f"it is {kind}, not a regular file", str(path))
