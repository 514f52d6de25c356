"""Record batches of magic 2: the 61-byte header, the checksum and the records, with Kafka's record encoding.

A batch is a view: its records are decompressed and decoded on request. `decoders.log.segment` handles files and
positions, `decoders.log.control` the content of control records.

Source: org.apache.kafka.common.record.internal.DefaultRecordBatch and DefaultRecord; KIP-98 (transactions), KIP-534
(delete horizon).
"""

import dataclasses
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

import google_crc32c

from decoders.javatext import java_text
from decoders.log.codecs import DEFAULT_LIMIT, Codec, codec_of, decompress
from decoders.log.errors import Damaged, LogFault

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, magic, crc, attributes, last offset delta, base timestamp, max timestamp, producer
id, producer epoch, base sequence, record count."""
FRAME: Final = 12
"""Bytes of base offset and length, which the length does not include. The same in all magics."""
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

    `sequence` is the producer's sequence number (-1 = none), `headers` are (key, value) pairs in the order written.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    sequence: int = NO_SEQUENCE
    headers: tuple[tuple[str, bytes | None], ...] = ()


class RecordBatch(NamedTuple):
    """The header of one batch with a view of all its bytes.

    A named tuple instead of a frozen dataclass, because a scan creates one per batch and this costs a fifth.
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
        """The size of the whole batch in bytes."""
        return FRAME + self.length

    @property
    def last_offset(self) -> int:
        """The offset of the last record written to the batch, even if compaction removed that record."""
        return self.base_offset + self.last_offset_delta

    @property
    def codec(self) -> Codec:
        """The compression codec of the records. Raises Damaged for an unknown codec."""
        return codec_of(self.attributes)

    @property
    def is_log_append_time(self) -> bool:
        """True if the broker set the timestamps; all records then have `max_timestamp`."""
        return bool(self.attributes & LOG_APPEND_TIME)

    @property
    def is_transactional(self) -> bool:
        """True if the batch belongs to a transaction of `producer_id` (also true for its end marker)."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """True if the records are control records (transaction markers, KRaft) and not data."""
        return bool(self.attributes & CONTROL)

    @property
    def delete_horizon(self) -> int | None:
        """The time (ms) from which compaction may drop tombstones and the marker; None until the cleaner sets it."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None

    def has_valid_crc(self) -> bool:
        """Return whether the CRC-32C of the bytes from the attributes on matches."""
        return bool(google_crc32c.value(bytes(self.raw[CRC_STARTS:])) == self.crc)

    def payload(self, limit: int = DEFAULT_LIMIT) -> bytes:
        """Return the encoded records, decompressed to at most `limit` bytes. Raises Damaged."""
        return decompress(self.codec, bytes(self.raw[HEADER.size :]), limit=limit)

    def records(self, limit: int = DEFAULT_LIMIT) -> Iterator[LogRecord]:
        """Decode the records one by one. Raises Damaged, at the latest after the last record.

        As in Kafka's reader, the records must fill the batch exactly.
        """
        payload = self.payload(limit)
        if self.record_count < 0:
            raise _bad_record(f"the record count is {self.record_count}")
        at = 0
        for _ in range(self.record_count):
            record, at = self._record(payload, at)
            yield record
        if at != len(payload):
            raise _bad_record(f"{len(payload) - at} bytes after the last of {self.record_count} records")

    def _record(self, payload: bytes, at: int) -> tuple[LogRecord, int]:
        size, at = varint(payload, at)
        end = at + size
        if size < 0 or end > len(payload):
            raise _bad_record(f"a record of {size} bytes exceeds the batch")
        # The first byte has the attributes of the record, which Kafka does not use yet.
        timestamp_delta, at = varint(payload, at + 1, longest=10)
        offset_delta, at = varint(payload, at)
        key, at = _nullable_bytes(payload, at, end)
        value, at = _nullable_bytes(payload, at, end)
        headers, at = _headers(payload, at, end)
        if at != end:
            raise _bad_record(f"the record length is {size}, but its fields take {size + at - end} bytes")
        timestamp = self.max_timestamp if self.is_log_append_time else int64_of(self.base_timestamp + timestamp_delta)
        sequence = sequence_at(self.base_sequence, offset_delta)
        return LogRecord(int64_of(self.base_offset + offset_delta), timestamp, key, value, sequence, headers), end


def record_batch(raw: memoryview, position: int) -> RecordBatch:
    """Return the batch with exactly the bytes `raw` (at least 61), which are at `position` of their file."""
    return RecordBatch._make((*HEADER.unpack_from(raw), raw, position))


def _bad_record(detail: str) -> Damaged:
    return Damaged(LogFault.BAD_RECORD, detail, HEADER.size)


def sequence_at(base: int, delta: int) -> int:
    """Return `base` + `delta`; sequence numbers continue at zero after 2^31 - 1, and -1 (none) is unchanged."""
    if base == NO_SEQUENCE:
        return NO_SEQUENCE
    return base + delta if base + delta <= _MAX_SEQUENCE else base + delta - _MAX_SEQUENCE - 1


def int64_of(number: int) -> int:
    """Wrap a sum like Java's long, which only damaged or hostile batches need."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def varint(payload: bytes, at: int, longest: int = 5) -> tuple[int, int]:
    """Read a zigzag number of at most `longest` bytes (5 for Kafka's varint, 10 for its varlong). Raises Damaged."""
    value = 0
    for index in range(longest):
        if at + index >= len(payload):
            raise _bad_record("a varint exceeds the batch")
        byte = payload[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            value &= 0xFFFFFFFF if longest == 5 else 0xFFFFFFFFFFFFFFFF
            return (value >> 1) ^ -(value & 1), at + index + 1
    raise _bad_record(f"a varint is longer than {longest} bytes")


def _nullable_bytes(payload: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    size, at = varint(payload, at)
    if size < 0:
        return None, at
    if at + size > end:
        raise _bad_record(f"a field of {size} bytes exceeds its record")
    return payload[at : at + size], at + size


def _headers(payload: bytes, at: int, end: int) -> tuple[tuple[tuple[str, bytes | None], ...], int]:
    count, at = varint(payload, at)
    if count == 0:
        return (), at
    if not 0 < count <= end - at:
        raise _bad_record(f"the header count is {count}")
    headers = []
    for _ in range(count):
        key, at = _nullable_bytes(payload, at, end)
        if key is None:
            raise _bad_record("a header has no key")
        value, at = _nullable_bytes(payload, at, end)
        headers.append((java_text(key), value))
    return tuple(headers), at
