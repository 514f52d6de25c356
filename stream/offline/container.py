"""The blocks of an Avro container file, one at a time and within bounds: framing, compression, and how a file ends.

fastavro decodes the rows. The frames are read here, because a reader that cannot tell a torn last block from damage,
from an unknown codec or from a failing disk cannot tell what may be cut off.

Source: Apache Avro 1.12 specification, "Object Container Files".
"""

from __future__ import annotations

import bz2
import dataclasses
import enum
import io
import lzma
import zlib
from typing import IO, TYPE_CHECKING, Any, Final

import cramjam
import fastavro

from decoders.log.codecs import Codec, decompress
from decoders.log.errors import Damaged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_BLOCK_BYTES: Final = 64 << 20
"""Bytes of a block, compressed or not, that are accepted."""
MAX_BLOCK_ROWS: Final = 1 << 18
"""Rows of a block that are accepted: some times what the smallest rows need in the blocks that are written here."""
MAX_HEADER_BYTES: Final = 1 << 20
SYNC_BYTES: Final = 16
_LONGEST_NUMBER: Final = 10
_SCAN: Final = 1 << 20


class ContainerError(ValueError):
    """The header is not that of a container file, or needs something that is not known here."""


class ContainerEnd(enum.Enum):
    """Why no block follows."""

    WHOLE = "the file ends with a whole block"
    TORN = "the file ends inside a block, behind which there is nothing"
    DAMAGED = "a block is damaged, or the file goes on behind an incomplete one"


@dataclasses.dataclass(frozen=True, slots=True)
class RawBlock:
    """One block: how many rows, their bytes, and where in the file it lies."""

    count: int
    data: bytes
    start: int
    end: int


@dataclasses.dataclass(frozen=True, slots=True)
class Header:
    """What stands before the first block, which begins at `end`."""

    metadata: dict[str, str]
    schema: Any
    codec: str
    sync: bytes
    end: int


class _BlockError(ValueError):
    """The bytes of a block contradict the format."""


class _TooShort(ValueError):  # noqa: N818 -- no error yet: the file may be torn here
    """A block runs past the end of the file."""


def read_header(file: IO[bytes]) -> Header:
    """Read the header. Raises ContainerError, and OSError."""
    file.seek(0)
    beginning = io.BytesIO(file.read(MAX_HEADER_BYTES))
    try:
        container = fastavro.block_reader(beginning)
    except Exception as error:  # any bytes at all may stand there
        raise ContainerError("is no Avro container file") from error
    end = beginning.tell()
    codec = container.metadata.get("avro.codec", "null")
    if codec not in _CODECS:
        raise ContainerError(f"is compressed with codec {codec[:40]!r}, which is not known here")
    return Header(container.metadata, container.writer_schema, codec, beginning.getvalue()[end - SYNC_BYTES : end], end)


class BlockReader:
    """Reads the blocks of an open file in order; afterwards `ending` and `why` say how that ended, at byte `position`.

    OSErrors are raised: a failing disk is not the end of the file.
    """

    def __init__(self, file: IO[bytes], header: Header, start: int | None = None) -> None:
        self.position = header.end if start is None else start
        self.ending: ContainerEnd | None = None
        self.why = ""
        self._file = file
        self._header = header

    def blocks(self) -> Iterator[RawBlock]:
        """Give the blocks up to the end of the file, or to the first that is not whole and right."""
        while (block := self._next()) is not None:
            yield block
            self.position = block.end

    def reject(self, why: str) -> None:
        """Declare the block at `position` damaged, for what its rows say."""
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
            raise _BlockError("the mark behind the block is another")
        data = _CODECS[self._header.codec](compressed)
        return RawBlock(count, data, self.position, self.position + at + length + SYNC_BYTES)

    def _end_early(self) -> None:
        """Tell a torn last block from a damaged length: behind the latter stands the mark of a whole block."""
        self.ending, self.why = ContainerEnd.TORN, "it ends inside a block"
        position, kept = self.position, b""
        self._file.seek(position)
        while piece := self._file.read(_SCAN):
            if self._header.sync in kept + piece:
                self.reject("a block claims more bytes than there are")
                return
            kept = piece[-SYNC_BYTES + 1 :]
            position += len(piece)
        if position - self.position > MAX_BLOCK_BYTES + 2 * _LONGEST_NUMBER + SYNC_BYTES:
            self.reject("no block is as long as what follows")


def _number(raw: bytes, at: int) -> tuple[int, int]:
    """Read a zigzag number."""
    value = 0
    for place in range(_LONGEST_NUMBER):
        if at + place >= len(raw):
            raise _TooShort
        byte = raw[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at + place + 1
    raise _BlockError("a number of more than ten bytes")


# --- compression, never beyond the limit


def _too_large() -> _BlockError:
    return _BlockError(f"it expands to more than {MAX_BLOCK_BYTES} bytes")


def _plain(data: bytes) -> bytes:
    return data


def _inflate(data: bytes) -> bytes:
    return _expand(zlib.decompressobj(-zlib.MAX_WBITS), data)


def _bunzip2(data: bytes) -> bytes:
    return _expand(bz2.BZ2Decompressor(), data)


def _unxz(data: bytes) -> bytes:
    return _expand(lzma.LZMADecompressor(memlimit=2 * MAX_BLOCK_BYTES), data)


def _expand(decompressor: Any, data: bytes) -> bytes:
    try:
        expanded: bytes = decompressor.decompress(data, MAX_BLOCK_BYTES + 1)
    except (zlib.error, lzma.LZMAError, OSError, ValueError, EOFError) as error:
        raise _BlockError(f"it cannot be decompressed: {error}") from None
    if len(expanded) > MAX_BLOCK_BYTES:
        raise _too_large()
    if not decompressor.eof:
        raise _BlockError("its compressed bytes are cut short")
    return expanded


def _unsnappy(data: bytes) -> bytes:
    """Expand a raw snappy block with the checksum of its content behind it."""
    block, checksum = data[:-4], data[-4:]
    try:
        if cramjam.snappy.decompress_raw_len(block) > MAX_BLOCK_BYTES:
            raise _too_large()
        expanded = bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise _BlockError(f"it cannot be decompressed: {error}") from None
    if zlib.crc32(expanded).to_bytes(4, "big") != checksum:
        raise _BlockError("its checksum does not fit")
    return expanded


def _unzstd(data: bytes) -> bytes:
    try:
        return decompress(Codec.ZSTD, data, limit=MAX_BLOCK_BYTES)
    except Damaged as damage:
        raise _BlockError(f"it cannot be decompressed: {damage}") from None


_CODECS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "null": _plain,
    "deflate": _inflate,
    "bzip2": _bunzip2,
    "xz": _unxz,
    "snappy": _unsnappy,
    "zstandard": _unzstd,
}
WRITABLE_CODECS: Final = frozenset({"null", "deflate", "bzip2", "xz", "snappy"})
"""The codecs in which a file can also be gone on with."""
