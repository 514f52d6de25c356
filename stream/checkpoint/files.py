"""Reads files that Spark wrote through Hadoop's local file system, and holds them against their checksums.

Hadoop keeps the checksums of `NAME` in `.NAME.crc`: `crc`, a zero byte, how many bytes each sum is of, then the CRC-32
of each piece.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CRC_HEADER: Final = struct.Struct(">4sI")
_CRC_MAGIC: Final = b"crc\0"
_AT_ONCE: Final = 1 << 22


class DamagedError(Exception):
    """A file of the checkpoint is missing or damaged. The text names the file and says what is wrong with it."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path} {problem}")


def whole(path: Path) -> str:
    """Read a text file and hold it against its checksums. Raises DamagedError, and PermissionError."""
    check_sums(path)
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise DamagedError(path, "is no text") from error


def sums_of(path: Path) -> Path:
    """Return where Hadoop keeps the checksums of a file."""
    return path.with_name(f".{path.name}.crc")


def check_sums(path: Path) -> None:
    """Read a file and hold it against its checksums, if it has any. Raises DamagedError, and PermissionError."""
    try:
        kept = sums_of(path).read_bytes() if sums_of(path).exists() else b""
        header = _CRC_HEADER.unpack_from(kept) if len(kept) >= _CRC_HEADER.size else (b"", 0)
        each = header[1] if header[0] == _CRC_MAGIC else 0  # Hadoop ignores a file with another beginning
        found = b"".join(_sums(path, each))
    except FileNotFoundError as error:
        raise DamagedError(path, "is missing") from error
    except PermissionError:
        raise  # a right to give, not damage
    except OSError as error:
        raise DamagedError(path, f"cannot be read ({error.strerror})") from error
    if each and found != kept[_CRC_HEADER.size :]:
        raise DamagedError(path, f"does not match its checksum in {sums_of(path).name}")


def _sums(path: Path, each: int) -> Iterator[bytes]:
    """Read a file and return the checksum of every `each` bytes; none where that is 0."""
    size = max(1, _AT_ONCE // each) * each if each else _AT_ONCE
    with path.open("rb") as file:
        while content := file.read(size):
            pieces = range(0, len(content), each) if each else ()
            yield from (zlib.crc32(content[at : at + each]).to_bytes(4, "big") for at in pieces)
