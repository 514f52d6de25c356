"""Bytes inside records: the consumer protocol, assignors' user data, Connect, Kafka Streams on the classic protocol.

Each function takes the bytes as the record holds them and gives the fields of the table in
`decoders.tables.embedded`, or a `DecodeError` (its `type` is None, its `version` the blob's), or None for zero bytes:
"there is none" is legal everywhere. Nothing here raises. Bytes after the last known field are ignored: later versions
only append.
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
    """Read what a member subscribed to (ConsumerProtocolSubscription); versions after 3 are read as 3."""
    return _prefixed("subscription", raw, embedded.CONSUMER_SUBSCRIPTION, future=True)


def consumer_assignment(raw: bytes) -> Fields | DecodeError | None:
    """Read what a member was given (ConsumerProtocolAssignment); versions after 3 are read as 3."""
    return _prefixed("assignment", raw, embedded.CONSUMER_ASSIGNMENT, future=True)


def connect_metadata(raw: bytes) -> Fields | DecodeError | None:
    """Read what a Connect worker told of itself; `allocation` is again a `connect_assignment`."""
    return _prefixed("metadata", raw, embedded.CONNECT_METADATA, future=False)


def connect_assignment(raw: bytes) -> Fields | DecodeError | None:
    """Read the connectors and tasks that a Connect worker was given; task -1 is the connector itself."""
    return _prefixed("assignment", raw, embedded.CONNECT_ASSIGNMENT, future=False)


def sticky_user_data(raw: bytes) -> Fields | DecodeError | None:
    """Read the user data of the sticky assignor; without the generation where an old client wrote it."""
    if not raw:
        return None
    newest = _unversioned("user_data", raw, embedded.STICKY_USER_DATA, 1)
    return _unversioned("user_data", raw, embedded.STICKY_USER_DATA, 0) if isinstance(newest, DecodeError) else newest


def cooperative_sticky_user_data(raw: bytes) -> Fields | DecodeError | None:
    """Read the user data of the cooperative sticky assignor: the generation alone."""
    return _unversioned("user_data", raw, embedded.COOPERATIVE_STICKY_USER_DATA, 0) if raw else None


def streams_subscription_info(raw: bytes) -> Fields | DecodeError | None:
    """Read the user data of a Kafka Streams subscription (SubscriptionInfo, versions 1 to 11)."""
    if not raw:
        return None
    version = None
    try:
        version, _ = wire.int32(raw, 0)
        _known(version, embedded.STREAMS_SUBSCRIPTION_INFO)
        return read_message(embedded.STREAMS_SUBSCRIPTION_INFO, version, raw, 0)[0]
    except MalformedBytes as fault:
        return _error("user_data", version, fault)


def streams_assignment_info(raw: bytes) -> Fields | DecodeError | None:
    """Read the user data of a Kafka Streams assignment (AssignmentInfo, versions 1 to 11)."""
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
    """Read the metadata of an offset that Kafka Streams committed: base64 of TopicPartitionMetadata v1 or v2.

    `partition_time` is in Unix milliseconds (-1 unknown). Anyone else's metadata is free text, mostly an error here.
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
    """Read a classic member's subscription by its group's protocol type; None for a protocol that we do not know."""
    read = _SUBSCRIPTIONS.get(protocol_type)
    return read(raw) if read else None


def assignment(protocol_type: str, raw: bytes) -> Fields | DecodeError | None:
    """Read a classic member's assignment by its group's protocol type; None for a protocol that we do not know."""
    read = _ASSIGNMENTS.get(protocol_type)
    return read(raw) if read else None


def subscription_user_data(assignor: str, raw: bytes) -> Fields | DecodeError | None:
    """Read the user data in a consumer's subscription by the assignor's (the group protocol's) name."""
    read = _SUBSCRIPTION_USER_DATA.get(assignor)
    return read(raw) if read else None


def _prefixed(name: str, raw: bytes, message: Message, *, future: bool) -> Fields | DecodeError | None:
    """Read a blob that an int16 version stands before; with `future` a later version is read as the last known."""
    if not raw:
        return None
    version = None
    try:
        version, at = wire.int16(raw, 0)
        layout = min(version, versions(message.valid).highest) if future else version
        _known(layout, message)
        return {"version": version, **read_message(message, layout, raw, at)[0]}
    except MalformedBytes as fault:
        return _error(name, version, fault)


def _unversioned(name: str, raw: bytes, message: Message, version: int) -> Fields | DecodeError:
    """Read a blob whose version is not in its bytes."""
    try:
        return read_message(message, version, raw, 0)[0]
    except MalformedBytes as fault:
        return _error(name, None, fault)


def _known(version: int, message: Message) -> None:
    """Refuse a version that the table does not have."""
    if not message.is_valid(version):
        raise MalformedBytes(DecodeReason.UNKNOWN_VERSION, 0).within("version")


def _error(name: str, version: int | None, fault: MalformedBytes) -> DecodeError:
    """Turn a fault into the value that callers get."""
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
