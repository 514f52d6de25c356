"""Message sets of magic 0 and 1, written by brokers up to 0.10.2, and up to 3.x with an old message format version.

A message is a frame with one key and one value; a compressed one is a wrapper whose value contains further messages.
Common properties have the same names as in `batch.RecordBatch`, so that most callers can use both types.

Source: org.apache.kafka.common.record.internal.LegacyRecord and AbstractLegacyRecordBatch; KIP-31 (relative offsets),
KIP-32 (timestamps).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from decoders.log.batch import FRAME, LOG_APPEND_TIME, LogRecord, int64_of
from decoders.log.codecs import DEFAULT_LIMIT, Codec, codec_of, decompress
from decoders.log.errors import Damaged, LogFault

_HEADER: Final = struct.Struct(">qiIbb")
_TIMESTAMP: Final = struct.Struct(">q")
_LENGTH: Final = struct.Struct(">i")
_CRC_STARTS: Final = 16
SMALLEST: Final = (14, 22)
"""The smallest length (after the frame) of a message, by magic: null key and null value."""


class LegacyBatch(NamedTuple):
    """One message with a view of its bytes; a wrapper is one batch.

    `last_offset` is that of the message or, in a wrapper, of its last inner message: the frame has no other offset.
    """

    last_offset: int
    length: int
    crc: int
    magic: int
    attributes: int
    raw: memoryview
    position: int

    @property
    def size(self) -> int:
        """The size of the whole message in bytes."""
        return FRAME + self.length

    @property
    def base_offset(self) -> int:
        """The same as `last_offset`, because the first offset of a wrapper is known only after decompressing it."""
        return self.last_offset

    @property
    def producer_id(self) -> int:
        """-1: message sets have no producer ids."""
        return -1

    @property
    def is_transactional(self) -> bool:
        """False: message sets have no transactions."""
        return False

    @property
    def is_control(self) -> bool:
        """False: message sets have no control records."""
        return False

    @property
    def codec(self) -> Codec:
        """The compression codec of the inner messages. Raises Damaged for an unknown codec and for zstd."""
        codec = codec_of(self.attributes)
        if codec is Codec.ZSTD:
            raise Damaged(LogFault.UNKNOWN_CODEC, "a message set cannot use zstd")
        return codec

    @property
    def max_timestamp(self) -> int:
        """The timestamp of the message or wrapper in ms, -1 in magic 0."""
        if self.magic == 0:
            return -1
        return int(_TIMESTAMP.unpack_from(self.raw, _HEADER.size)[0])

    @property
    def is_log_append_time(self) -> bool:
        """True if the broker set the timestamps; all messages then have `max_timestamp`."""
        return self.magic == 1 and bool(self.attributes & LOG_APPEND_TIME)

    def has_valid_crc(self) -> bool:
        """Return whether the CRC-32 of the bytes from the magic byte on matches."""
        return zlib.crc32(self.raw[_CRC_STARTS:]) == self.crc

    def key_and_value(self) -> tuple[bytes | None, bytes | None]:
        """Return the key and value of the message; the value of a wrapper is its compressed content. Raises Damaged."""
        key, at = _nullable_bytes(self.raw, _HEADER.size + (_TIMESTAMP.size if self.magic else 0))
        value, at = _nullable_bytes(self.raw, at)
        if at != len(self.raw):
            raise Damaged(LogFault.BAD_RECORD, f"{len(self.raw) - at} bytes after the value", at)
        return key, value

    def messages(self, limit: int = DEFAULT_LIMIT) -> list[LegacyBatch]:
        """Return this message, or the inner messages of a wrapper (decompressed to at most `limit` bytes).

        All have absolute offsets. A partial inner message at the end is dropped, because brokers of that time truncated
        message sets by size. Raises Damaged.
        """
        if self.codec is Codec.NONE:
            return [self]
        value = self.key_and_value()[1]
        if value is None:
            raise Damaged(LogFault.BAD_RECORD, "a compressed message has no value")
        content = decompress(self.codec, value, limit=limit, magic=self.magic)
        inner = list(_inner_messages(memoryview(content), self.magic))
        if not inner:
            raise Damaged(LogFault.BAD_RECORD, "a compressed message has no inner messages")
        # Old librdkafka left the offset of the wrapper at zero; its inner offsets are absolute.
        if self.magic == 0 or self.last_offset == 0:
            return inner
        shift = self.last_offset - inner[-1].last_offset
        return [message._replace(last_offset=int64_of(message.last_offset + shift)) for message in inner]

    def records(self, limit: int = DEFAULT_LIMIT) -> Iterator[LogRecord]:
        """Decode the records; a wrapper is decompressed to at most `limit` bytes. Raises Damaged."""
        for message in self.messages(limit):
            key, value = message.key_and_value()
            yield LogRecord(message.last_offset, self.timestamp_of(message), key, value)

    def timestamp_of(self, message: LegacyBatch) -> int:
        """Return the timestamp of one of `messages()`: that of the wrapper if the broker set it."""
        return self.max_timestamp if self.is_log_append_time else message.max_timestamp


def legacy_batch(raw: memoryview, position: int) -> LegacyBatch:
    """Return the message with exactly the bytes `raw` (at least 18), which are at `position` of their file."""
    return LegacyBatch._make((*_HEADER.unpack_from(raw), raw, position))


def _inner_messages(content: memoryview, magic: int) -> Iterator[LegacyBatch]:
    at = 0
    while at + FRAME <= len(content):
        length = _LENGTH.unpack_from(content, at + 8)[0]
        if length < SMALLEST[magic]:
            raise Damaged(LogFault.BAD_RECORD, f"the length of an inner message is {length}")
        if at + FRAME + length > len(content):
            return
        message = legacy_batch(content[at : at + FRAME + length], at)
        if message.magic != magic or message.attributes & 7:
            raise Damaged(LogFault.BAD_RECORD, "an inner message has another magic or is compressed")
        yield message
        at += message.size


def _nullable_bytes(raw: memoryview, at: int) -> tuple[bytes | None, int]:
    if at + _LENGTH.size > len(raw):
        raise Damaged(LogFault.BAD_RECORD, "a length exceeds the message", at)
    size = _LENGTH.unpack_from(raw, at)[0]
    at += _LENGTH.size
    if size < 0:
        return None, at
    if at + size > len(raw):
        raise Damaged(LogFault.BAD_RECORD, f"a field of {size} bytes exceeds the message", at)
    return bytes(raw[at : at + size]), at + size
