"""Paths that a person gives: opened without waiting, refused in one line where they are no file to read or write."""

from __future__ import annotations

import fcntl
import os
import stat
from typing import IO, TYPE_CHECKING, Final

from decoders.log.files import kind_of, open_regular
from stream.offline.rows import UnreadableRefusal, UnwritableRefusal

if TYPE_CHECKING:
    from pathlib import Path

_LONGEST_SHOWN: Final = 200


def display_path(path: Path) -> str:
    """Return a path for a line of text, a very long one without its middle."""
    text = str(path)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:100]}...{text[-60:]} ({len(text)} characters)"


def os_error_text(error: OSError) -> str:
    """Return what the system says, without the number and the path."""
    return error.strerror or str(error)


def is_directory(path: Path) -> bool:
    """Tell a directory from a regular file. Raises UnreadableRefusal for anything else, and for what is not there."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise _unreadable(path, os_error_text(error)) from error
    if stat.S_ISDIR(mode):
        return True
    kind = kind_of(mode)
    if kind is not None:
        raise _unreadable(path, f"it is {kind}, not a regular file")
    return False


def open_to_read(path: Path) -> IO[bytes]:
    """Open a regular file. Raises UnreadableRefusal."""
    try:
        return os.fdopen(open_regular(path), "rb")
    except OSError as error:
        raise _unreadable(path, os_error_text(error)) from error


def open_to_append(path: Path) -> tuple[IO[bytes], bool]:
    """Open a regular file for reading and writing and lock it; the second value tells whether it was made.

    Raises UnwritableRefusal, and then what is there was not touched.
    """
    is_new = not os.path.lexists(path)
    try:
        file = os.fdopen(open_regular(path, os.O_RDWR | os.O_CREAT), "r+b")
    except OSError as error:
        raise unwritable_refusal(path, error) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise UnwritableRefusal(
            f"another process writes to {display_path(path)}", "wait for it, or name another"
        ) from error
    except OSError:
        pass  # a file system without locks
    return file, is_new


def unwritable_refusal(path: Path, error: OSError) -> UnwritableRefusal:
    """Return the refusal for a file that cannot be written."""
    return UnwritableRefusal(
        f"{display_path(path)} cannot be written: {os_error_text(error)}", "mend that, or name another file"
    )


def _unreadable(path: Path, cause: str) -> UnreadableRefusal:
    return UnreadableRefusal(f"{display_path(path)} cannot be read: {cause}", "name a capture file")
