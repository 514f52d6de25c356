"""Formats records as JSON in Kafka's own shapes: those of the console formatters and of the dump tool.

The rules are those of the generated JsonConverters. Fields are in table order under camel-case names; fields that the
version does not have and tagged fields at their default are omitted. An int64 is a plain number, bytes are standard
base64, a uuid is its 22-character text, null is null. Strings are escaped as Jackson does: only quotes, backslashes and
control characters, with short forms where they exist, else upper-case hex.
"""

import base64
import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from decoders import blobs
from decoders.schema import ArrayOf, Field, Fields, FieldType, Message, Record, Struct
from decoders.tables import embedded


def console(record: Record) -> str:
    """Format a record as the console formatters do since 4.0.

    They print types 0 to 2, transactions, and since 4.1 share groups (10 to 15); this function formats all types.
    """
    value = "null"
    if record.value is not None and record.layout is not None and record.version is not None:
        value = f'{{"version":{record.version},"data":{message(record.layout, record.version, record.value)}}}'
    return f'{{"key":{{"type":{record.type.number},"data":{_key(record)}}},"value":{value}}}'


def dump_key(record: Record) -> str:
    """Format a key as kafka-dump-log does with a decoder for a coordinator topic: the type is a string."""
    return f'{{"type":"{record.type.number}","data":{_key(record)}}}'


def dump_payload(record: Record) -> str:
    """Format a value as kafka-dump-log does: the version is a string, a tombstone is `<DELETE>`.

    Subscriptions and assignments of a classic group of consumers are decoded if possible.
    """
    if record.value is None or record.layout is None or record.version is None:
        return "<DELETE>"
    data = message(record.layout, record.version, record.value)
    if record.type.name == "GROUP_METADATA" and record.value["protocol_type"] == "consumer":
        data = _struct(record.layout.struct, record.version, record.value, _embedded)
    return f'{{"version":"{record.version}","data":{data}}}'


def message(layout: Message, version: int, fields: Fields) -> str:
    """Format the fields of a message in this version as its JsonConverter does."""
    return _struct(layout.struct, version, fields, None)


@functools.cache
def camel_case(name: str) -> str:
    """Return Kafka's name of a field."""
    head, *rest = name.split("_")
    return head + "".join(word[0].upper() + word[1:] for word in rest)


def uuid_text(uuid: bytes) -> str:
    """Return a uuid as Kafka prints it: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(uuid).decode().rstrip("=")


def _key(record: Record) -> str:
    return "null" if record.type.key is None else message(record.type.key, 0, record.key)


def _struct(struct: Struct, version: int, fields: Fields, override: Any) -> str:
    """Format a struct. `override` returns the JSON of a field at any depth, or None to format it by its type."""
    members = []
    for field in struct.fields:
        if not field.present(version):
            continue
        value = fields[field.name]
        if field.tag is not None and value == field.default_value():
            continue
        text = override(field, value) if override else None
        members.append(f'"{camel_case(field.name)}":{text or _value(field.type, version, value, override)}')
    return "{" + ",".join(members) + "}"


def _value(kind: FieldType, version: int, value: Any, override: Any) -> str:
    if value is None:
        return "null"
    if isinstance(kind, Struct):
        return _struct(kind, version, value, override)
    if isinstance(kind, ArrayOf):
        return "[" + ",".join(_value(kind.element, version, element, override) for element in value) + "]"
    return _PRIMITIVES.get(kind.name, str)(value)


def _embedded(field: Field, value: Any) -> str | None:
    """Return the JSON of a consumer's subscription or assignment, None if the field or its bytes are something else."""
    embedded_message = _EMBEDDED.get(field.name)
    if embedded_message is None:
        return None
    layout, decode = embedded_message
    fields = decode(value)
    # Unlike consumers, the tool does not decode versions above 3.
    if not isinstance(fields, dict) or not layout.is_valid(fields["version"]):
        return None
    return message(layout, fields["version"], fields)


_EMBEDDED: Final = {
    "subscription": (embedded.CONSUMER_SUBSCRIPTION, blobs.consumer_subscription),
    "assignment": (embedded.CONSUMER_ASSIGNMENT, blobs.consumer_assignment),
}

_ESCAPED: Final = re.compile(r'["\\\x00-\x1f]')
_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def _quoted(text: str) -> str:
    """Format a string as Jackson does."""
    return '"' + _ESCAPED.sub(lambda match: _SHORT.get(match[0]) or f"\\u{ord(match[0]):04X}", text) + '"'


_PRIMITIVES: Final[Mapping[str, Callable[[Any], str]]] = {
    "string": _quoted,
    "bytes": lambda value: f'"{base64.b64encode(value).decode()}"',
    "uuid": lambda value: f'"{uuid_text(value)}"',
}
