"""Record decoder: decodes any record completely, or returns the exact reason why its bytes cannot be read.

It reads one record at a time by the tables: with the readers of `decoders.compiled`, and bytes that they decline with
those of `decoders.compose`, which report the errors. The `decode...` functions never raise, whatever the bytes. This
module also handles the frame around a message: type, version, and the choice of the layout that fits a value.
"""

import functools
from collections.abc import Mapping
from typing import Final

from decoders import wire
from decoders.compiled import DECLINE_ERRORS, compiled_reader
from decoders.compose import message_reader
from decoders.errors import DecodeError, DecodeReason, MalformedBytes
from decoders.schema import Fields, Message, Primitive, Record, RecordType
from decoders.tables import BY_NUMBER, SHARE_STATE_TYPES, TRANSACTION_TYPES

NO_FIELDS: Final = frozenset[str]()
"""For `only`: check that a record can be read, without returning its fields."""


def decode(key: bytes | None, value: bytes | None, only: frozenset[str] | None = None) -> Record | DecodeError:
    """Decode one record of `__consumer_offsets`; a null value is a tombstone.

    `only` names the requested fields, at any depth. The record then has at least these fields and costs a fraction of
    the time. Errors are the same as without `only`.
    """
    return decode_with(BY_NUMBER, key, value, only)


def decode_with(
    types: Mapping[int, RecordType], key: bytes | None, value: bytes | None, only: frozenset[str] | None = None
) -> Record | DecodeError:
    """Decode one record of a topic with these record types (Kafka's CoordinatorRecordSerde).

    Bytes after the last field of key or value are accepted, as in the broker. `only` is that of `decode`.
    """
    if key is None:
        return DecodeError(None, None, "key", 0, DecodeReason.NULL_KEY)
    number, version, part = None, None, "key"
    try:
        number, at = _leading_int16(key, "type")
        record_type = _look_up(types, number)
        key_fields = _key_fields(record_type.key, key, at, only)
        if value is None:
            return Record(record_type, key_fields, None, None, None)
        part = "value"
        version, at = _leading_int16(value, "version")
        layout, fields = _value(record_type, version, value, at, only)
    except MalformedBytes as fault:
        return DecodeError(number, version, f"{part}.{fault.path}", fault.position, fault.reason)
    return Record(record_type, key_fields, version, fields, layout)


def read_value(record_type: RecordType, value: bytes, only: frozenset[str] | None = None) -> Fields | None:
    """Decode only the value of a record with a valid key; None if `decode` would return an error."""
    try:
        version, at = _leading_int16(value, "version")
        return _value(record_type, version, value, at, only)[1]
    except MalformedBytes:
        return None


decode_transaction: Final = functools.partial(decode_with, TRANSACTION_TYPES)
"""Decodes one record of `__transaction_state`; a null value is a tombstone."""
decode_share_state: Final = functools.partial(decode_with, SHARE_STATE_TYPES)
"""Decodes one record of `__share_group_state`; a null value is a tombstone."""


def read_message(
    message: Message, version: int, buffer: bytes, at: int, only: frozenset[str] | None = None
) -> tuple[Fields, int]:
    """Read a message of this version at `at`. Return its fields and the position after it. Raises `MalformedBytes`."""
    try:
        fields, end = compiled_reader(message, version, only)(buffer, at)
    except DECLINE_ERRORS:
        fields, end = message_reader(message, version)(buffer, at)
    return fields, end


def _leading_int16(buffer: bytes, name: str) -> tuple[int, int]:
    """Read the int16 at the start of every key and value."""
    try:
        return wire.int16(buffer, 0)
    except MalformedBytes as fault:
        raise fault.within(name) from None


def _look_up(types: Mapping[int, RecordType], number: int) -> RecordType:
    """Return the record type of this number. Raises MalformedBytes if it is unknown or removed."""
    record_type = types.get(number)
    if record_type is None or record_type.removed:
        reason = DecodeReason.UNKNOWN_TYPE if record_type is None else DecodeReason.REMOVED_TYPE
        raise MalformedBytes(reason, 0).within("type")
    return record_type


def _key_fields(message: Message | None, buffer: bytes, at: int, only: frozenset[str] | None) -> Fields:
    """Read a key and ignore the bytes after it. The minimum of the last field is always checked, requested or not."""
    assert message is not None, "types without tables are refused before"  # noqa: S101  # for the type checker
    last = message.struct.fields[-1]
    if last.minimum is None:
        return read_message(message, 0, buffer, at, only)[0]
    fields, end = read_message(message, 0, buffer, at, None if only is None else only | {last.name})
    if fields[last.name] < last.minimum:
        assert isinstance(last.type, Primitive)  # noqa: S101  # a mistake in a table
        raise MalformedBytes(DecodeReason.OUT_OF_RANGE, end - (last.type.width or 0)).within(last.name)
    return fields


def _value(
    record_type: RecordType, version: int, buffer: bytes, at: int, only: frozenset[str] | None = None
) -> tuple[Message, Fields]:
    """Read a value with the layout that fits its bytes.

    If Kafka changed the layout without a new version, the current layout is used unless only an older one consumes
    every byte.
    """
    message = record_type.value
    assert message is not None, "types without tables are refused before"  # noqa: S101  # for the type checker
    if not message.is_valid(version):
        raise MalformedBytes(DecodeReason.UNKNOWN_VERSION, 0).within("version")
    for layout in (message, *record_type.older_layouts) if record_type.older_layouts else ():
        try:
            fields, end = read_message(layout, version, buffer, at, only)
        except MalformedBytes:
            continue
        if end == len(buffer):
            return layout, fields
    return message, read_message(message, version, buffer, at, only)[0]
