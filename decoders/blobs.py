"""Decoders for binary data embedded in records.

They cover the consumer protocol, Connect, and the assignments of Kafka Streams on the classic protocol.

Each function takes the bytes as stored in the record. It returns the fields of the table in `decoders.tables.embedded`,
or a `DecodeError` (its `type` is None, its `version` that of the blob), or None for zero bytes, which are legal
everywhere. No function raises. Bytes after the last known field are ignored, because later versions only append fields.
"""

import base64
import binascii
import functools
from typing import Final

from decoders import wire
from decoders.errors import DecodeError, DecodeReason, MalformedBytes
from decoders.scalar import read_message
from decoders.schema import Fields, Message, versions
from decoders.tables import embedded
from decoders.wire import Reader

_NEWEST_ASSIGNMENT_INFO: Final = 11
_STREAM_TIME_VERSIONS: Final = {1, 2}


def _prefixed(name: str, message: Message, raw: bytes, *, accept_newer: bool = False) -> Fields | DecodeError | None:
    """Decode a blob that starts with an int16 version; `accept_newer` reads newer versions as the last known one."""
    if not raw:
        return None
    version = None
    try:
        version, at = wire.int16(raw, 0)
        layout = min(version, versions(message.valid).highest) if accept_newer else version
        if not message.is_valid(layout):
            raise MalformedBytes(DecodeReason.UNKNOWN_VERSION, 0).within("version")
        return {"version": version, **read_message(message, layout, raw, at)[0]}
    except MalformedBytes as fault:
        return _error(name, version, fault)


def _error(name: str, version: int | None, fault: MalformedBytes) -> DecodeError:
    """Return the DecodeError for a fault inside the blob `name`."""
    return DecodeError(None, version, f"{name}.{fault.path}" if fault.path else name, fault.position, fault.reason)


consumer_subscription: Final = functools.partial(
    _prefixed, "subscription", embedded.CONSUMER_SUBSCRIPTION, accept_newer=True
)
"""Decodes a member's subscription (ConsumerProtocolSubscription); versions above 3 are read as 3."""
consumer_assignment: Final = functools.partial(_prefixed, "assignment", embedded.CONSUMER_ASSIGNMENT, accept_newer=True)
"""Decodes a member's assignment (ConsumerProtocolAssignment); versions above 3 are read as 3."""
connect_metadata: Final = functools.partial(_prefixed, "metadata", embedded.CONNECT_METADATA)
"""Decodes the metadata of a Connect worker; its `allocation` is itself a blob for `connect_assignment`."""
connect_assignment: Final = functools.partial(_prefixed, "assignment", embedded.CONNECT_ASSIGNMENT)
"""Decodes the connectors and tasks assigned to a Connect worker; task -1 is the connector itself."""
_SUBSCRIPTIONS: Final = {"consumer": consumer_subscription, "connect": connect_metadata}


def subscription(protocol_type: str, raw: bytes) -> Fields | DecodeError | None:
    """Decode a classic member's subscription by the protocol type of its group; None for an unknown protocol type."""
    decode = _SUBSCRIPTIONS.get(protocol_type)
    return decode(raw) if decode else None


def streams_assignment_info(raw: bytes) -> Fields | DecodeError | None:
    """Decode the tasks in the user data of a Kafka Streams assignment (AssignmentInfo, versions 1 to 11).

    It is written with Java's DataOutput. What follows the tasks (hosts, an error code, the next rebalance) is not read.
    """
    if not raw:
        return None
    version = None
    try:
        version, at = wire.int32(raw, 0)
        if not 1 <= version <= _NEWEST_ASSIGNMENT_INFO:
            raise MalformedBytes(DecodeReason.UNKNOWN_VERSION, 0).within("version")
        if version >= 3:
            _, at = wire.int32(raw, at)  # the newest version that all members support
        active, at = wire.array(wire.int32, _task(version, is_standby=False), nullable=False)(raw, at)
        standby, _ = wire.array(wire.int32, _task(version, is_standby=True), nullable=False)(raw, at)
    except MalformedBytes as fault:
        return _error("user_data", version, fault)
    return {"version": version, "active_tasks": active, "standby_tasks": standby}


def streams_commit_metadata(raw: bytes) -> Fields | DecodeError | None:
    """Decode the metadata of a commit of Kafka Streams (TopicPartitionMetadata, versions 1 and 2), text in Base64.

    `stream_time` is the greatest timestamp (ms) of the partition's records that were processed; None: none was. The
    metadata of processors, which follow it in version 2, are not read.
    """
    if not raw:
        return None
    version = None
    try:
        try:
            plain = base64.b64decode(raw, validate=True)
        except binascii.Error:
            raise MalformedBytes(DecodeReason.OUT_OF_RANGE, 0) from None
        version, at = wire.int8(plain, 0)
        if version not in _STREAM_TIME_VERSIONS:
            raise MalformedBytes(DecodeReason.UNKNOWN_VERSION, 0).within("version")
        time, _ = wire.int64(plain, at)
        if time < -1:
            raise MalformedBytes(DecodeReason.OUT_OF_RANGE, at).within("stream_time")
    except MalformedBytes as fault:
        return _error("metadata", version, fault)
    return {"version": version, "stream_time": None if time < 0 else time}


def _task(version: int, *, is_standby: bool) -> Reader:
    """Return the reader of a task. Its named topology (since v10, in UTF-16) and standby partitions are skipped."""

    def read(buffer: bytes, at: int) -> tuple[Fields, int]:
        subtopology, at = wire.int32(buffer, at)
        partition, at = wire.int32(buffer, at)
        if version >= 10:
            count, at = wire.int32(buffer, at)
            _, at = wire.read_bytes(buffer, at, 2 * count)
        if is_standby:
            _, at = wire.array(wire.int32, _topic_partition, nullable=False)(buffer, at)
        return {"subtopology": subtopology, "partition": partition}, at

    return read


def _topic_partition(buffer: bytes, at: int) -> tuple[int, int]:
    """Read a partition after the name of its topic, which is skipped."""
    length, at = wire.uint16(buffer, at)
    _, at = wire.read_bytes(buffer, at, length)
    value: int
    value, at = wire.int32(buffer, at)
    return value, at
