"""Reads the blocks of an Avro container file one at a time, with limits: framing, compression, and how a file ends.

fastavro decodes the rows. The framing is read here to distinguish a torn last block, which may be cut off, from damage,
an unknown codec and read errors of the system.

Source: Apache Avro 1.12 specification, "Object Container Files".
"""

import dataclasses
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


class TornBlockError(ValueError):
    """The file ends inside a block, and nothing follows."""


class DamagedBlockError(ValueError):
    """A block does not conform to the format, or data follows an incomplete block."""


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


def read_blocks(file: IO[bytes], header: Header, start: int) -> Iterator[RawBlock]:
    """Yield the blocks of an open file from a position on, in order.

    Raises TornBlockError, DamagedBlockError, and OSError: a read error of the system is not the end of the file.
    """
    position = start
    while True:
        try:
            block = _read(file, header, position)
        except _TooShort:
            _refuse_damage(file, header, position)
            raise TornBlockError("it ends inside a block") from None
        if block is None:
            return
        yield block
        position = block.end


def _read(file: IO[bytes], header: Header, position: int) -> RawBlock | None:
    file.seek(position)
    head = file.read(2 * _LONGEST_NUMBER)
    if not head:
        return None
    count, at = _number(head, 0)
    length, at = _number(head, at)
    if not 0 <= count <= MAX_BLOCK_ROWS:
        raise DamagedBlockError(f"a block of {count} rows")
    if not 0 <= length <= MAX_BLOCK_BYTES:
        raise DamagedBlockError(f"a block of {length} bytes")
    file.seek(position + at)
    compressed = file.read(length)
    sync = file.read(SYNC_BYTES)
    if len(compressed) < length or len(sync) < SYNC_BYTES:
        raise _TooShort
    if sync != header.sync:
        raise DamagedBlockError("the sync marker after the block is wrong")
    return RawBlock(count, _CODECS[header.codec](compressed), position, position + at + length + SYNC_BYTES)


def _refuse_damage(file: IO[bytes], header: Header, start: int) -> None:
    """Raise DamagedBlockError if a sync marker follows, so that the length of the block is wrong, or too many bytes."""
    position, tail = start, b""
    file.seek(position)
    while chunk := file.read(_SCAN):
        if header.sync in tail + chunk:
            raise DamagedBlockError("the length of a block exceeds the file")
        tail = chunk[-SYNC_BYTES + 1 :]
        position += len(chunk)
    if position - start > MAX_BLOCK_BYTES + 2 * _LONGEST_NUMBER + SYNC_BYTES:
        raise DamagedBlockError("the remaining bytes exceed the maximum size of a block")


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
    raise DamagedBlockError("a number of more than ten bytes")


# --- decompression, up to the limit


def _inflate(data: bytes) -> bytes:
    decompressor = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        expanded = decompressor.decompress(data, MAX_BLOCK_BYTES + 1)
    except zlib.error as error:
        raise DamagedBlockError(f"it cannot be decompressed: {error}") from None
    if len(expanded) > MAX_BLOCK_BYTES:
        raise DamagedBlockError(f"it expands to more than {MAX_BLOCK_BYTES} bytes")
    if not decompressor.eof:
        raise DamagedBlockError("its compressed data is incomplete")
    return expanded


_CODECS: Final[dict[str, Callable[[bytes], bytes]]] = {"null": bytes, "deflate": _inflate}
"""The codecs that every Avro program has. `CaptureWriter` uses deflate."""
