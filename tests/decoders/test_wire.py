"""Primitive readers: smallest and largest values, truncated values, and tolerated deviations."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders import wire
from decoders.errors import DecodeReason, MalformedBytes
from tests.support.resources import peak_memory

FIXED: dict[str, tuple[Any, tuple[tuple[str, Any], ...]]] = {
    "int8": (wire.int8, (("80", -128), ("7f", 127), ("00", 0))),
    "int16": (wire.int16, (("8000", -32768), ("7fff", 32767), ("0000", 0))),
    "uint16": (wire.uint16, (("ffff", 65535), ("8000", 32768), ("0000", 0))),
    "int32": (wire.int32, (("80000000", -(2**31)), ("7fffffff", 2**31 - 1), ("00000000", 0))),
    "int64": (wire.int64, (("80" + "00" * 7, -(2**63)), ("7f" + "ff" * 7, 2**63 - 1), ("00" * 8, 0))),
    "uuid": (wire.uuid, (("00" * 16, bytes(16)), ("0f" * 16, b"\x0f" * 16))),
}


def reason_of(read: Any, raw: bytes) -> DecodeReason:
    with pytest.raises(MalformedBytes) as refused:
        read(raw, 0)
    return refused.value.reason


def test_values_of_fixed_width() -> None:
    """The smallest, the largest and the zero value are read from the middle of a buffer. Truncated, they are SHORT."""
    for name, (read, cases) in FIXED.items():
        for raw, value in cases:
            encoded = bytes.fromhex(raw)
            assert read(b"\xaa" + encoded + b"\xaa", 1) == (value, 1 + len(encoded)), name
            with pytest.raises(MalformedBytes) as refused:
                read(encoded[:-1], 0)
            assert (refused.value.reason, refused.value.position) == (DecodeReason.SHORT, 0), name


VARINTS = {
    "zero": ("00", 0),
    "largest of one byte": ("7f", 127),
    "smallest of two bytes": ("8001", 128),
    "zero in two bytes": ("8000", 0),
    "largest positive": ("ffffffff07", 2**31 - 1),
    "overflow of Java's int": ("8080808008", -(2**31)),
    "all 32 bits": ("ffffffff0f", -1),
    "bits above 32 are dropped, as in Java": ("ffffffff7f", -1),
}


def test_a_varint_is_a_signed_number_of_32_bits() -> None:
    """A varint of up to five bytes is read as Java's int. A truncated varint is SHORT."""
    for story, (raw, value) in VARINTS.items():
        encoded = bytes.fromhex(raw)
        assert wire.uvarint(encoded + b"\x01", 0) == (value, len(encoded)), story
        for length in range(len(encoded)):
            assert reason_of(wire.uvarint, encoded[:length]) is DecodeReason.SHORT, story


@given(st.integers(0, 2**31 - 1))
def test_varints_of_every_size_round_trip(value: int) -> None:
    """Reading an encoded number gives the same number."""
    encoded, rest = bytearray(), value
    while rest >= 0x80:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    assert wire.uvarint(bytes(encoded), 0) == (value, len(encoded))


LENGTHS = [
    pytest.param(wire.int16, "ffff", "fffe", id="string of a non-flexible version"),
    pytest.param(wire.int32, "ffffffff", "80000000", id="bytes of a non-flexible version"),
    pytest.param(wire.compact_length, "00", "ffffffff0f", id="flexible version"),
]


@pytest.mark.parametrize("build", [wire.text, wire.blob], ids=["text", "blob"])
@pytest.mark.parametrize(("read_length", "null", "below"), LENGTHS)
def test_any_negative_length_is_null_if_null_is_allowed(build: Any, read_length: Any, null: str, below: str) -> None:
    """If null is not allowed, the error distinguishes -1, which Kafka writes, from other negative lengths."""
    nullable, strict = build(read_length, nullable=True), build(read_length, nullable=False)
    for raw, reason in ((null, DecodeReason.NULL_NOT_ALLOWED), (below, DecodeReason.NEGATIVE_LENGTH)):
        encoded = bytes.fromhex(raw)
        assert nullable(encoded, 0) == (None, len(encoded))
        assert reason_of(strict, encoded) is reason


def test_text_that_is_not_utf8_is_replaced() -> None:
    """Invalid bytes become U+FFFD and the rest of the string is unchanged."""
    read = wire.text(wire.int16, nullable=False)
    assert read(b"\0\4a\xc3(b", 0) == ("a\ufffd(b", 6)


@pytest.mark.parametrize(
    "build", [wire.blob, lambda length, nullable: wire.array(length, wire.int8, nullable=nullable)]
)
@pytest.mark.parametrize(("read_length", "raw"), [(wire.int32, "7fffffff"), (wire.compact_length, "ffffffff07")])
def test_a_length_of_two_gibibytes_allocates_nothing(build: Any, read_length: Any, raw: str) -> None:
    """A length that exceeds the remaining bytes is refused before any allocation."""
    with peak_memory() as peak, pytest.raises(MalformedBytes) as refused:
        build(read_length, nullable=False)(bytes.fromhex(raw) + b"xx", 0)
    assert refused.value.reason is DecodeReason.LENGTH_PAST_END
    assert peak.size < 100_000
