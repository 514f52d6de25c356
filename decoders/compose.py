"""Composes readers from tables: one reader per message and version, cached.

`decoders.wire` has the encoding of values. This module has the structure: ordered fields, a tagged section after every
struct of a flexible version, presence markers before nullable structs. The readers raise `MalformedBytes`.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

from decoders import wire
from decoders.errors import DecodeReason, MalformedBytes
from decoders.schema import ArrayOf, Field, Fields, FieldType, Message, Struct
from decoders.wire import Reader


@functools.cache
def message_reader(message: Message, version: int) -> Reader:
    """Return the reader of one version of a message, cached: (buffer, at) -> (fields, position after them)."""
    return _struct_reader(message.struct, version, flexible=message.is_flexible(version))


def _struct_reader(struct: Struct, version: int, *, flexible: bool) -> Reader:
    """Return the reader of a struct: its fields in order, then its tagged section if the version has one."""
    present = [field for field in struct.fields if field.present(version)]
    steps = [(field.name, _field_reader(field, version, flexible=flexible)) for field in present if field.tag is None]
    absent = {field.name: field.default_value() for field in struct.fields}
    read_tags = tags_reader(struct, version)

    def read(buffer: bytes, at: int) -> tuple[Fields, int]:
        fields = dict(absent)
        name = ""
        try:
            for name, read_field in steps:
                fields[name], at = read_field(buffer, at)
        except MalformedBytes as fault:
            raise fault.within(name) from None
        if flexible:
            at = read_tags(fields, buffer, at)
        return fields, at

    return read


def tags_reader(struct: Struct, version: int) -> Callable[[Fields, bytes, int], int]:
    """Return the reader of a struct's tagged section: (fields, buffer, at) -> position after it.

    It stores the values of known tags in `fields`.
    """
    tagged = {
        field.tag: (field.name, _tagged_reader(field, version) if field.present(version) else _out_of_version)
        for field in struct.fields
        if field.tag is not None
    }
    return functools.partial(_read_tags, tagged)


def _read_tags(tagged: Mapping[int, tuple[str, Reader]], fields: Fields, buffer: bytes, at: int) -> int:
    """Read a tagged section into `fields`; as in Kafka, a known tag is read by its type and its size is ignored."""
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
                _, at = wire.read_bytes(buffer, at, size)
    except MalformedBytes as fault:
        raise fault.within(name) from None
    return at


def _field_reader(field: Field, version: int, *, flexible: bool) -> Reader:
    """Return the reader of an untagged field."""
    nullable, default = field.may_be_null(version), field.default_value()
    read = _type_reader(field.type, version, flexible=flexible, nullable=nullable, marker=wire.int8)
    if not field.optional_at_end:
        return read
    # Old writers omitted the field.
    return lambda buffer, at: (default, at) if at >= len(buffer) else read(buffer, at)


def _tagged_reader(field: Field, version: int) -> Reader:
    """Return the reader of a tagged field: lengths are always compact, and a null struct is marked by a varint."""
    marker = _varint_marker
    return _type_reader(field.type, version, flexible=True, nullable=field.may_be_null(version), marker=marker)


def _out_of_version(_: bytes, at: int) -> tuple[Any, int]:
    """Raise MalformedBytes for a tag that only other versions of the message have."""
    raise MalformedBytes(DecodeReason.TAG_OUT_OF_VERSION, at)


def _varint_marker(buffer: bytes, at: int) -> tuple[int, int]:
    """Read the presence marker of a tagged nullable struct; -1 means null, as in the int8 marker of an untagged one."""
    value, at = wire.uvarint(buffer, at)
    return (-1 if value <= 0 else 1), at


def _type_reader(kind: FieldType, version: int, *, flexible: bool, nullable: bool, marker: Reader) -> Reader:
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
    """Return the reader of a struct that follows a presence marker."""

    def read(buffer: bytes, at: int) -> tuple[Any, int]:
        present, at = marker(buffer, at)
        return (None, at) if present < 0 else read_struct(buffer, at)

    return read


_FIXED: Final[Mapping[str, Reader]] = {
    "int8": wire.int8, "int16": wire.int16, "uint16": wire.uint16, "int32": wire.int32, "int64": wire.int64,
    "uuid": wire.uuid,
}  # fmt: skip
