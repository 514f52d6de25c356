"""Decompression as in Kafka, up to a limit: a small batch that would expand beyond it gives an error.

Snappy stores its size. For gzip, zlib stops at the limit. zstd and lz4 write into a buffer that ends there.

Source: the classes of org.apache.kafka.common.compress, the LZ4 frame format 1.6, and xerial's SnappyInputStream for
snappy's framing.
"""

import enum
import mmap
import struct
import threading
import zlib
from typing import Final

import cramjam

from decoders.log.errors import Damaged, LogFault

_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
_UNCOMPRESSED_BLOCK: Final = 0x80000000


def _lz4_header_size(frame: bytes) -> int:
    """Return the size of a frame header including its checksum byte. Raises Damaged if there is no frame."""
    if len(frame) < 7 or not frame.startswith(_LZ4_MAGIC):
        raise Damaged(LogFault.BAD_COMPRESSION, "lz4: not a frame")
    return 7 + (8 if frame[4] & 0x08 else 0) + (4 if frame[4] & 0x01 else 0)


def lz4_frame(payload: bytes) -> bytes:
    """Return the first frame, which may be truncated. Raises Damaged for bytes that are not a frame.

    As Java's Lz4BlockInputStream, this ignores the bytes after the first frame.
    """
    at, flags = _lz4_header_size(payload), payload[4]
    while at + 4 <= len(payload):
        word = int.from_bytes(payload[at : at + 4], "little")
        if word == 0:
            return payload[: at + 4 + (4 if flags & 0x04 else 0)]
        at += 4 + (word & ~_UNCOMPRESSED_BLOCK) + (4 if flags & 0x10 else 0)
    return payload


def with_valid_header_checksum(frame: bytes) -> bytes:
    """Return the frame with a corrected header checksum.

    Writers of magic 0 included the frame's magic number in it, which lz4 libraries refuse. Raises Damaged for bytes
    that are not a frame.
    """
    # KAFKA-3160 and KIP-31: brokers keep the wrong byte in old message sets for compatibility with old clients.
    end = _lz4_header_size(frame) - 1
    return frame[:end] + bytes([xxh32_short(frame[4:end]) >> 8 & 0xFF]) + frame[end + 1 :]


def xxh32_short(data: bytes) -> int:
    """Return the xxHash32 (seed 0) of fewer than 16 bytes, which is enough for a frame header."""
    word = 0xFFFFFFFF
    total = (0x165667B1 + len(data)) & word
    whole = len(data) & ~3
    for (lane,) in struct.iter_unpack("<I", data[:whole]):
        total = (total + lane * 0xC2B2AE3D) & word
        total = ((total << 17 | total >> 15) * 0x27D4EB2F) & word
    for byte in data[whole:]:
        total = (total + byte * 0x165667B1) & word
        total = ((total << 11 | total >> 21) * 0x9E3779B1) & word
    total = ((total ^ total >> 15) * 0x85EBCA77) & word
    total = ((total ^ total >> 13) * 0xC2B2AE3D) & word
    return total ^ total >> 16


DEFAULT_LIMIT: Final = 128 << 20
"""The default limit on the decompressed size of a batch in bytes: a hundred times the brokers' default batch limit."""


class Codec(enum.IntEnum):
    """Bits 0 to 2 of a batch's attributes. The official tools print the lower-case name."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


_KNOWN: Final = tuple(Codec)


def codec_of(attributes: int) -> Codec:
    """Return the codec in a batch's attributes. Raises Damaged for unknown numbers."""
    number = attributes & 7
    if number >= len(_KNOWN):
        raise Damaged(LogFault.UNKNOWN_CODEC, f"unknown compression codec {number}")
    return _KNOWN[number]


def decompress(codec: Codec, payload: bytes, *, limit: int = DEFAULT_LIMIT, magic: int = 2) -> bytes:
    """Return the decompressed bytes of one batch of this magic, at most `limit`.

    Raises Damaged with BAD_COMPRESSION for a malformed or truncated stream, or with EXPANDS_PAST_LIMIT.
    """
    if codec is Codec.NONE:
        return payload
    if codec is Codec.GZIP:
        return _decompress_gzip(payload, limit)
    if codec is Codec.SNAPPY:
        return _decompress_snappy(payload, limit)
    if codec is Codec.LZ4:
        frame = lz4_frame(with_valid_header_checksum(payload) if magic == 0 else payload)
        return _decompress_into_buffer(cramjam.lz4, frame, limit)
    return _decompress_into_buffer(cramjam.zstd, payload, limit)


