"""Decompression as in Kafka, up to a limit: a small batch that would expand beyond it gives an error.

For zstd and lz4 the block headers give a bound before anything is decompressed (a zstd frame often has no content
size). Snappy stores its size. For gzip, zlib stops at the limit.

Source: the classes of org.apache.kafka.common.compress, and xerial's SnappyInputStream for snappy's framing.
"""

import enum
import threading
import zlib
from typing import Final

import cramjam

from decoders.log.blockwalk import lz4_frame, with_valid_header_checksum, zstd_bound
from decoders.log.errors import Damaged, LogFault

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
