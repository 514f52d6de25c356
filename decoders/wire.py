"""Readers of primitive values: (buffer, at) -> (value, position after it).

They follow Kafka's own readers (`ByteBufferAccessor`, `ByteUtils`, the generated `read` methods) and accept exactly the
bytes that a broker accepts:

- Every negative length means null; if null is not allowed it is an error.
- A length or count that exceeds the remaining bytes is an error *before* anything is allocated.
- Invalid UTF-8 is replaced by U+FFFD as in Java and never refused.
- A varint has at most five bytes and is a signed 32-bit number: overflow wraps.
- A string is at most 32767 bytes long, even if its length is a varint.
- Unknown tags are skipped by their size; a negative tag count means no tags. A tag that only other versions of the
  message have is an error, as in the generated classes.
- Bytes after the last field are not read; the callers decide about them.
"""

import struct
from collections.abc import Callable
from typing import Any, Final

from decoders.errors import DecodeReason, MalformedBytes
from decoders.javatext import java_text

Reader = Callable[[bytes, int], tuple[Any, int]]

LONGEST_STRING: Final = 0x7FFF


def _number(code: str) -> Reader:
    """Return the reader of one big-endian number; `code` is that of the module `struct`."""
    layout = struct.Struct(f">{code}")
    size, unpack = layout.size, layout.unpack_from

    def read(buffer: bytes, at: int) -> tuple[Any, int]:
        after = at + size
        if after > len(buffer):
            raise MalformedBytes(DecodeReason.SHORT, at)
        return unpack(buffer, at)[0], after

    return read


int8 = _number("b")
int16 = _number("h")
uint16 = _number("H")
int32 = _number("i")
int64 = _number("q")


def uuid(buffer: bytes, at: int) -> tuple[bytes, int]:
    """Read sixteen raw bytes."""
    after = at + 16
    if after > len(buffer):
        raise MalformedBytes(DecodeReason.SHORT, at)
    return buffer[at:after], after


def uvarint(buffer: bytes, at: int) -> tuple[int, int]:
    """Read a base-128 number, low bits first, of at most five bytes; it wraps like Java's int and may be negative."""
    value = 0
    for index in range(5):
        if at + index >= len(buffer):
            raise MalformedBytes(DecodeReason.SHORT, at)
        byte = buffer[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            value &= 0xFFFFFFFF
            return (value if value < 0x80000000 else value - 0x100000000), at + index + 1
    raise MalformedBytes(DecodeReason.BAD_VARINT, at)


def compact_length(buffer: bytes, at: int) -> tuple[int, int]:
    """Read a varint of length + 1 and return the length; null is -1. The subtraction wraps as in Java."""
    value, at = uvarint(buffer, at)
    return (value - 1 if value != -0x80000000 else 0x7FFFFFFF), at


def read_bytes(buffer: bytes, at: int, length: int) -> tuple[bytes, int]:
    """Read `length` bytes; a negative or too large length is an error and allocates nothing."""
    if length < 0:
        raise MalformedBytes(DecodeReason.NEGATIVE_LENGTH, at)
    after = at + length
    if after > len(buffer):
        raise MalformedBytes(DecodeReason.LENGTH_PAST_END, at)
    return buffer[at:after], after


def not_null(length: int, at: int) -> int:
    """Return the length if it is not negative; Kafka writes -1 for null and never a lower number."""
    if length < 0:
        raise MalformedBytes(DecodeReason.NULL_NOT_ALLOWED if length == -1 else DecodeReason.NEGATIVE_LENGTH, at)
    return length


def blob(read_length: Reader, *, nullable: bool) -> Reader:
    """Return the reader of bytes that follow a length read by `read_length`."""

    def read(buffer: bytes, at: int) -> tuple[bytes | None, int]:
        length, start = read_length(buffer, at)
        if length < 0 and nullable:
            return None, start
        return read_bytes(buffer, start, not_null(length, at))

    return read


def text(read_length: Reader, *, nullable: bool) -> Reader:
    """Return the reader of a string that follows a length read by `read_length`."""

    def read(buffer: bytes, at: int) -> tuple[str | None, int]:
        length, start = read_length(buffer, at)
        if length < 0 and nullable:
            return None, start
        if not_null(length, at) > LONGEST_STRING:
            raise MalformedBytes(DecodeReason.STRING_TOO_LONG, at)
        raw, after = read_bytes(buffer, start, length)
        return java_text(raw), after

    return read


def array(read_length: Reader, read_element: Reader, *, nullable: bool) -> Reader:
    """Return the reader of an array. An element takes at least one byte, so a too large count is refused at once."""

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