def _too_large(limit: int) -> Damaged:
    return Damaged(LogFault.EXPANDS_PAST_LIMIT, f"the batch expands to more than {limit} bytes")


# gzip

_MAX_GZIP_MEMBERS: Final = 1_000
"""Clients write one member. Each further one copies the remaining bytes, so thousands of them would be expensive."""


def _decompress_gzip(payload: bytes, limit: int) -> bytes:
    """Decompress all members. As in Java's GZIPInputStream, other bytes after the last member are ignored."""
    parts: list[bytes] = []
    remaining = limit
    while True:
        inflater = zlib.decompressobj(wbits=31)
        try:
            part = inflater.decompress(payload, remaining + 1)
        except zlib.error as error:
            raise Damaged(LogFault.BAD_COMPRESSION, f"gzip: {error}") from None
        remaining -= len(part)
        if remaining < 0:
            raise _too_large(limit)
        if not inflater.eof:
            raise Damaged(LogFault.BAD_COMPRESSION, "gzip: the stream is truncated")
        parts.append(part)
        payload = inflater.unused_data
        if payload[:2] != b"\x1f\x8b":
            return b"".join(parts)
        if len(parts) == _MAX_GZIP_MEMBERS:
            raise Damaged(LogFault.BAD_COMPRESSION, f"gzip: more than {_MAX_GZIP_MEMBERS} members")


# snappy

_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = 16
# A copy element of three bytes writes up to 64 bytes, so no snappy block expands by more than this factor.
_SNAPPY_RATIO: Final = 32


def _decompress_snappy(payload: bytes, limit: int) -> bytes:
    """Decompress xerial's framing, or one raw block if its magic is missing (as written by librdkafka and others)."""
    if not payload.startswith(_XERIAL_MAGIC):
        return _decompress_snappy_block(payload, limit, limit)
    parts: list[bytes] = []
    at, remaining = 0, limit
    while at < len(payload):
        # A concatenated stream repeats the header.
        if len(payload) - at >= _XERIAL_HEADER and payload.startswith(_XERIAL_MAGIC, at):
            at += _XERIAL_HEADER
            continue
        size = int.from_bytes(payload[at : at + 4], "big")
        at += 4
        if size > len(payload) - at:
            raise Damaged(LogFault.BAD_COMPRESSION, "snappy: a chunk exceeds the stream")
        parts.append(_decompress_snappy_block(payload[at : at + size], remaining, limit))
        remaining -= len(parts[-1])
        at += size
    return b"".join(parts)


def _decompress_snappy_block(block: bytes, remaining: int, limit: int) -> bytes:
    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > len(block) * _SNAPPY_RATIO:
            raise Damaged(LogFault.BAD_COMPRESSION, "snappy: the block states a larger size than it can have")
        if size > remaining:
            raise _too_large(limit)
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise Damaged(LogFault.BAD_COMPRESSION, f"snappy: {error}") from None


# lz4 and zstd

_LARGEST_KEPT: Final = 4 << 20
_scratch: Final = threading.local()


def _decompress_into_buffer(library: object, payload: bytes, limit: int) -> bytes:
    """Decompress into a buffer of the thread, whose pages take no memory until something is written to them."""
    name = getattr(library, "__name__", "codec").rpartition(".")[2]
    buffer = getattr(_scratch, "buffer", b"")
    if len(buffer) < limit:
        buffer = mmap.mmap(-1, limit, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    _scratch.buffer = b""
    try:
        size = library.decompress_into(payload, memoryview(buffer)[:limit])  # type: ignore[attr-defined]  # untyped module
    except cramjam.DecompressionError as error:
        if "whole buffer" in str(error):
            raise _too_large(limit) from None
        raise Damaged(LogFault.BAD_COMPRESSION, f"{name}: {error}") from None
    if size <= _LARGEST_KEPT:
        _scratch.buffer = buffer
    return bytes(memoryview(buffer)[:size])
