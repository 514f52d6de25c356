"""Building blocks of the tables: versions, types, fields, structs, messages, record types; and decoded records.

It mirrors Kafka's message JSON (`validVersions`, `flexibleVersions`, `nullableVersions`, `taggedVersions`,
`default`), so a table in `decoders.tables` can be compared with upstream row by row. Names are Kafka's in snake case.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import re
from typing import Any, Final


@dataclasses.dataclass(frozen=True, slots=True)
class Versions:
    """A closed range of versions; empty when `lowest` is above `highest`."""

    lowest: int
    highest: int

    def __contains__(self, version: int) -> bool:
        return self.lowest <= version <= self.highest

    def __iter__(self) -> Any:
        return iter(range(self.lowest, self.highest + 1))


UNBOUNDED: Final = 32767
NONE: Final = Versions(0, -1)
_RANGE: Final = re.compile(r"(\d+)(?:(\+)|-(\d+))?")


@functools.cache
def versions(text: str) -> Versions:
    """Parse Kafka's version ranges: "3+", "0-2", "1", "none". Anything else is a ValueError: a mistake in a table."""
    if text == "none":
        return NONE
    match = _RANGE.fullmatch(text)
    if match is None:
        msg = f"not a range of versions: {text!r}"
        raise ValueError(msg)
    lowest = int(match[1])
    highest = UNBOUNDED if match[2] else int(match[3] or lowest)
    return Versions(lowest, highest)


@dataclasses.dataclass(frozen=True, slots=True)
class Primitive:
    """A scalar type. `width` is in bytes, None for types with a length prefix; `zero` is Kafka's default value.

    `code` is that of the module `struct`.
    """

    name: str
    width: int | None
    zero: int | str | bytes
    code: str = ""


INT8: Final = Primitive("int8", 1, 0, "b")
INT16: Final = Primitive("int16", 2, 0, "h")
UINT16: Final = Primitive("uint16", 2, 0, "H")
INT32: Final = Primitive("int32", 4, 0, "i")
INT64: Final = Primitive("int64", 8, 0, "q")
UUID: Final = Primitive("uuid", 16, bytes(16), "16s")
"""Sixteen raw bytes; sixteen zero bytes mean "no id"."""
STRING: Final = Primitive("string", None, "")
BYTES: Final = Primitive("bytes", None, b"")


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Struct:
    """Named fields in wire order; tagged fields may stand anywhere between them."""

    name: str
    fields: tuple[Field, ...]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ArrayOf:
    """An array of one element type."""

    element: Primitive | Struct


FieldType = Primitive | Struct | ArrayOf
_TYPE_DEFAULT: Final = object()  # a marker, because None is a valid default


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Field:
    """One row of a table: the versions that have the field, its type, and its value in the other versions.

    `nullable` are the versions in which null is allowed. A field with a `tag` is in the tagged section in all its
    versions. `default` is the default of the type (0, "", an empty array, a struct of defaults) unless given. With
    `optional_at_end` the default also applies if the bytes end before the field (Connect's old protocol schemas).
    `minimum` is the smallest valid value although the type allows smaller ones. It is checked only in the last field of
    a key, by `decoders.scalar` and `decoders.columnar`, because Kafka's own message classes accept every value.
    """

    name: str
    type: FieldType
    versions: str = "0+"
    nullable: str = "none"
    default: Any = _TYPE_DEFAULT
    tag: int | None = None
    optional_at_end: bool = False
    minimum: int | None = None

    def present(self, version: int) -> bool:
        """Return whether this version of the message has the field."""
        return version in versions(self.versions)

    def may_be_null(self, version: int) -> bool:
        """Return whether null is allowed in this version."""
        return version in versions(self.nullable)

    def default_value(self) -> Any:
        """Return the value of the field when it is not in the bytes."""
        if self.default is not _TYPE_DEFAULT:
            return self.default
        if isinstance(self.type, Primitive):
            return self.type.zero
        if isinstance(self.type, ArrayOf):
            return ()
        return {field.name: field.default_value() for field in self.type.fields}


@dataclasses.dataclass(frozen=True, slots=True, eq=False, repr=False)
class Message:
    """A versioned struct: a key or a value. `flexible` versions have compact lengths and tagged sections."""

    struct: Struct
    valid: str = "0"
    flexible: str = "none"

    def __repr__(self) -> str:
        return f"Message({self.name})"

    @property
    def name(self) -> str:
        """Kafka's name of the message."""
        return self.struct.name

    def is_valid(self, version: int) -> bool:
        """Return whether this version can be read."""
        return version in versions(self.valid)

    def is_flexible(self, version: int) -> bool:
        """Return whether this version has compact lengths and tagged sections."""
        return version in versions(self.flexible)


def struct(name: str, *fields: Field) -> Struct:
    """Return the struct with these fields."""
    return Struct(name, fields)


def message(name: str, *fields: Field, valid: str = "0", flexible: str = "none") -> Message:
    """Return the message with these fields."""
    return Message(Struct(name, fields), valid, flexible)


class RecordContent(enum.Enum):
    """The content of a record of `__consumer_offsets`: which fact about a group it stores."""

    OFFSET = enum.auto()
    """A committed offset."""
    CLASSIC_GROUP = enum.auto()
    """A classic group with all its members."""
    GROUP_EPOCH = enum.auto()
    MEMBER = enum.auto()
    """The subscription and the client of a member."""
    TARGET_EPOCH = enum.auto()
    """The epoch of the target assignment: written whenever a target assignment is made."""
    TARGET_ASSIGNMENT = enum.auto()
    """The target assignment of a member."""
    CURRENT_ASSIGNMENT = enum.auto()
    """The current assignment, epoch and state of a member."""
    RESOLVED_REGEX = enum.auto()
    """The topics that match a regular expression of a member."""
    TOPOLOGY = enum.auto()
    SUBSCRIBED_TOPICS = enum.auto()
    """Names and ids of the subscribed topics. Up to Kafka 4.0 it may outlive its group: alone it makes no group."""
    SHARE_TOPICS = enum.auto()
    """Names and ids of the topics whose share-group state is initialized."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecordType:
    """A record type of a topic: its number (the first int16 of the key), Kafka's name, and the tables of key and value.

    `older_layouts` are layouts of the value that earlier Kafka releases wrote under the same version number; the only
    way to tell them apart is which one fits the bytes. `key` and `value` are None for a removed type: the number is
    never reused and the bytes are not read.

    `group_kind` (classic, consumer, share, streams) and `content` are set for the types of `__consumer_offsets` that
    the job uses; `group_kind` is None for offsets, which any kind of group may have.
    """

    number: int
    name: str
    key: Message | None
    value: Message | None
    older_layouts: tuple[Message, ...] = ()
    group_kind: str | None = None
    content: RecordContent | None = None

    def __repr__(self) -> str:
        return f"RecordType({self.number}, {self.name})"

    @property
    def removed(self) -> bool:
        """Return whether Kafka removed this type."""
        return self.value is None


Fields = dict[str, Any]
"""Field name to value: int, str, bytes (also for a uuid: 16 raw bytes), None, a tuple, or nested Fields."""


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """One record of an internal topic.

    `key` and `value` have every field of their tables; fields that the version of the value does not have are set to
    their defaults. `version` and `value` are None for a tombstone. `layout` is the table that the value was read with:
    `value` or one of `older_layouts` of the type.
    """

    type: RecordType
    key: Fields
    version: int | None
    value: Fields | None
    layout: Message | None
