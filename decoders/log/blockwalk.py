"""Bounds on the decompressed size of lz4 and zstd frames from their block headers, and a fix for one old lz4 bug.

Source: the LZ4 frame format 1.6, RFC 8878 for zstd, org.apache.kafka.common.compress.Lz4BlockInputStream.
"""

import struct
from typing import Final

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
