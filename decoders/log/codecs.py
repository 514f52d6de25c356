"""Decompression as Kafka does it, never beyond a limit: a small batch that claims to be huge costs one typed error.

zstd and lz4 frames are walked block by block first, which bounds what can come out without decompressing anything (a
zstd frame often does not tell its content size); snappy tells its size; gzip is stopped by zlib itself.

Source: the classes of org.apache.kafka.common.compress, and xerial's SnappyInputStream for snappy's framing.
"""

from __future__ import annotations

import enum
import threading
import zlib
from typing import Final

import cramjam

from decoders.log.blockwalk import lz4_bound, with_valid_header_checksum, zstd_bound
from decoders.log.errors import Damaged, LogFault

DEFAULT_LIMIT: Final = 128 << 20
"""Bytes a batch may expand to unless the caller says otherwise: a hundred times what brokers accept by default."""


class Codec(enum.IntEnum):
    """Bits 0 to 2 of a batch's attributes; the lower-case name is what the official tools print."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


_KNOWN: Final = tuple(Codec)


def codec_of(attributes: int) -> Codec:
    """Read the codec out of attributes. Raises Damaged for the numbers that no Kafka has given out yet."""
    number = attributes & 7
    if number >= len(_KNOWN):
        raise Damaged(LogFault.UNKNOWN_CODEC, f"compression codec {number}")
    return _KNOWN[number]


def decompress(codec: Codec, payload: bytes, *, limit: int = DEFAULT_LIMIT, magic: int = 2) -> bytes:
    """Give the decompressed bytes of one batch (of this magic), at most `limit` of them.

    Raises Damaged: BAD_COMPRESSION when the stream is not what the codec says or is cut short, EXPANDS_PAST_LIMIT.
    """
    if codec is Codec.NONE:
        return payload
    if codec is Codec.GZIP:
        return _gunzip(payload, limit)
    if codec is Codec.SNAPPY:
        return _unsnappy(payload, limit)
    if codec is Codec.LZ4:
        frame = with_valid_header_checksum(payload) if magic == 0 else payload
        return _expand(cramjam.lz4, frame, lz4_bound(frame), limit)
    return _expand(cramjam.zstd, payload, zstd_bound(payload), limit)


def _too_large(limit: int) -> Damaged:
    return Damaged(LogFault.EXPANDS_PAST_LIMIT, f"it would expand to more than {limit} bytes")


# gzip

_MOST_MEMBERS: Final = 1_000
"""Clients write one; each further one copies what follows it, which thousands of empty ones would make expensive."""


def _gunzip(payload: bytes, limit: int) -> bytes:
    """Inflate all members; what follows the last one and is no member is ignored, as Java's GZIPInputStream does."""
    parts: list[bytes] = []
    room = limit
    while True:
        inflater = zlib.decompressobj(wbits=31)
        try:
            part = inflater.decompress(payload, room + 1)
        except zlib.error as error:
            raise Damaged(LogFault.BAD_COMPRESSION, f"gzip: {error}") from None
        room -= len(part)
        if room < 0:
            raise _too_large(limit)
        if not inflater.eof:
            raise Damaged(LogFault.BAD_COMPRESSION, "gzip: the stream is cut short")
        parts.append(part)
        payload = inflater.unused_data
        if payload[:2] != b"\x1f\x8b":
            return b"".join(parts)
        if len(parts) == _MOST_MEMBERS:
            raise Damaged(LogFault.BAD_COMPRESSION, f"gzip: more than {_MOST_MEMBERS} members")


# snappy

_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = 16
# A copy of three bytes writes 64: no snappy block can grow more than this.
_SNAPPY_RATIO: Final = 32


def _unsnappy(payload: bytes, limit: int) -> bytes:
    """Expand xerial's framing, or one raw block where its magic is missing (librdkafka and others write those)."""
    if not payload.startswith(_XERIAL_MAGIC):
        return _unsnappy_block(payload, limit, limit)
    parts: list[bytes] = []
    at, room = 0, limit
    while at < len(payload):
        # A concatenated stream repeats the header.
        if len(payload) - at >= _XERIAL_HEADER and payload.startswith(_XERIAL_MAGIC, at):
            at += _XERIAL_HEADER
            continue
        size = int.from_bytes(payload[at : at + 4], "big")
        at += 4
        if size > len(payload) - at:
            raise Damaged(LogFault.BAD_COMPRESSION, "snappy: a chunk runs past the end")
        parts.append(_unsnappy_block(payload[at : at + size], room, limit))
        room -= len(parts[-1])
        at += size
    return b"".join(parts)


def _unsnappy_block(block: bytes, room: int, limit: int) -> bytes:
    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > len(block) * _SNAPPY_RATIO:
            raise Damaged(LogFault.BAD_COMPRESSION, "snappy: the block claims more bytes than it can hold")
        if size > room:
            raise _too_large(limit)
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise Damaged(LogFault.BAD_COMPRESSION, f"snappy: {error}") from None


# lz4 and zstd: into a buffer of the size that the walk over the blocks allows


class _Scratch(threading.local):
    """One buffer per thread, so that a batch of a few hundred bytes does not pay for clearing 128 KiB."""

    KEEP = 4 << 20

    def __init__(self) -> None:
        self.kept = bytearray(1 << 17)

    def of(self, size: int) -> bytearray:
        if size <= len(self.kept):
            return self.kept
        buffer = bytearray(size)
        if size <= self.KEEP:
            self.kept = buffer
        return buffer


_SCRATCH: Final = _Scratch()


def _expand(library: object, payload: bytes, bound: int, limit: int) -> bytes:
    name = getattr(library, "__name__", "codec").rpartition(".")[2]
    buffer = _SCRATCH.of(min(bound, limit))
    try:
        size = library.decompress_into(payload, memoryview(buffer)[:limit])  # type: ignore[attr-defined]  # untyped module
    except cramjam.DecompressionError as error:
        if bound > limit and "whole buffer" in str(error):
            raise _too_large(limit) from None
        raise Damaged(LogFault.BAD_COMPRESSION, f"{name}: {error}") from None
    return bytes(memoryview(buffer)[:size])
