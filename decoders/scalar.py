"""Interpreter one: any record, every field, and the exact reason where bytes cannot be read.

Walks the tables of `decoders.tables` over one record at a time. `decode` never raises, on any bytes. The readers of a
table are composed once per (message, version) and kept; the rules of the encoding itself are those of
`decoders.wire`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from decoders import wire
from decoders.errors import DecodeError, Malformed, Reason
from decoders.records import Fields, Record
from decoders.schema import ArrayOf, Field, FieldType, Message, RecordType, Struct
from decoders.tables import BY_NUMBER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from decoders.wire import Reader


def decode(key: bytes | None, value: bytes | None) -> Record | DecodeError:
    """Decode one record of `__consumer_offsets`; a null value is a tombstone."""
    return decode_with(BY_NUMBER, key, value)


def decode_with(types: Mapping[int, RecordType], key: bytes | None, value: bytes | None) -> Record | DecodeError:
    """Decode one record of a topic with these record types (Kafka's CoordinatorRecordSerde).

    Bytes after the last field of key or value are accepted, as brokers accept them.
    """
    if key is None:
        return DecodeError(None, None, "key", 0, Reason.NULL_KEY)
    number, version, side = None, None, "key"
    try:
        number, at = _head(key, "type")
        record_type = _look_up(types, number)
        names = _fields(record_type.key, 0, key, at)
        if value is None:
            return Record(record_type, names, None, None, None)
        side = "value"
        version, at = _head(value, "version")
        layout, fields = _value(record_type, version, value, at)
    except Malformed as fault:
        return DecodeError(number, version, f"{side}.{fault.path}", fault.position, fault.reason)
    return Record(record_type, names, version, fields, layout)


def read_message(message: Message, version: int, buffer: bytes, at: int) -> tuple[Fields, int]:
    """Read a message of this version from `at`; gives the fields and where they end. Raises `Malformed`."""
    fields, at = _message_reader(message, version)(buffer, at)
    return fields, at


def _head(buffer: bytes, name: str) -> tuple[int, int]:
    """Read the int16 that every key and value begins with."""
    try:
        return wire.int16(buffer, 0)
    except Malformed as fault:
        raise fault.within(name) from None


def _look_up(types: Mapping[int, RecordType], number: int) -> RecordType:
    """Find the type of a key, or say why there is none."""
    record_type = types.get(number)
    if record_type is None:
        raise Malformed(Reason.UNKNOWN_TYPE, 0).within("type")
    if record_type.removed:
        raise Malformed(Reason.REMOVED_TYPE, 0).within("type")
    return record_type


def _fields(message: Message | None, version: int, buffer: bytes, at: int) -> Fields:
    """Read a message and forget what follows it."""
    assert message is not None, "a type without tables was refused before"  # noqa: S101  # for the type checker
    return read_message(message, version, buffer, at)[0]


def _value(record_type: RecordType, version: int, buffer: bytes, at: int) -> tuple[Message, Fields]:
    """Read a value by the layout that fits its bytes.

    Where Kafka changed a layout under the same version, today's is taken unless only an older one consumes every byte.
    """
    message = record_type.value
    assert message is not None, "a type without tables was refused before"  # noqa: S101  # for the type checker
    if not message.is_valid(version):
        raise Malformed(Reason.UNKNOWN_VERSION, 0).within("version")
    if not record_type.older:
        return message, read_message(message, version, buffer, at)[0]
    for layout in (message, *record_type.older):
        try:
            fields, end = read_message(layout, version, buffer, at)
        except Malformed:
            continue
        if end == len(buffer):
            return layout, fields
    return message, read_message(message, version, buffer, at)[0]


@functools.cache
def _message_reader(message: Message, version: int) -> Reader:
    """Compose the reader of one message in one version."""
    return _struct_reader(message.struct, version, flexible=message.is_flexible(version))


def _struct_reader(struct: Struct, version: int, *, flexible: bool) -> Reader:
    """Compose the reader of a struct: its fields in order, then its own tagged section where the version has one."""
    present = [field for field in struct.fields if field.present(version)]
    steps = [(field.name, _field_reader(field, version, flexible)) for field in present if field.tag is None]
    absent = {field.name: field.absent() for field in struct.fields}
    tagged = {field.tag: (field.name, _tagged_reader(field, version)) for field in present if field.tag is not None}

    def read(buffer: bytes, at: int) -> tuple[Fields, int]:
        fields = dict(absent)
        name = ""
        try:
            for name, read_field in steps:
                fields[name], at = read_field(buffer, at)
        except Malformed as fault:
            raise fault.within(name) from None
        if flexible:
            at = _read_tags(tagged, fields, buffer, at)
        return fields, at

    return read


def _read_tags(tagged: Mapping[int, tuple[str, Reader]], fields: Fields, buffer: bytes, at: int) -> int:
    """Read a tagged section into `fields`; a known tag is read by its type whatever its size says, as in Kafka."""
    name = "tags"
    try:
        count, at = wire.uvarint(buffer, at)
        for _ in range(count):
            name = "tags"
            tag, at = wire.uvarint(buffer, at)
            size, at = wire.uvarint(buffer, at)
            if tag in tagged:
                name, read_field = tagged[tag]
                fields[name], at = read_field(buffer, at)
            else:
                _, at = wire.take(buffer, at, size)
    except Malformed as fault:
        raise fault.within(name) from None
    return at


def _field_reader(field: Field, version: int, flexible: bool) -> Reader:  # noqa: FBT001  # the version's own property
    """Compose the reader of a field among the ordered ones."""
    return _type_reader(field.type, version, flexible=flexible, nullable=field.may_be_null(version), marker=wire.int8)


def _tagged_reader(field: Field, version: int) -> Reader:
    """Compose the reader of a field inside a tag: always compact, and a null struct is marked by a varint."""
    marker = _varint_marker
    return _type_reader(field.type, version, flexible=True, nullable=field.may_be_null(version), marker=marker)


def _varint_marker(buffer: bytes, at: int) -> tuple[int, int]:
    """Read the marker of a tagged nullable struct as the untagged one is read: below zero means null."""
    value, at = wire.uvarint(buffer, at)
    return (-1 if value <= 0 else 1), at


def _type_reader(kind: FieldType, version: int, *, flexible: bool, nullable: bool, marker: Reader) -> Reader:
    """Compose the reader of a value of this type."""
    if isinstance(kind, Struct):
        read_struct = _struct_reader(kind, version, flexible=flexible)
        return _nullable_struct(marker, read_struct) if nullable else read_struct
    if isinstance(kind, ArrayOf):
        element = _type_reader(kind.element, version, flexible=flexible, nullable=False, marker=marker)
        return wire.array(wire.compact_length if flexible else wire.int32, element, nullable=nullable)
    if kind.name == "string":
        return wire.text(wire.compact_length if flexible else wire.int16, nullable=nullable)
    if kind.name == "bytes":
        return wire.blob(wire.compact_length if flexible else wire.int32, nullable=nullable)
    return _FIXED[kind.name]


def _nullable_struct(marker: Reader, read_struct: Reader) -> Reader:
    """Compose the reader of a struct behind a marker of presence."""

    def read(buffer: bytes, at: int) -> tuple[Any, int]:
        present, at = marker(buffer, at)
        return (None, at) if present < 0 else read_struct(buffer, at)

    return read


_FIXED: Final[Mapping[str, Reader]] = {
    "bool": wire.boolean,
    "int8": wire.int8,
    "int16": wire.int16,
    "uint16": wire.uint16,
    "int32": wire.int32,
    "int64": wire.int64,
    "float64": wire.float64,
    "uuid": wire.uuid,
}
