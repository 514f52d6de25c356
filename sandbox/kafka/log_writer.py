"""Writes log files for tests, implemented from the format and independent of the reader.

It writes what brokers of all releases write: batches of magic 2, message sets of magic 0 and 1, every codec, control
batches.
"""

import dataclasses
import gzip
import struct
import zlib
from collections.abc import Sequence

import cramjam
import google_crc32c

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)

Header = tuple[bytes, bytes | None]


@dataclasses.dataclass(frozen=True, slots=True)
class Rec:
    """A record to write, with offset and timestamp relative to the batch."""

    offset_delta: int
    timestamp_delta: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


def zigzag(number: int, bits: int = 32) -> bytes:
    """Encode a signed varint."""
    rest = ((number << 1) ^ (number >> (bits - 1))) & ((1 << bits) - 1)
    out = bytearray()
    while rest >= 0x80:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _sized(data: bytes | None) -> bytes:
    return zigzag(-1) if data is None else zigzag(len(data)) + data


def record(rec: Rec) -> bytes:
    """Encode one record of magic 2."""
    headers = b"".join(_sized(key) + _sized(value) for key, value in rec.headers)
    body = b"\0" + zigzag(rec.timestamp_delta, 64) + zigzag(rec.offset_delta) + _sized(rec.key) + _sized(rec.value)
    body += zigzag(len(rec.headers)) + headers
    return zigzag(len(body)) + body


def lz4_frame(data: bytes) -> bytes:
    """Return an LZ4 frame as written by Java: independent blocks of 64 KiB, no sizes, no content checksum."""
    out = b"\x04\x22\x4d\x18\x60\x40\x82"
    for at in range(0, len(data), 1 << 16):
        piece = data[at : at + (1 << 16)]
        block = bytes(cramjam.lz4.compress_block(piece, store_size=False))
        if len(block) < len(piece):
            out += struct.pack("<I", len(block)) + block
        else:
            out += struct.pack("<I", len(piece) | 1 << 31) + piece
    return out + bytes(4)


def compress(codec: int, data: bytes, *, raw_snappy: bool = False) -> bytes:
    """Compress like the Java clients, or to a raw snappy block like other clients."""
    match codec:
        case 1:
            return gzip.compress(data)
        case 2 if raw_snappy:
            return bytes(cramjam.snappy.compress_raw(data))
        case 2:
            chunks = [bytes(cramjam.snappy.compress_raw(data[at : at + 32768])) for at in range(0, len(data), 32768)]
            framed = b"".join(struct.pack(">i", len(chunk)) + chunk for chunk in chunks)
            return b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + framed
        case 3:
            return lz4_frame(data)
        case 4:
            compressor = cramjam.zstd.Compressor()
            compressor.compress(data)
            return bytes(compressor.finish())
        case _:
            return data


def batch(
    base_offset: int,
    records: Sequence[Rec],
    codec: int = NONE,
    *,
    base_timestamp: int = 1_000,
    attributes: int = 0,
    max_timestamp: int | None = None,
    last_offset_delta: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    leader_epoch: int = 0,
    count: int | None = None,
    raw_snappy: bool = False,
) -> bytes:
    """Encode one batch of magic 2."""
    body = compress(codec, b"".join(map(record, records)), raw_snappy=raw_snappy)
    if max_timestamp is None:
        max_timestamp = base_timestamp + max((rec.timestamp_delta for rec in records), default=-1 - base_timestamp)
    if last_offset_delta is None:
        last_offset_delta = records[-1].offset_delta if records else 0
    checked = struct.pack(
        ">hiqqqhii",
        attributes | codec,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        len(records) if count is None else count,
    )
    checked += body
    head = struct.pack(">ibI", leader_epoch, 2, google_crc32c.value(checked))
    return struct.pack(">qi", base_offset, len(head) + len(checked)) + head + checked


def encoded_batch(encoded: bytes, count: int) -> bytes:
    """Encode a batch with these bytes as records, valid or not."""
    checked = struct.pack(">hiqqqhii", 0, 0, 0, 0, -1, -1, -1, count) + encoded
    head = struct.pack(">ibI", 0, 2, google_crc32c.value(checked))
    return struct.pack(">qi", 0, len(head) + len(checked)) + head + checked


def marker(offset: int, producer_id: int, *, committed: bool, producer_epoch: int = 0) -> bytes:
    """Encode the control batch that ends a transaction."""
    end = Rec(0, 0, struct.pack(">hh", 0, int(committed)), struct.pack(">hi", 0, 0))
    return batch(offset, [end], attributes=0x30, producer_id=producer_id, producer_epoch=producer_epoch)


def message(
    offset: int, key: bytes | None, value: bytes | None, magic: int, *, timestamp: int = 1_000, attributes: int = 0
) -> bytes:
    """Encode one message of magic 0 or 1."""
    checked = struct.pack(">bb", magic, attributes) + (struct.pack(">q", timestamp) if magic else b"")
    for field in (key, value):
        checked += struct.pack(">i", -1) if field is None else struct.pack(">i", len(field)) + field
    return struct.pack(">qiI", offset, 4 + len(checked), zlib.crc32(checked)) + checked


def wrapper(
    last_offset: int, inner: bytes, magic: int, codec: int, *, timestamp: int = 1_000, attributes: int = 0
) -> bytes:
    """Encode a message that wraps a compressed message set."""
    value = compress(codec, inner)
    if codec == LZ4 and magic == 0:
        # Kafka 0.8 and 0.9 included the magic number of the frame in the header checksum.
        value = value[:6] + b"\x1a" + value[7:]
    return message(last_offset, None, value, magic, timestamp=timestamp, attributes=attributes | codec)
