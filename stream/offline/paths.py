"""Opens paths that users enter. Never blocks; paths that are not regular files are refused in one line."""

import fcntl
import os
import stat
from pathlib import Path
from typing import IO, Final

from decoders.log.files import kind_of, open_regular
from stream.offline.rows import UnreadableRefusal, UnwritableRefusal

_LONGEST_SHOWN: Final = 200


def display_path(path: Path) -> str:
    """Return a path for a message; a very long one is shortened in the middle."""
    text = str(path)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:100]}...{text[-60:]} ({len(text)} characters)"


def os_error_text(error: OSError) -> str:
    """Return the message of the system, without error number and path."""
    return error.strerror or str(error)


def is_directory(path: Path) -> bool:
    """Return True for a directory, False for a regular file. Raises UnreadableRefusal for other paths."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise unreadable(path, os_error_text(error)) from error
    if stat.S_ISDIR(mode):
        return True
    kind = kind_of(mode)
    if kind is not None:
        raise unreadable(path, f"it is {kind}, not a regular file")
    return False


def open_to_read(path: Path) -> IO[bytes]:
    """Open a regular file. Raises UnreadableRefusal."""
    try:
        return os.fdopen(open_regular(path), "rb")
    except OSError as error:
        raise unreadable(path, os_error_text(error)) from error


def open_to_append(path: Path) -> tuple[IO[bytes], bool]:
    """Open a regular file for reading and writing, and lock it. Returns the file, and whether it was created.

    Raises UnwritableRefusal; an existing file is then unchanged.
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
        pass  # the file system does not support locks
    return file, is_new


def unwritable_refusal(path: Path, error: OSError) -> UnwritableRefusal:
    """Return the refusal for a file that cannot be written."""
    return UnwritableRefusal(
        f"{display_path(path)} cannot be written: {os_error_text(error)}", "fix the cause, or name another file"
    )


def unreadable(path: Path, cause: str) -> UnreadableRefusal:
    """Return the refusal for a path that cannot be read."""
    return UnreadableRefusal(f"{display_path(path)} cannot be read: {cause}", "name a capture file")
