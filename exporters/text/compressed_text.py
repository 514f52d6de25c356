"""Texts that are compressed once and joined in any selection: into a plain response, or into one valid gzip member.

A text is kept as raw deflate blocks that end at a byte boundary (RFC 1951: a full flush), with its length and CRC-32.
Texts and their checksums can therefore be joined without reading their bytes again. A short text is also kept
uncompressed. A long one is not, because plain text would be most of the memory of the process; it is inflated for each
client that requests it uncompressed, a slice at a time.
"""

from __future__ import annotations

import dataclasses
import functools
import struct
from collections.abc import Iterable, Iterator
from typing import Final, Self

from isal import isal_zlib

KEPT_PLAIN: Final = 256 << 10
"""Texts up to this length in bytes are also kept uncompressed. A megabyte is inflated in 0.4 ms."""

# On text this repetitive, levels above take up to nine times as long and save a fiftieth.
_LEVEL: Final = 1
# RFC 1952: magic, deflate, no flags, no time, fastest, unknown system.
_GZIP_HEADER: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"
_INFLATE_AT_ONCE: Final = 16 * 1024
"""Compressed bytes that are inflated in one step: usually some hundred kilobytes of text."""


@dataclasses.dataclass(frozen=True, slots=True)
class InflatedText:
    """A long text that is inflated for each reader; iterates over its slices. Its length is known in advance."""

    deflated: bytes
    length: int

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[bytes]:
        inflate = isal_zlib.decompressobj(-isal_zlib.MAX_WBITS)
        for start in range(0, len(self.deflated), _INFLATE_AT_ONCE):
            yield inflate.decompress(self.deflated[start : start + _INFLATE_AT_ONCE])


PlainText = bytes | InflatedText
"""A part of an uncompressed response."""


@dataclasses.dataclass(frozen=True, slots=True)
class TextChecksum:
    """Length and CRC-32 of a text."""

    length: int = 0
    checksum: int = 0

    def then(self, other: TextChecksum) -> TextChecksum:
        """Return the length and checksum of this text followed by the other."""
        checksum = isal_zlib.crc32_combine(self.checksum, other.checksum, other.length)
        return TextChecksum(self.length + other.length, checksum)


EMPTY_CHECKSUM: Final = TextChecksum()


@dataclasses.dataclass(frozen=True, slots=True)
class CompressedText:
    """A compressed text with its checksum, and the text itself if it is short (else None)."""

    deflated: bytes
    checksum: TextChecksum
    kept: bytes | None

    @staticmethod
    def compress(text: bytes) -> CompressedText:
        """Return a text in its compressed form."""
        return TextCompressor().add(text).finish()

    @property
    def plain(self) -> PlainText:
        """The text itself."""
        return InflatedText(self.deflated, self.checksum.length) if self.kept is None else self.kept


class TextCompressor:
    """Compresses a text that arrives in parts."""

    def __init__(self) -> None:
        self._deflate = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, -isal_zlib.MAX_WBITS)
        self._blocks: list[bytes] = []
        self._kept: list[bytes] = []
        self._length = self._checksum = 0

    def add(self, text: bytes) -> Self:
        """Append the next part."""
        self._blocks.append(self._deflate.compress(text))
        self._length, self._checksum = self._length + len(text), isal_zlib.crc32(text, self._checksum)
        if self._length <= KEPT_PLAIN:
            self._kept.append(text)
        else:
            self._kept.clear()
        return self

    def finish(self) -> CompressedText:
        """Return the compressed text. Nothing can be added afterwards."""
        self._blocks.append(self._deflate.flush(isal_zlib.Z_FULL_FLUSH))
        kept = b"".join(self._kept) if self._length <= KEPT_PLAIN else None
        return CompressedText(b"".join(self._blocks), TextChecksum(self._length, self._checksum), kept)


def total_checksum(texts: Iterable[CompressedText]) -> TextChecksum:
    """Return the length and checksum of the concatenation of texts."""
    return functools.reduce(TextChecksum.then, (text.checksum for text in texts), EMPTY_CHECKSUM)


def gzip_member(texts: Iterable[CompressedText], total: TextChecksum, last: bytes) -> list[bytes]:
    """Return one gzip member, in parts, of texts with the checksum `total`, followed by the short text `last`."""
    deflate = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, -isal_zlib.MAX_WBITS)
    blocks = deflate.compress(last) + deflate.flush(isal_zlib.Z_FINISH)
    whole = total.then(TextChecksum(len(last), isal_zlib.crc32(last)))
    trailer = struct.pack("<II", whole.checksum, whole.length & 0xFFFFFFFF)
    return [_GZIP_HEADER, *(text.deflated for text in texts), blocks, trailer]
