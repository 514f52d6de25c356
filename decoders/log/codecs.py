"""Decompression as in Kafka, up to a limit: a small batch that would expand beyond it gives an error.

For zstd and lz4 the block headers give a bound before anything is decompressed (a zstd frame often has no content
size). Snappy stores its size. For gzip, zlib stops at the limit.

Source: the classes of org.apache.kafka.common.compress, and xerial's SnappyInputStream for snappy's framing.

Bounds on the decompressed size of lz4 and zstd frames from their block headers, and a fix for one old lz4 bug.

Source: the LZ4 frame format 1.6, RFC 8878 for zstd, org.apache.kafka.common.compress.Lz4BlockInputStream.
"""

import enum
import struct
import threading
import zlib
from typing import Final

import cramjam

from decoders.log.errors import Damaged, LogFault

_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
_LZ4_BLOCK_SIZES: Final = {4: 1 << 16, 5: 1 << 18, 6: 1 << 20, 7: 1 << 22}
_LZ4_RATIO: Final = 256
_UNCOMPRESSED_BLOCK: Final = 0x80000000


def _lz4_header_size(frame: bytes) -> int:
    """Return the size of a frame header including its checksum byte. Raises Damaged if there is no frame."""
    if len(frame) < 7 or not frame.startswith(_LZ4_MAGIC):
        raise Damaged(LogFault.BAD_COMPRESSION, "lz4: not a frame")
    return 7 + (8 if frame[4] & 0x08 else 0) + (4 if frame[4] & 0x01 else 0)


def lz4_frame(payload: bytes) -> tuple[bytes, int]:
    """Return the first frame, and an upper bound on its content from the block headers. The frame may be truncated.

    As Java's Lz4BlockInputStream, this ignores the bytes after the first frame. Raises Damaged for bytes that are not a
    frame.
    """
    at = _lz4_header_size(payload)
    flags = payload[4]
    largest = _LZ4_BLOCK_SIZES.get(payload[5] >> 4 & 7, 0)
    block_checksum, content_checksum = (4 if flags & 0x10 else 0), (4 if flags & 0x04 else 0)
    bound = 0
    while at + 4 <= len(payload):
        word = int.from_bytes(payload[at : at + 4], "little")
        at += 4
        if word == 0:
            return payload[: at + content_checksum], bound
        size = word & ~_UNCOMPRESSED_BLOCK
        bound += min(size if word & _UNCOMPRESSED_BLOCK else size * _LZ4_RATIO, largest)
        at += size + block_checksum
    return payload, bound


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


_ZSTD_MAGIC: Final = 0xFD2FB528
_ZSTD_SKIPPABLE: Final = 0x184D2A50
_ZSTD_LARGEST_BLOCK: Final = 1 << 17
_ZSTD_DICTIONARY_ID_SIZES: Final = (0, 1, 2, 4)
_ZSTD_CONTENT_SIZE_SIZES: Final = (0, 2, 4, 8)


def zstd_bound(payload: bytes) -> int:
    """Return an upper bound on the content of the frames from their block headers. Stops at truncated data."""
    at = bound = 0
    while at + 8 <= len(payload):
        magic, size = struct.unpack_from("<II", payload, at)
        if magic & 0xFFFFFFF0 == _ZSTD_SKIPPABLE:
            at += 8 + size
            continue
        if magic != _ZSTD_MAGIC:
            break
        at, frame_bound = _zstd_frame_bound(payload, at + 4)
        bound += frame_bound
    return bound


def _zstd_frame_bound(payload: bytes, at: int) -> tuple[int, int]:
    """Return the position after the frame whose descriptor is at `at`, and its bound. RFC 8878, section 3.1.1."""
    descriptor = payload[at]
    single_segment = descriptor >> 5 & 1
    content_size = _ZSTD_CONTENT_SIZE_SIZES[descriptor >> 6] or single_segment
    at += 1 + (1 - single_segment) + _ZSTD_DICTIONARY_ID_SIZES[descriptor & 3] + content_size
    bound, last = 0, False
    while not last and at + 3 <= len(payload):
        header = int.from_bytes(payload[at : at + 3], "little")
        last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        bound += _ZSTD_LARGEST_BLOCK if kind == 2 else min(size, _ZSTD_LARGEST_BLOCK)
        at += 3 + (1 if kind == 1 else size)
    return at + (4 if descriptor & 4 else 0), bound


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
        frame, bound = lz4_frame(with_valid_header_checksum(payload) if magic == 0 else payload)
        return _decompress_into_buffer(cramjam.lz4, frame, bound, limit)
    return _decompress_into_buffer(cramjam.zstd, payload, zstd_bound(payload), limit)


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


# lz4 and zstd: decompressed into a buffer of the size given by the block headers


class _Scratch(threading.local):
    """One reusable buffer per thread, so that small batches do not pay for clearing a new 128 KiB buffer."""

    LARGEST_KEPT = 4 << 20

    def __init__(self) -> None:
        self.kept = bytearray(1 << 17)

    def buffer(self, size: int) -> bytearray:
        if size <= len(self.kept):
            return self.kept
        buffer = bytearray(size)
        if size <= self.LARGEST_KEPT:
            self.kept = buffer
        return buffer


_SCRATCH: Final = _Scratch()


def _decompress_into_buffer(library: object, payload: bytes, bound: int, limit: int) -> bytes:
    name = getattr(library, "__name__", "codec").rpartition(".")[2]
    buffer = _SCRATCH.buffer(min(bound, limit))
    try:
        size = library.decompress_into(payload, memoryview(buffer)[:limit])  # type: ignore[attr-defined]  # untyped module
    except cramjam.DecompressionError as error:
        if bound > limit and "whole buffer" in str(error):
            raise _too_large(limit) from None
        raise Damaged(LogFault.BAD_COMPRESSION, f"{name}: {error}") from None
    return bytes(memoryview(buffer)[:size])
