"""Primitive readers: (buffer, at) -> (value, at after it). The rules of tolerance are stated here, once.

The rules are those of Kafka's own readers (`ByteBufferAccessor`, `ByteUtils`, the generated `read` methods), so that we
accept exactly what a broker would accept:

- A length below zero means null, whatever the number; where null is not allowed it is an error.
- A length or count that exceeds the bytes left is an error *before* anything is allocated.
- Invalid UTF-8 is replaced by U+FFFD as Java does it, never refused.
- A varint has at most five bytes and is a signed 32-bit number: what overflows wraps.
- A string is at most 32767 bytes long, also where its length is a varint.
- Unknown tags are skipped by their size; a tag count below zero counts as none. A tag that the message has in other
  versions only is an error, as in the generated classes.
- Bytes after the last field are nobody's business here; the callers decide.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from decoders.errors import DecodeReason, MalformedBytes
from decoders.javatext import java_text

Reader = Callable[[bytes, int], tuple[Any, int]]

LONGEST_STRING: Final = 0x7FFF
_INT8: Final = struct.Struct(">b")
_INT16: Final = struct.Struct(">h")
_UINT16: Final = struct.Struct(">H")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_FLOAT64: Final = struct.Struct(">d")


def _number(form: struct.Struct) -> Callable[[bytes, int], tuple[Any, int]]:
    """Build the reader of one big-endian number."""
    size, unpack = form.size, form.unpack_from

    def read(buffer: bytes, at: int) -> tuple[Any, int]:
        after = at + size
        if after > len(buffer):
            raise MalformedBytes(DecodeReason.SHORT, at)
        return unpack(buffer, at)[0], after

    return read


int8 = _number(_INT8)
int16 = _number(_INT16)
uint16 = _number(_UINT16)
int32 = _number(_INT32)
int64 = _number(_INT64)
float64 = _number(_FLOAT64)


def boolean(buffer: bytes, at: int) -> tuple[bool, int]:
    """Read one byte; everything but zero is true."""
    value, at = int8(buffer, at)
    return value != 0, at


def uuid(buffer: bytes, at: int) -> tuple[bytes, int]:
    """Read sixteen bytes as they are."""
    after = at + 16
    if after > len(buffer):
        raise MalformedBytes(DecodeReason.SHORT, at)
    return buffer[at:after], after


def uvarint(buffer: bytes, at: int) -> tuple[int, int]:
    """Read a base-128 number, low bits first, of at most five bytes; as Java's int, it may come out negative."""
    value = 0
    for place in range(5):
        if at + place >= len(buffer):
            raise MalformedBytes(DecodeReason.SHORT, at)
        byte = buffer[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            value &= 0xFFFFFFFF
            return (value if value < 0x80000000 else value - 0x100000000), at + place + 1
    raise MalformedBytes(DecodeReason.BAD_VARINT, at)


def compact_length(buffer: bytes, at: int) -> tuple[int, int]:
    """Read a varint of length + 1, so that zero is null (-1); the subtraction wraps as Java's does."""
    value, at = uvarint(buffer, at)
    return (value - 1 if value != -0x80000000 else 0x7FFFFFFF), at


def take(buffer: bytes, at: int, length: int) -> tuple[bytes, int]:
    """Read so many bytes; a negative or too large number is an error and costs nothing."""
    if length < 0:
        raise MalformedBytes(DecodeReason.NEGATIVE_LENGTH, at)
    after = at + length
    if after > len(buffer):
        raise MalformedBytes(DecodeReason.LENGTH_PAST_END, at)
    return buffer[at:after], after


def not_null(length: int, at: int) -> int:
    """Refuse the length of a null: -1 is the null Kafka writes, anything lower nobody writes."""
    if length < 0:
        raise MalformedBytes(DecodeReason.NULL_NOT_ALLOWED if length == -1 else DecodeReason.NEGATIVE_LENGTH, at)
    return length


def blob(read_length: Reader, *, nullable: bool) -> Reader:
    """Build the reader of bytes behind a length of this form."""

    def read(buffer: bytes, at: int) -> tuple[bytes | None, int]:
        length, start = read_length(buffer, at)
        if length < 0 and nullable:
            return None, start
        return take(buffer, start, not_null(length, at))

    return read


def text(read_length: Reader, *, nullable: bool) -> Reader:
    """Build the reader of a string behind a length of this form."""

    def read(buffer: bytes, at: int) -> tuple[str | None, int]:
        length, start = read_length(buffer, at)
        if length < 0 and nullable:
            return None, start
        if not_null(length, at) > LONGEST_STRING:
            raise MalformedBytes(DecodeReason.STRING_TOO_LONG, at)
        raw, after = take(buffer, start, length)
        return java_text(raw), after

    return read


def array(read_length: Reader, read_element: Reader, *, nullable: bool) -> Reader:
    """Build the reader of a counted sequence; an element takes a byte at least, so a huge count is refused at once."""

    def read(buffer: bytes, at: int) -> tuple[tuple[Any, ...] | None, int]:
        count, start = read_length(buffer, at)
        if count < 0 and nullable:
            return None, start
        if not_null(count, at) > len(buffer) - start:
            raise MalformedBytes(DecodeReason.LENGTH_PAST_END, at)
        at, elements = start, []
        try:
            for _ in range(count):
                element, at = read_element(buffer, at)
                elements.append(element)
        except MalformedBytes as fault:
            raise fault.within(f"[{len(elements)}]") from None
        return tuple(elements), at

    return read
