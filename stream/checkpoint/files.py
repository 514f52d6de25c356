"""Reads files that Spark wrote through Hadoop's file systems, and verifies the checksums of local ones.

Hadoop keeps the checksums of `NAME` in `.NAME.crc`: `crc`, a zero byte, the number of bytes per checksum, then the
CRC-32 of each chunk.
"""

import contextlib
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from stream.checkpoint.objects.path import ObjectPath

CheckpointPath = Path | ObjectPath
"""A file or folder of a checkpoint: in a directory, or in an object store."""

_CRC_HEADER: Final = struct.Struct(">4sI")
_CRC_MAGIC: Final = b"crc\0"
_AT_ONCE: Final = 1 << 22


class DamagedError(Exception):
    """A file of the checkpoint is missing or damaged. The text has the file and the problem."""

    def __init__(self, path: CheckpointPath, problem: str) -> None:
        super().__init__(f"{path} {problem}")


def listed(path: CheckpointPath) -> CheckpointPath:
    """Return the path; in an object store with everything below it listed, instead of a request per question."""
    return path.listed() if isinstance(path, ObjectPath) else path


def rename(path: CheckpointPath, target: CheckpointPath) -> None:
    """Rename a file or folder; `target` must be in the same storage. Raises OSError."""
    path.rename(target)  # type: ignore[arg-type]


def replace_bytes(path: CheckpointPath, content: bytes) -> None:
    """Replace the content of a file atomically. Raises OSError."""
    if isinstance(path, ObjectPath):
        path.write_bytes(content)
        return
    # Hidden: readers of a folder of tables leave it out.
    draft = path.with_name(f".{path.name}.new")
    try:
        with draft.open("wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        draft.replace(path)
        _sync_folder(path.parent)
    except OSError:
        # On a full disk, half a file would take space that others need.
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    """Make a rename in a folder survive a loss of power. Some network volumes cannot; the file is whole there too."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def whole(path: CheckpointPath) -> str:
    """Return the content of a text file after verifying its checksums. Raises DamagedError and OSError.

    OSError is a missing right, or an object store that does not answer: the file may be sound.
    """
    check_sums(path)
    try:
        text = path.read_bytes().decode()
    except FileNotFoundError as error:
        raise DamagedError(path, "is missing") from error
    except UnicodeDecodeError as error:
        raise DamagedError(path, "is not UTF-8 text") from error
    # An empty file is one that a full disk left, and is named so by its reader.
    if text and isinstance(path, Path) and _lost_sums(path):
        raise DamagedError(path, f"has no checksum in {sums_of(path).name}, although other files beside it have one")
    return text


def _lost_sums(path: Path) -> bool:
    """Return whether a file has no checksums although others beside it have some.

    A kill between the two renames of Hadoop, of the file and of its checksums, leaves those of the draft.
    """
    others, draft = path.parent.glob(".*.crc"), path.parent.glob(f"..{path.name}.*.tmp.crc")
    return not sums_of(path).exists() and any(others) and not any(draft)


def sums_of(path: Path) -> Path:
    """Return the path of a file's checksums."""
    return path.with_name(f".{path.name}.crc")


def check_regular(path: CheckpointPath) -> None:
    """Raise DamagedError if a file is there and is none to read: opening a named pipe would wait for ever."""
    if isinstance(path, Path) and path.exists() and not path.is_file():
        raise DamagedError(path, "is not a regular file")


def check_sums(path: CheckpointPath) -> None:
    """Verify the checksums of a file, if it has any. Raises DamagedError and OSError as `whole` does.

    An object has none in another object: the store compares its content with checksums of its own.
    """
    if isinstance(path, ObjectPath):
        if not path.is_file():
            raise DamagedError(path, "is missing")
        return
    for file in (path, sums_of(path)):
        check_regular(file)
    try:
        kept = sums_of(path).read_bytes() if sums_of(path).exists() else b""
        header = _CRC_HEADER.unpack_from(kept) if len(kept) >= _CRC_HEADER.size else (b"", 0)
        each = header[1] if header[0] == _CRC_MAGIC else 0  # Hadoop ignores a file with another beginning
        found = b"".join(_sums(path, each))
    except FileNotFoundError as error:
        raise DamagedError(path, "is missing") from error
    except PermissionError:
        raise  # a missing right, not damage
    except OSError as error:
        raise DamagedError(path, f"cannot be read ({error.strerror})") from error
    if each and found != kept[_CRC_HEADER.size :]:
        raise DamagedError(path, f"does not match its checksum in {sums_of(path).name}")


def _sums(path: Path, each: int) -> Iterator[bytes]:
    """Yield the checksum of every `each` bytes of a file; none if that is 0."""
    size = max(1, _AT_ONCE // each) * each if each else _AT_ONCE
    with path.open("rb") as file:
        while content := file.read(size):
            chunks = range(0, len(content), each) if each else ()
            yield from (zlib.crc32(content[at : at + each]).to_bytes(4, "big") for at in chunks)
