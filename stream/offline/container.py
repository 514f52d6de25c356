"""Reads the blocks of an Avro container file one at a time, with limits: framing, compression, and how a file ends.

fastavro decodes the rows. The framing is read here to distinguish a torn last block, which may be cut off, from damage,
an unknown codec and read errors of the system.

Source: Apache Avro 1.12 specification, "Object Container Files".
"""

import dataclasses
import enum
import io
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, Final

import fastavro

MAX_BLOCK_BYTES: Final = 64 << 20
"""The maximum size of a block in bytes, both compressed and uncompressed."""
MAX_BLOCK_ROWS: Final = 1 << 18
"""The maximum number of rows of a block, several times that of a block of `CaptureWriter` with the smallest rows."""
MAX_HEADER_BYTES: Final = 1 << 20
SYNC_BYTES: Final = 16
_LONGEST_NUMBER: Final = 10
_SCAN: Final = 1 << 20


class ContainerError(ValueError):
    """The header is not that of a container file, or names an unsupported codec."""


class ContainerEnd(enum.Enum):
    """Why no further block follows."""

    WHOLE = "the file ends with a whole block"
    TORN = "the file ends inside a block, and nothing follows"
    DAMAGED = "a block is damaged, or data follows an incomplete block"


@dataclasses.dataclass(frozen=True, slots=True)
class RawBlock:
    """One block: the number of its rows, their uncompressed bytes, and its start and end in the file."""

    count: int
    data: bytes
    start: int
    end: int


@dataclasses.dataclass(frozen=True, slots=True)
class Header:
    """The header of the file. The first block starts at `end`."""

    metadata: dict[str, str]
    schema: Any
    codec: str
    sync: bytes
    end: int


class _BlockError(ValueError):
    """A block does not conform to the format."""


class _TooShort(ValueError):  # noqa: N818 -- not yet an error: the file may be torn here
    """A block ends beyond the end of the file."""


def read_header(file: IO[bytes]) -> Header:
    """Return the header. Raises ContainerError and OSError."""
    file.seek(0)
    beginning = io.BytesIO(file.read(MAX_HEADER_BYTES))
    try:
        container = fastavro.block_reader(beginning)
    except Exception as error:  # the file may contain anything
        raise ContainerError("is not an Avro container file") from error
    end = beginning.tell()
    codec = container.metadata.get("avro.codec", "null")
    if codec not in _CODECS:
        raise ContainerError(f"is compressed with codec {codec[:40]!r}, which is not supported")
    return Header(container.metadata, container.writer_schema, codec, beginning.getvalue()[end - SYNC_BYTES : end], end)


class BlockReader:
    """Reads the blocks of an open file in order. Afterwards `ending` and `why` say why it ended at `position`.

    OSErrors are raised: a read error is not the end of the file.
    """

    def __init__(self, file: IO[bytes], header: Header, start: int | None = None) -> None:
        self.position = header.end if start is None else start
        self.ending: ContainerEnd | None = None
        self.why = ""
        self._file = file
        self._header = header

    def blocks(self) -> Iterator[RawBlock]:
        """Yield the blocks up to the end of the file, or to the first invalid one."""
        while (block := self._next()) is not None:
            yield block
            self.position = block.end

    def reject(self, why: str) -> None:
        """Mark the block at `position` as damaged, because its rows are invalid."""
        self.ending, self.why = ContainerEnd.DAMAGED, why

    def _next(self) -> RawBlock | None:
        if self.ending is not None:
            return None
        try:
            return self._read()
        except _TooShort:
            self._end_early()
        except _BlockError as fault:
            self.reject(str(fault))
        return None

    def _read(self) -> RawBlock | None:
        self._file.seek(self.position)
        head = self._file.read(2 * _LONGEST_NUMBER)
        if not head:
            self.ending = ContainerEnd.WHOLE
            return None
        count, at = _number(head, 0)
        length, at = _number(head, at)
        if not 0 <= count <= MAX_BLOCK_ROWS:
            raise _BlockError(f"a block of {count} rows")
        if not 0 <= length <= MAX_BLOCK_BYTES:
            raise _BlockError(f"a block of {length} bytes")
        self._file.seek(self.position + at)
        compressed = self._file.read(length)
        sync = self._file.read(SYNC_BYTES)
        if len(compressed) < length or len(sync) < SYNC_BYTES:
            raise _TooShort
        if sync != self._header.sync:
            raise _BlockError("the sync marker after the block is wrong")
        data = _CODECS[self._header.codec](compressed)
        return RawBlock(count, data, self.position, self.position + at + length + SYNC_BYTES)

    def _end_early(self) -> None:
        """Set `ending` to torn, or to damaged if a sync marker follows: then the length of the block is wrong."""
        self.ending, self.why = ContainerEnd.TORN, "it ends inside a block"
        position, tail = self.position, b""
        self._file.seek(position)
        while chunk := self._file.read(_SCAN):
            if self._header.sync in tail + chunk:
                self.reject("the length of a block exceeds the file")
                return
            tail = chunk[-SYNC_BYTES + 1 :]
            position += len(chunk)
        if position - self.position > MAX_BLOCK_BYTES + 2 * _LONGEST_NUMBER + SYNC_BYTES:
            self.reject("the remaining bytes exceed the maximum size of a block")


def _number(raw: bytes, at: int) -> tuple[int, int]:
    """Return the zigzag number at a position, and the position after it."""
    value = 0
    for place in range(_LONGEST_NUMBER):
        if at + place >= len(raw):
            raise _TooShort
        byte = raw[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at + place + 1
    raise _BlockError("a number of more than ten bytes")


# --- decompression, up to the limit


def _plain(data: bytes) -> bytes:
    return data


def _inflate(data: bytes) -> bytes:
    decompressor = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        expanded = decompressor.decompress(data, MAX_BLOCK_BYTES + 1)
    except zlib.error as error:
        raise _BlockError(f"it cannot be decompressed: {error}") from None
    if len(expanded) > MAX_BLOCK_BYTES:
        raise _BlockError(f"it expands to more than {MAX_BLOCK_BYTES} bytes")
    if not decompressor.eof:
        raise _BlockError("its compressed data is incomplete")
    return expanded


_CODECS: Final[dict[str, Callable[[bytes], bytes]]] = {"null": _plain, "deflate": _inflate}
"""The codecs that every Avro program has. `CaptureWriter` uses deflate."""
