"""Encodes records by the tables, for round-trip tests, and corrupts encoded records."""

import random
import struct
from typing import Any, Final

from decoders.schema import ArrayOf, Field, Fields, FieldType, Message, RecordType, Struct, versions
from decoders.tables import RECORD_TYPES, SHARE_STATE_TYPES, TRANSACTION_TYPES, embedded

_ROWS: Final = (*RECORD_TYPES, *TRANSACTION_TYPES.values(), *SHARE_STATE_TYPES.values())
MESSAGES: Final = [
    *(table for row in _ROWS for table in (row.key, row.value, *row.older_layouts) if table is not None),
    *(table for table in vars(embedded).values() if isinstance(table, Message)),
]
"""All tables."""
_FORMATS: Final = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "int64": "q"}
_NUMBERS: Final = (0, 1, -1, -2, 127, 128, 255, 1234, 2**15 - 1, 2**31 - 1, -(2**31), 2**63 - 1)
_TEXTS: Final = ("", "a", "group", "ü€😀", "x" * 126, "x" * 127, "y" * 300)


def uvarint(value: int) -> bytes:
    """Encode a 32-bit number as an unsigned varint."""
    encoded, rest = bytearray(), value & 0xFFFFFFFF
    while rest >= 0x80:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*encoded, rest])


def write(message: Message, version: int, fields: Fields) -> bytes:
    return _struct(message.struct, version, fields, flexible=message.is_flexible(version))


def write_key(record_type: RecordType, fields: Fields) -> bytes:
    assert record_type.key is not None
    return struct.pack(">h", record_type.number) + write(record_type.key, 0, fields)


def write_value(message: Message, version: int, fields: Fields) -> bytes:
    return struct.pack(">h", version) + write(message, version, fields)


def random_fields(rng: random.Random, part: Struct, version: int) -> Fields:
    """Return random valid fields; fields that the version does not have are set to their defaults."""
    return {
        field.name: _random_field(rng, field, version) if field.present(version) else field.default_value()
        for field in part.fields
    }


def random_record(rng: random.Random, record_type: RecordType) -> tuple[bytes, bytes | None]:
    assert record_type.key is not None
    assert record_type.value is not None
    key = write_key(record_type, random_fields(rng, record_type.key.struct, 0))
    if rng.random() < 0.05:
        return key, None
    version = rng.choice(list(versions(record_type.value.valid)))
    return key, write_value(record_type.value, version, random_fields(rng, record_type.value.struct, version))


def corrupted(rng: random.Random, raw: bytes) -> bytes:
    """Return corrupted bytes: truncated, extended, with some bytes overwritten, or with an absurd length."""
    mutation = rng.randrange(6)
    if mutation == 0 or not raw:
        return raw[: rng.randrange(len(raw) + 1)]
    if mutation == 1:
        return raw + rng.randbytes(rng.randrange(1, 5))
    at = rng.randrange(len(raw))
    if mutation == 2:
        new = rng.choice((b"\xff\xff\xff\xff\x0f", b"\x7f\xff\xff\xff", b"\x80\x80\x80\x80\x80\x80", b"\xff\xff"))
    else:
        new = rng.choice((b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff", b"\xc3", rng.randbytes(1)))
    return raw[:at] + new + raw[at + len(new) :]


def _random_field(rng: random.Random, field: Field, version: int) -> Any:
    if field.tag is not None and rng.random() < 0.3:
        return field.default_value()
    if field.may_be_null(version) and rng.random() < 0.2:
        return None
    value = _random_value(rng, field.type, version)
    return value if field.minimum is None else max(value, field.minimum)


def _random_value(rng: random.Random, kind: FieldType, version: int) -> Any:
    if isinstance(kind, Struct):
        return random_fields(rng, kind, version)
    if isinstance(kind, ArrayOf):
        return tuple(_random_value(rng, kind.element, version) for _ in range(rng.choice((0, 1, 1, 2, 3))))
    generator = {
        "string": lambda: rng.choice(_TEXTS),
        "bytes": lambda: rng.randbytes(rng.choice((0, 1, 20))),
        "uuid": lambda: rng.choice((bytes(16), rng.randbytes(16))),
    }.get(kind.name)
    if generator is not None:
        return generator()
    bits = 8 * (kind.width or 0)
    number: int = rng.choice((*_NUMBERS, rng.getrandbits(bits))) & (1 << bits) - 1
    return number if kind.name == "uint16" or number < 1 << bits - 1 else number - (1 << bits)


def _struct(part: Struct, version: int, fields: Fields, *, flexible: bool) -> bytes:
    present = [field for field in part.fields if field.present(version)]
    body = b"".join(_untagged(field, version, fields[field.name], flexible) for field in present if field.tag is None)
    if not flexible:
        return body
    tagged = [
        (field.tag, _tagged(field, version, fields[field.name]))
        for field in present
        if field.tag is not None and fields[field.name] != field.default_value()
    ]
    tags = b"".join(uvarint(tag) + uvarint(len(content)) + content for tag, content in sorted(tagged))
    return body + uvarint(len(tagged)) + tags


def _untagged(field: Field, version: int, value: Any, flexible: bool) -> bytes:  # noqa: FBT001  # a property of the version
    if isinstance(field.type, Struct) and field.may_be_null(version):
        return b"\xff" if value is None else b"\x01" + _struct(field.type, version, value, flexible=flexible)
    return _value(field.type, version, value, flexible=flexible)


def _tagged(field: Field, version: int, value: Any) -> bytes:
    if isinstance(field.type, Struct) and field.may_be_null(version):
        return b"\x00" if value is None else b"\x01" + _struct(field.type, version, value, flexible=True)
    return _value(field.type, version, value, flexible=True)


def _value(kind: FieldType, version: int, value: Any, *, flexible: bool) -> bytes:
    if isinstance(kind, Struct):
        return _struct(kind, version, value, flexible=flexible)
    if isinstance(kind, ArrayOf):
        length = -1 if value is None else len(value)
        elements = (_value(kind.element, version, element, flexible=flexible) for element in value or ())
        return (uvarint(length + 1) if flexible else struct.pack(">i", length)) + b"".join(elements)
    if kind.name in {"string", "bytes"}:
        raw = value.encode() if isinstance(value, str) else value or b""
        length = -1 if value is None else len(raw)
        length_format = ">h" if kind.name == "string" else ">i"
        return (uvarint(length + 1) if flexible else struct.pack(length_format, length)) + raw
    return bytes(value) if kind.name == "uuid" else struct.pack(f">{_FORMATS[kind.name]}", value)
