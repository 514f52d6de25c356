"""Pieces of text that are compressed once and joined in any choice: into a plain answer, or into one valid gzip member.

A piece is kept as raw deflate blocks that end at a byte border (RFC 1951: a full flush), with its length and checksum.
Pieces can so be joined without reading their bytes again: checksums combine by arithmetic. A short piece also stays as
it is. A long one does not, its plain text would be most of the process's memory: it is inflated for those who ask for
it, a slice at a time.
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
"""Up to so many bytes of text are kept beside their compressed form: five metrics of 40,000 partitions."""

# Level 1: on such repetitive text level 6 takes five times as long to save a tenth.
_LEVEL: Final = 1
# RFC 1952: magic, deflate, no flags, no time, fastest, unknown system.
_GZIP_HEADER: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"
_INFLATE_AT_ONCE: Final = 16 * 1024
"""Compressed bytes that are inflated in one go: mostly some hundred kilobytes of text."""


@dataclasses.dataclass(frozen=True, slots=True)
class InflatedText:
    """A long text, made anew for each reader; its length is known before."""

    deflated: bytes
    length: int

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[bytes]:
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        for start in range(0, len(self.deflated), _INFLATE_AT_ONCE):
            yield inflate.decompress(self.deflated[start : start + _INFLATE_AT_ONCE])


PlainText = bytes | InflatedText
"""A part of a plain answer."""


@dataclasses.dataclass(frozen=True, slots=True)
class TextChecksum:
    """Length and checksum (CRC-32) of a text."""

    length: int = 0
    checksum: int = 0

    def then(self, other: TextChecksum) -> TextChecksum:
        """Give the sum of this text with the other behind it."""
        return TextChecksum(self.length + other.length, crc32_joined(self.checksum, other.checksum, other.length))


EMPTY_CHECKSUM: Final = TextChecksum()


@dataclasses.dataclass(frozen=True, slots=True)
class CompressedText:
    """A text: compressed, its sum, and as it is if it is short."""

    deflated: bytes
    sum: TextChecksum
    kept: bytes | None

    @staticmethod
    def compress(text: bytes) -> CompressedText:
        """Compress a text."""
        return TextCompressor().add(text).piece()

    @property
    def plain(self) -> PlainText:
        """The text itself."""
        return InflatedText(self.deflated, self.sum.length) if self.kept is None else self.kept


class TextCompressor:
    """Makes a piece of a text that comes bit by bit."""

    def __init__(self) -> None:
        self._deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        self._blocks: list[bytes] = []
        self._kept: list[bytes] = []
        self._length = self._checksum = 0

    def add(self, text: bytes) -> Self:
        """Take in what comes next."""
        self._blocks.append(self._deflate.compress(text))
        self._length, self._checksum = self._length + len(text), zlib.crc32(text, self._checksum)
        if self._length <= KEPT_PLAIN:
            self._kept.append(text)
        else:
            self._kept.clear()
        return self

    def piece(self) -> CompressedText:
        """Give what was written. Nothing can be added after."""
        self._blocks.append(self._deflate.flush(zlib.Z_FULL_FLUSH))
        kept = b"".join(self._kept) if self._length <= KEPT_PLAIN else None
        return CompressedText(b"".join(self._blocks), TextChecksum(self._length, self._checksum), kept)


def total_checksum(pieces: Iterable[CompressedText]) -> TextChecksum:
    """Give the sum of pieces that stand one behind the other."""
    return functools.reduce(TextChecksum.then, (piece.sum for piece in pieces), EMPTY_CHECKSUM)


def gzip_member(pieces: Iterable[CompressedText], total: TextChecksum, live: bytes) -> list[bytes]:
    """Give one gzip member of pieces, whose sum is `total`, and of a short text behind them, in parts."""
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    blocks = deflate.compress(live) + deflate.flush(zlib.Z_FINISH)
    every = total.then(TextChecksum(len(live), zlib.crc32(live)))
    trailer = struct.pack("<II", every.checksum, every.length & 0xFFFFFFFF)
    return [_GZIP_HEADER, *(piece.deflated for piece in pieces), blocks, trailer]


_POLYNOMIAL: Final = 0xEDB88320


def crc32_joined(first: int, second: int, second_length: int) -> int:
    """Give the CRC-32 of two texts one behind the other from those of each (as zlib's `crc32_combine`).

    A checksum is a polynomial over GF(2), lowest power in the highest bit; so many zero bytes behind the first text
    multiply its own by x to the power of eight times as many.
    """
    return _times(_zero_bytes(second_length), first) ^ second


@functools.lru_cache(maxsize=1024)
def _zero_bytes(count: int) -> int:
    power, doubled, bits = 1 << 31, 3, count  # x^0; x^(2^3) is one byte
    while bits:
        if bits & 1:
            power = _times(_squared(doubled), power)
        bits >>= 1
        doubled += 1
    return power


@functools.cache
def _squared(times: int) -> int:
    """Give x, squared so many times."""
    if times == 0:
        return 1 << 30
    before = _squared(times - 1)
    return _times(before, before)


def _times(one: int, other: int) -> int:
    """Multiply two polynomials modulo that of CRC-32."""
    product, bit = 0, 1 << 31
    while one:
        if one & bit:
            product ^= other
            one ^= bit
        bit >>= 1
        other = (other >> 1) ^ _POLYNOMIAL if other & 1 else other >> 1
    return product
