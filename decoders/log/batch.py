"""Record batches of magic 2: the 61-byte header, the checksum, the records. Owns Kafka's record encoding.

A batch is a view: its records are decoded (and decompressed) when asked for. Files, positions in them and what follows
a batch are `decoders.log.segment`'s business; what a control record says is `decoders.log.control`'s.

Source: org.apache.kafka.common.record.internal.DefaultRecordBatch and DefaultRecord; KIP-98 (transactions), KIP-534
(delete horizon).
"""

from __future__ import annotations

import dataclasses
import struct
from typing import TYPE_CHECKING, Final, NamedTuple

import google_crc32c

from decoders.javatext import java_text
from decoders.log.codecs import DEFAULT_LIMIT, Codec, codec_of, decompress
from decoders.log.errors import Damaged, LogFault

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, magic, crc, attributes, last offset delta, base timestamp, max timestamp, producer
id, producer epoch, base sequence, record count."""
FRAME: Final = 12
"""Bytes of offset and length, which the length does not count. The same in all magics."""
CRC_STARTS: Final = 21

LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40

NO_SEQUENCE: Final = -1
_MAX_SEQUENCE: Final = 0x7FFFFFFF


@dataclasses.dataclass(frozen=True, slots=True)
class LogRecord:
    """One record: its log offset, its timestamp in ms (-1 = none), key and value (None = null).

    `sequence` is the producer's number (-1 = none), `headers` are (key, value) pairs in the order written.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    sequence: int = NO_SEQUENCE
    headers: tuple[tuple[str, bytes | None], ...] = ()


class RecordBatch(NamedTuple):
    """The header of one batch with a view of all its bytes.

    A named tuple where the house has frozen dataclasses: a scan makes one per batch, and this costs a fifth.
    """

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int
    raw: memoryview
    position: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return FRAME + self.length

    @property
    def last_offset(self) -> int:
        """Offset of the last record ever written into it; it stays when compaction removes that record."""
        return self.base_offset + self.last_offset_delta

    @property
    def codec(self) -> Codec:
        """How the records are compressed. Raises Damaged for a codec no Kafka knows."""
        return codec_of(self.attributes)

    @property
    def is_log_append_time(self) -> bool:
        """Whether the broker's clock stamped the records, all with `max_timestamp`."""
        return bool(self.attributes & LOG_APPEND_TIME)

    @property
    def is_transactional(self) -> bool:
        """Whether the batch belongs to a transaction of `producer_id` (also true for the marker that ends it)."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Whether the records are Kafka's own (markers, KRaft), not users' data."""
        return bool(self.attributes & CONTROL)

    @property
    def delete_horizon(self) -> int | None:
        """When compaction may drop this batch's tombstones and marker, in ms; None until the cleaner has set it."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record, -1 where the producer numbers nothing."""
        return sequence_at(self.base_sequence, self.last_offset_delta)

    def has_valid_crc(self) -> bool:
        """Compare the checksum: CRC-32C from the attributes on, so not over offset, length and leader epoch."""
        return bool(google_crc32c.value(bytes(self.raw[CRC_STARTS:])) == self.crc)

    def payload(self, limit: int = DEFAULT_LIMIT) -> bytes:
        """Give the encoded records, decompressed to at most `limit` bytes. Raises Damaged."""
        return decompress(self.codec, bytes(self.raw[HEADER.size :]), limit=limit)

    def records(self, limit: int = DEFAULT_LIMIT) -> Iterator[LogRecord]:
        """Decode the records one by one. Raises Damaged, at the latest when the last record has been given.

        Like Kafka's reader it insists that the records fill the batch exactly.
        """
        payload = self.payload(limit)
        if self.record_count < 0:
            raise Damaged(LogFault.BAD_RECORD, f"a batch of {self.record_count} records", HEADER.size)
        at = 0
        for _ in range(self.record_count):
            record, at = self._record(payload, at)
            yield record
        if at != len(payload):
            raise Damaged(
                LogFault.BAD_RECORD,
                f"{len(payload) - at} bytes follow the last of {self.record_count} records",
                HEADER.size,
            )

    def _record(self, payload: bytes, at: int) -> tuple[LogRecord, int]:
        size, at = varint(payload, at)
        end = at + size
        if size < 0 or end > len(payload):
            raise Damaged(LogFault.BAD_RECORD, f"a record of {size} bytes runs past the end", HEADER.size)
        # The first byte is the record's own attributes, which nobody has used so far.
        timestamp_delta, at = varint(payload, at + 1, longest=10)
        offset_delta, at = varint(payload, at)
        key, at = _nullable_bytes(payload, at, end)
        value, at = _nullable_bytes(payload, at, end)
        headers, at = _headers(payload, at, end)
        if at != end:
            raise Damaged(LogFault.BAD_RECORD, f"a record says {size} bytes and holds {size + at - end}", HEADER.size)
        timestamp = self.max_timestamp if self.is_log_append_time else _int64(self.base_timestamp + timestamp_delta)
        sequence = sequence_at(self.base_sequence, offset_delta)
        return LogRecord(_int64(self.base_offset + offset_delta), timestamp, key, value, sequence, headers), end


def record_batch(raw: memoryview, position: int) -> RecordBatch:
    """Read the header of a batch whose bytes are exactly `raw` (at least 61) and lie at `position` of their file."""
    return RecordBatch._make((*HEADER.unpack_from(raw), raw, position))


def sequence_at(base: int, delta: int) -> int:
    """Add to a sequence number, which starts over at zero after 2^31 - 1; -1 (none) stays."""
    if base == NO_SEQUENCE:
        return NO_SEQUENCE
    return base + delta if base + delta <= _MAX_SEQUENCE else base + delta - _MAX_SEQUENCE - 1


def _int64(number: int) -> int:
    """Wrap a sum as Java's long does: only damaged or hostile batches need it."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def varint(payload: bytes, at: int, longest: int = 5) -> tuple[int, int]:
    """Read a zigzag number of at most `longest` bytes (5 for Kafka's varint, 10 for varlong). Raises Damaged."""
    value = 0
    for place in range(longest):
        if at + place >= len(payload):
            raise Damaged(LogFault.BAD_RECORD, "a number runs past the end", HEADER.size)
        byte = payload[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            value &= 0xFFFFFFFF if longest == 5 else 0xFFFFFFFFFFFFFFFF
            return (value >> 1) ^ -(value & 1), at + place + 1
    raise Damaged(LogFault.BAD_RECORD, f"a number takes more than {longest} bytes", HEADER.size)


def _nullable_bytes(payload: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    size, at = varint(payload, at)
    if size < 0:
        return None, at
    if at + size > end:
        raise Damaged(LogFault.BAD_RECORD, f"a field of {size} bytes runs past its record", HEADER.size)
    return payload[at : at + size], at + size


def _headers(payload: bytes, at: int, end: int) -> tuple[tuple[tuple[str, bytes | None], ...], int]:
    count, at = varint(payload, at)
    if count == 0:
        return (), at
    if not 0 < count <= end - at:
        raise Damaged(LogFault.BAD_RECORD, f"a record of {count} headers", HEADER.size)
    headers = []
    for _ in range(count):
        key, at = _nullable_bytes(payload, at, end)
        if key is None:
            raise Damaged(LogFault.BAD_RECORD, "a header without a key", HEADER.size)
        value, at = _nullable_bytes(payload, at, end)
        headers.append((java_text(key), value))
    return tuple(headers), at
