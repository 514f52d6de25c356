"""Decompression as Kafka does it, never beyond a limit: a small batch that claims to be huge costs one typed error.

zstd and lz4 frames are walked block by block first, which bounds what can come out without decompressing anything (a
zstd frame often does not tell its content size); snappy tells its size; gzip is stopped by zlib itself.

Source: the classes of org.apache.kafka.common.compress, and xerial's SnappyInputStream for snappy's framing.
"""

from __future__ import annotations

import enum
import struct
import threading
import zlib
from typing import Final

import cramjam

from decoders.log.errors import Damaged, Fault

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
        raise Damaged(Fault.UNKNOWN_CODEC, f"compression codec {number}")
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
        frame = _with_right_checksum(payload) if magic == 0 else payload
        return _expand(cramjam.lz4, frame, _lz4_bound(frame), limit)
    return _expand(cramjam.zstd, payload, _zstd_bound(payload), limit)


def _too_large(limit: int) -> Damaged:
    return Damaged(Fault.EXPANDS_PAST_LIMIT, f"it would expand to more than {limit} bytes")


# gzip


def _gunzip(payload: bytes, limit: int) -> bytes:
    """Inflate all members; what follows the last one and is no member is ignored, as Java's GZIPInputStream does."""
    parts: list[bytes] = []
    room = limit
    while True:
        inflater = zlib.decompressobj(wbits=31)
        try:
            part = inflater.decompress(payload, room + 1)
        except zlib.error as error:
            raise Damaged(Fault.BAD_COMPRESSION, f"gzip: {error}") from None
        room -= len(part)
        if room < 0:
            raise _too_large(limit)
        if not inflater.eof:
            raise Damaged(Fault.BAD_COMPRESSION, "gzip: the stream is cut short")
        parts.append(part)
        payload = inflater.unused_data
        if payload[:2] != b"\x1f\x8b":
            return b"".join(parts)


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
        if len(payload) - at >= _XERIAL_HEADER and payload.startswith(
            _XERIAL_MAGIC, at
        ):  # a concatenated stream repeats the header
            at += _XERIAL_HEADER
            continue
        size = int.from_bytes(payload[at : at + 4], "big")
        at += 4
        if size > len(payload) - at:
            raise Damaged(Fault.BAD_COMPRESSION, "snappy: a chunk runs past the end")
        parts.append(_unsnappy_block(payload[at : at + size], room, limit))
        room -= len(parts[-1])
        at += size
    return b"".join(parts)


def _unsnappy_block(block: bytes, room: int, limit: int) -> bytes:
    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > len(block) * _SNAPPY_RATIO:
            raise Damaged(Fault.BAD_COMPRESSION, "snappy: the block claims more bytes than it can hold")
        if size > room:
            raise _too_large(limit)
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise Damaged(Fault.BAD_COMPRESSION, f"snappy: {error}") from None


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
        raise Damaged(Fault.BAD_COMPRESSION, f"{name}: {error}") from None
    return bytes(memoryview(buffer)[:size])


_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
_LZ4_BLOCK_SIZES: Final = {4: 1 << 16, 5: 1 << 18, 6: 1 << 20, 7: 1 << 22}
_LZ4_RATIO: Final = 256
_UNCOMPRESSED_BLOCK: Final = 0x80000000


def _lz4_header_size(frame: bytes) -> int:
    """Give the size of a frame's header with its checksum byte. Raises Damaged where there is none."""
    if len(frame) < 7 or not frame.startswith(_LZ4_MAGIC):
        raise Damaged(Fault.BAD_COMPRESSION, "lz4: no frame")
    return 7 + (8 if frame[4] & 0x08 else 0) + (4 if frame[4] & 0x01 else 0)


def _lz4_bound(frame: bytes) -> int:
    """Give the most bytes that a frame can hold, by its block headers; stops where the frame is cut short."""
    at = _lz4_header_size(frame)
    largest = _LZ4_BLOCK_SIZES.get(frame[5] >> 4 & 7, 0)
    checksum = 4 if frame[4] & 0x10 else 0
    bound = 0
    while at + 4 <= len(frame):
        word = int.from_bytes(frame[at : at + 4], "little")
        if word == 0:
            break
        size = word & ~_UNCOMPRESSED_BLOCK
        bound += min(size if word & _UNCOMPRESSED_BLOCK else size * _LZ4_RATIO, largest)
        at += 4 + size + checksum
    return bound


def _with_right_checksum(frame: bytes) -> bytes:
    """Rewrite the header checksum: magic 0 computed it over one word too many, which lz4 libraries refuse."""
    # KAFKA-3160 and KIP-31: brokers keep the wrong byte in old message sets on purpose, for old clients.
    end = _lz4_header_size(frame) - 1
    return frame[:end] + bytes([xxh32_short(frame[4:end]) >> 8 & 0xFF]) + frame[end + 1 :]


def xxh32_short(data: bytes) -> int:
    """Give the xxHash32 (seed 0) of fewer than 16 bytes: all that a frame header needs."""
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


def _zstd_bound(payload: bytes) -> int:
    """Give the most bytes that the frames can hold, by their block headers; stops where something is cut short."""
    at = bound = 0
    while at + 8 <= len(payload):
        magic, size = struct.unpack_from("<II", payload, at)
        if magic & 0xFFFFFFF0 == _ZSTD_SKIPPABLE:
            at += 8 + size
            continue
        if magic != _ZSTD_MAGIC:
            break
        at, inside = _zstd_frame_bound(payload, at + 4)
        bound += inside
    return bound


def _zstd_frame_bound(payload: bytes, at: int) -> tuple[int, int]:
    """Walk one frame from its descriptor on: (position after it, most bytes in it). RFC 8878, section 3.1.1."""
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
