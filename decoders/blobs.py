"""Decoders for binary data embedded in records.

They cover the consumer protocol, the user data of assignors, Connect, and Kafka Streams on the classic protocol.

Each function takes the bytes as stored in the record. It returns the fields of the table in `decoders.tables.embedded`,
or a `DecodeError` (its `type` is None, its `version` that of the blob), or None for zero bytes, which are legal
everywhere. No function raises. Bytes after the last known field are ignored, because later versions only append fields.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from decoders import streams_info, wire
from decoders.errors import DecodeError, DecodeReason, MalformedBytes
from decoders.scalar import read_message
from decoders.schema import versions
from decoders.tables import embedded

if TYPE_CHECKING:
    from collections.abc import Callable

    from decoders.records import Fields
    from decoders.schema import Message


def consumer_subscription(raw: bytes) -> Fields | DecodeError | None:
    """Decode a member's subscription (ConsumerProtocolSubscription); versions above 3 are read as 3."""
    return _prefixed("subscription", raw, embedded.CONSUMER_SUBSCRIPTION, accept_newer=True)


def consumer_assignment(raw: bytes) -> Fields | DecodeError | None:
    """Decode a member's assignment (ConsumerProtocolAssignment); versions above 3 are read as 3."""
    return _prefixed("assignment", raw, embedded.CONSUMER_ASSIGNMENT, accept_newer=True)


def connect_metadata(raw: bytes) -> Fields | DecodeError | None:
    """Decode the metadata of a Connect worker; its `allocation` is itself a blob for `connect_assignment`."""
    return _prefixed("metadata", raw, embedded.CONNECT_METADATA, accept_newer=False)


def connect_assignment(raw: bytes) -> Fields | DecodeError | None:
    """Decode the connectors and tasks assigned to a Connect worker; task -1 is the connector itself."""
    return _prefixed("assignment", raw, embedded.CONNECT_ASSIGNMENT, accept_newer=False)


def sticky_user_data(raw: bytes) -> Fields | DecodeError | None:
    """Decode the user data of the sticky assignor; old clients write it without a generation."""
    if not raw:
        return None
    newest = _unversioned("user_data", raw, embedded.STICKY_USER_DATA, 1)
    return _unversioned("user_data", raw, embedded.STICKY_USER_DATA, 0) if isinstance(newest, DecodeError) else newest


def cooperative_sticky_user_data(raw: bytes) -> Fields | DecodeError | None:
    """Decode the user data of the cooperative sticky assignor, which is only the generation."""
    return _unversioned("user_data", raw, embedded.COOPERATIVE_STICKY_USER_DATA, 0) if raw else None


def streams_subscription_info(raw: bytes) -> Fields | DecodeError | None:
    """Decode the user data of a Kafka Streams subscription (SubscriptionInfo, versions 1 to 11)."""
    if not raw:
        return None
    version = None
    try:
        version, _ = wire.int32(raw, 0)
        _check_version(version, embedded.STREAMS_SUBSCRIPTION_INFO)
        return read_message(embedded.STREAMS_SUBSCRIPTION_INFO, version, raw, 0)[0]
    except MalformedBytes as fault:
        return _error("user_data", version, fault)


def streams_assignment_info(raw: bytes) -> Fields | DecodeError | None:
    """Decode the user data of a Kafka Streams assignment (AssignmentInfo, versions 1 to 11)."""
    if not raw:
        return None
    version = None
    try:
        version, at = wire.int32(raw, 0)
        if version not in streams_info.ASSIGNMENT_VERSIONS:
            raise MalformedBytes(DecodeReason.UNKNOWN_VERSION, 0).within("version")
        return {"version": version, **streams_info.read_assignment(version, raw, at)}
    except MalformedBytes as fault:
        return _error("user_data", version, fault)


def streams_commit_metadata(text: str) -> Fields | DecodeError | None:
    """Decode the metadata of an offset commit by Kafka Streams: base64 of TopicPartitionMetadata v1 or v2.

    `partition_time` is in Unix milliseconds (-1 unknown). Metadata written by other clients is free text and usually
    gives a DecodeError.
    """
    if not text:
        return None
    version = None
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return DecodeError(None, None, "metadata", 0, DecodeReason.NOT_BASE64)
    try:
        version, at = wire.int8(raw, 0)
        if version not in streams_info.COMMIT_VERSIONS:
            raise MalformedBytes(DecodeReason.UNKNOWN_VERSION, 0).within("version")
        return {"version": version, **streams_info.read_commit(version, raw, at)}
    except MalformedBytes as fault:
        return _error("metadata", version, fault)


def subscription(protocol_type: str, raw: bytes) -> Fields | DecodeError | None:
    """Decode a classic member's subscription by the protocol type of its group; None for an unknown protocol type."""
    decode = _SUBSCRIPTIONS.get(protocol_type)
    return decode(raw) if decode else None


def assignment(protocol_type: str, raw: bytes) -> Fields | DecodeError | None:
    """Decode a classic member's assignment by the protocol type of its group; None for an unknown protocol type."""
    decode = _ASSIGNMENTS.get(protocol_type)
    return decode(raw) if decode else None


def subscription_user_data(assignor: str, raw: bytes) -> Fields | DecodeError | None:
    """Decode the user data of a consumer's subscription by the name of the assignor (the group protocol)."""
    decode = _SUBSCRIPTION_USER_DATA.get(assignor)
    return decode(raw) if decode else None


def _prefixed(name: str, raw: bytes, message: Message, *, accept_newer: bool) -> Fields | DecodeError | None:
    """Decode a blob that starts with an int16 version; `accept_newer` reads newer versions as the last known one."""
    if not raw:
        return None
    version = None
    try:
        version, at = wire.int16(raw, 0)
        layout = min(version, versions(message.valid).highest) if accept_newer else version
        _check_version(layout, message)
        return {"version": version, **read_message(message, layout, raw, at)[0]}
    except MalformedBytes as fault:
        return _error(name, version, fault)


def _unversioned(name: str, raw: bytes, message: Message, version: int) -> Fields | DecodeError:
    """Decode a blob whose bytes carry no version."""
    try:
        return read_message(message, version, raw, 0)[0]
    except MalformedBytes as fault:
        return _error(name, None, fault)


def _check_version(version: int, message: Message) -> None:
    """Raise MalformedBytes for a version that the table does not have."""
    if not message.is_valid(version):
        raise MalformedBytes(DecodeReason.UNKNOWN_VERSION, 0).within("version")


def _error(name: str, version: int | None, fault: MalformedBytes) -> DecodeError:
    """Return the DecodeError for a fault inside the blob `name`."""
    return DecodeError(None, version, f"{name}.{fault.path}" if fault.path else name, fault.position, fault.reason)


_SUBSCRIPTIONS: dict[str, Callable[[bytes], Fields | DecodeError | None]] = {
    "consumer": consumer_subscription,
    "connect": connect_metadata,
}
_ASSIGNMENTS: dict[str, Callable[[bytes], Fields | DecodeError | None]] = {
    "consumer": consumer_assignment,
    "connect": connect_assignment,
}
_SUBSCRIPTION_USER_DATA: dict[str, Callable[[bytes], Fields | DecodeError | None]] = {
    "sticky": sticky_user_data,
    "cooperative-sticky": cooperative_sticky_user_data,
    "stream": streams_subscription_info,
}
