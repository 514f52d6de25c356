"""Texts that are compressed once and joined in any selection: into a plain response, or into one valid gzip member.

A text is kept as raw deflate blocks that end at a byte boundary (RFC 1951: a full flush), with its length and CRC-32.
Texts can therefore be joined without reading their bytes again: the checksums are combined by arithmetic. A short text
is also kept uncompressed. A long one is not, because plain text would be most of the memory of the process; it is
inflated for each client that requests it uncompressed, a slice at a time.
"""

from __future__ import annotations

import dataclasses
import functools
import struct
import zlib
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

KEPT_PLAIN: Final = 4 << 20
"""Texts up to this length in bytes are also kept uncompressed: five metrics of 40,000 partitions."""

# Level 1: on text this repetitive, level 6 takes five times as long and saves a tenth.
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
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
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
        return TextChecksum(self.length + other.length, crc32_joined(self.checksum, other.checksum, other.length))


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
        self._deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        self._blocks: list[bytes] = []
        self._kept: list[bytes] = []
        self._length = self._checksum = 0

    def add(self, text: bytes) -> Self:
        """Append the next part."""
        self._blocks.append(self._deflate.compress(text))
        self._length, self._checksum = self._length + len(text), zlib.crc32(text, self._checksum)
        if self._length <= KEPT_PLAIN:
            self._kept.append(text)
        else:
            self._kept.clear()
        return self

    def finish(self) -> CompressedText:
        """Return the compressed text. Nothing can be added afterwards."""
        self._blocks.append(self._deflate.flush(zlib.Z_FULL_FLUSH))
        kept = b"".join(self._kept) if self._length <= KEPT_PLAIN else None
        return CompressedText(b"".join(self._blocks), TextChecksum(self._length, self._checksum), kept)


def total_checksum(texts: Iterable[CompressedText]) -> TextChecksum:
    """Return the length and checksum of the concatenation of texts."""
    return functools.reduce(TextChecksum.then, (text.checksum for text in texts), EMPTY_CHECKSUM)


def gzip_member(texts: Iterable[CompressedText], total: TextChecksum, last: bytes) -> list[bytes]:
    """Return one gzip member, in parts, of texts with the checksum `total`, followed by the short text `last`."""
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    blocks = deflate.compress(last) + deflate.flush(zlib.Z_FINISH)
    whole = total.then(TextChecksum(len(last), zlib.crc32(last)))
    trailer = struct.pack("<II", whole.checksum, whole.length & 0xFFFFFFFF)
    return [_GZIP_HEADER, *(text.deflated for text in texts), blocks, trailer]


_POLYNOMIAL: Final = 0xEDB88320


def crc32_joined(first: int, second: int, second_length: int) -> int:
    """Return the CRC-32 of the concatenation of two texts from the CRC-32 of each (as zlib's `crc32_combine`).

    A checksum is a polynomial over GF(2) with its lowest power in the highest bit. Appending n zero bytes to the first
    text multiplies its checksum by x^(8n).
    """
    return _product(_power_of_bytes(second_length), first) ^ second


@functools.lru_cache(maxsize=1024)
def _power_of_bytes(count: int) -> int:
    """Return x^(8 * count)."""
    power, doubled, bits = 1 << 31, 3, count  # x^0; x^(2^3) is one byte
    while bits:
        if bits & 1:
            power = _product(_squared(doubled), power)
        bits >>= 1
        doubled += 1
    return power


@functools.cache
def _squared(times: int) -> int:
    """Return x squared `times` times: x^(2^times)."""
    if times == 0:
        return 1 << 30
    root = _squared(times - 1)
    return _product(root, root)


def _product(one: int, other: int) -> int:
    """Return the product of two polynomials modulo the polynomial of CRC-32."""
    product, bit = 0, 1 << 31
    while one:
        if one & bit:
            product ^= other
            one ^= bit
        bit >>= 1
        other = (other >> 1) ^ _POLYNOMIAL if other & 1 else other >> 1
    return product
