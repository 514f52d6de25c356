"""Interpreter one: any record, every field, and the exact reason where bytes cannot be read.

Reads one record at a time by the tables: with the compiled readers of `decoders.compiled`, and what these decline with
the walk of `decoders.compose`, which words the errors. The `decode...` functions never raise, on any bytes. Owns the
frames around a message: type, version, and which layout of a value fits its bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from decoders import wire
from decoders.compiled import DECLINE_ERRORS, compiled_reader
from decoders.compose import message_reader
from decoders.errors import DecodeError, DecodeReason, MalformedBytes
from decoders.records import Record
from decoders.schema import Primitive
from decoders.tables import BY_NUMBER, METADATA_TYPES, SHARE_STATE_TYPES, TRANSACTION_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from decoders.records import Fields
    from decoders.schema import Message, RecordType

NO_FIELDS: Final = frozenset[str]()
"""To be told only whether a record can be read."""


def decode(key: bytes | None, value: bytes | None, only: frozenset[str] | None = None) -> Record | DecodeError:
    """Decode one record of `__consumer_offsets`; a null value is a tombstone.

    `only` names the fields that are asked for, at whatever depth. The record holds these at least, which costs a
    fraction of all of them; the error is the same.
    """
    return decode_with(BY_NUMBER, key, value, only)


def decode_with(
    types: Mapping[int, RecordType], key: bytes | None, value: bytes | None, only: frozenset[str] | None = None
) -> Record | DecodeError:
    """Decode one record of a topic with these record types (Kafka's CoordinatorRecordSerde).

    Bytes after the last field of key or value are accepted, as brokers accept them. `only` as in `decode`.
    """
    if key is None:
        return DecodeError(None, None, "key", 0, DecodeReason.NULL_KEY)
    number, version, side = None, None, "key"
    try:
        number, at = _head(key, "type")
        record_type = _look_up(types, number)
        names = _key_fields(record_type.key, key, at, only)
        if value is None:
            return Record(record_type, names, None, None, None)
        side = "value"
        version, at = _head(value, "version")
        layout, fields, _ = _value(record_type, version, value, at, only)
    except MalformedBytes as fault:
        return DecodeError(number, version, f"{side}.{fault.path}", fault.position, fault.reason)
    return Record(record_type, names, version, fields, layout)


def read_value(record_type: RecordType, value: bytes, only: frozenset[str] | None = None) -> Fields | None:
    """Read the value of a record whose key is known to be sound; None where `decode` would refuse it."""
    try:
        version, at = _head(value, "version")
        return _value(record_type, version, value, at, only)[1]
    except MalformedBytes:
        return None


def decode_transaction(key: bytes | None, value: bytes | None) -> Record | DecodeError:
    """Decode one record of `__transaction_state`; a null value is a tombstone."""
    return decode_with(TRANSACTION_TYPES, key, value)


def decode_share_state(key: bytes | None, value: bytes | None) -> Record | DecodeError:
    """Decode one record of `__share_group_state`; a null value is a tombstone."""
    return decode_with(SHARE_STATE_TYPES, key, value)


def decode_metadata(value: bytes | None) -> Record | DecodeError:
    """Decode the value of one data record of `__cluster_metadata`; these have no key.

    A frame stands before the message: its own version (1), the record's type and version, all unsigned varints. Here,
    and only here, bytes after the message are an error (Kafka's AbstractApiMessageSerde).
    """
    if value is None:
        return DecodeError(None, None, "value", 0, DecodeReason.NULL_VALUE)
    number, version = None, None
    try:
        at = _frame_version(value)
        number, at = _framed(value, at, "type")
        record_type = _look_up(METADATA_TYPES, number)
        version, at = _framed(value, at, "version")
        layout, fields, at = _value(record_type, version, value, at)
        if at != len(value):
            raise MalformedBytes(DecodeReason.TRAILING_BYTES, at).within("end")
    except MalformedBytes as fault:
        return DecodeError(number, version, f"value.{fault.path}", fault.position, fault.reason)
    return Record(record_type, {}, version, fields, layout)


def read_message(
    message: Message, version: int, buffer: bytes, at: int, only: frozenset[str] | None = None
) -> tuple[Fields, int]:
    """Read a message of this version from `at`; gives the fields and where they end. Raises `MalformedBytes`."""
    try:
        fields, end = compiled_reader(message, version, only)(buffer, at)
    except DECLINE_ERRORS:
        fields, end = message_reader(message, version)(buffer, at)
    return fields, end


def _frame_version(buffer: bytes) -> int:
    """Read the version of the frame, which must be 1, and give where it ends."""
    version, at = _framed(buffer, 0, "frame_version")
    if version != 1:
        raise MalformedBytes(DecodeReason.UNKNOWN_VERSION, 0).within("frame_version")
    return at


def _framed(buffer: bytes, at: int, name: str) -> tuple[int, int]:
    """Read one unsigned varint of the frame."""
    try:
        return wire.uvarint(buffer, at)
    except MalformedBytes as fault:
        raise fault.within(name) from None


def _head(buffer: bytes, name: str) -> tuple[int, int]:
    """Read the int16 that every key and value begins with."""
    try:
        return wire.int16(buffer, 0)
    except MalformedBytes as fault:
        raise fault.within(name) from None


def _look_up(types: Mapping[int, RecordType], number: int) -> RecordType:
    """Find the type of a key, or say why there is none."""
    record_type = types.get(number)
    if record_type is None:
        raise MalformedBytes(DecodeReason.UNKNOWN_TYPE, 0).within("type")
    if record_type.removed:
        raise MalformedBytes(DecodeReason.REMOVED_TYPE, 0).within("type")
    return record_type


def _key_fields(message: Message | None, buffer: bytes, at: int, only: frozenset[str] | None) -> Fields:
    """Read a key and ignore the bytes after it. A last field below its least value is refused, whether asked or not."""
    assert message is not None, "a type without tables was refused before"  # noqa: S101  # for the type checker
    last = message.struct.fields[-1]
    if last.least is None:
        return read_message(message, 0, buffer, at, only)[0]
    fields, end = read_message(message, 0, buffer, at, None if only is None else only | {last.name})
    if fields[last.name] < last.least:
        assert isinstance(last.type, Primitive)  # noqa: S101  # a slip in a table
        raise MalformedBytes(DecodeReason.OUT_OF_RANGE, end - (last.type.width or 0)).within(last.name)
    return fields


def _value(
    record_type: RecordType, version: int, buffer: bytes, at: int, only: frozenset[str] | None = None
) -> tuple[Message, Fields, int]:
    """Read a value by the layout that fits its bytes.

    Where Kafka changed a layout under the same version, today's is taken unless only an older one consumes every byte.
    """
    message = record_type.value
    assert message is not None, "a type without tables was refused before"  # noqa: S101  # for the type checker
    if not message.is_valid(version):
        raise MalformedBytes(DecodeReason.UNKNOWN_VERSION, 0).within("version")
    if not record_type.older_layouts:
        return message, *read_message(message, version, buffer, at, only)
    for layout in (message, *record_type.older_layouts):
        try:
            fields, end = read_message(layout, version, buffer, at, only)
        except MalformedBytes:
            continue
        if end == len(buffer):
            return layout, fields, end
    return message, *read_message(message, version, buffer, at, only)
