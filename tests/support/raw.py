"""Raw records of `__consumer_offsets`, encoded independently of the decoders."""

import struct
from collections.abc import Sequence

Text = str | bytes
"""A string of a record; bytes for invalid UTF-8."""


def _encoded(value: Text) -> bytes:
    return value.encode() if isinstance(value, str) else value


def text(value: Text) -> bytes:
    """Return a non-flexible string: int16 length and UTF-8."""
    raw = _encoded(value)
    return struct.pack(">h", len(raw)) + raw


def commit_key(group: Text, topic: Text, partition: int, *, record_type: int = 1) -> bytes:
    """Return a key of type 1, or of type 0 as Kafka 0.8.2 wrote it."""
    return struct.pack(">h", record_type) + text(group) + text(topic) + struct.pack(">i", partition)


def group_key(group: Text) -> bytes:
    """Return a key of type 2."""
    return struct.pack(">h", 2) + text(group)


def commit_value(
    offset: int, time: int, *, version: int = 3, metadata: Text = "", leader_epoch: int = -1, topic_id: bytes = b""
) -> bytes:
    head = struct.pack(">hq", version, offset)
    epoch = struct.pack(">i", leader_epoch)
    if version == 4:
        raw = _encoded(metadata)
        length = len(raw) + 1
        compact = bytes([length]) if length < 128 else bytes([length & 127 | 128, length >> 7])
        tags = b"\x01\x00\x10" + topic_id if topic_id else b"\x00"
        return head + epoch + compact + raw + struct.pack(">q", time) + tags
    middle = epoch + text(metadata) if version == 3 else text(metadata)
    tail = struct.pack(">q", -1) if version == 1 else b""
    return head + middle + struct.pack(">q", time) + tail


def group_value(
    generation: int,
    members: Sequence[Text],
    *,
    time: int = 1234,
    client: Text = "client",
    host: Text = "/127.0.0.1",
    protocol_type: Text = "consumer",
) -> bytes:
    """Return a group metadata value (v3) of a classic group; no members means Empty."""
    head = struct.pack(">h", 3) + text(protocol_type) + struct.pack(">i", generation)
    names = text("range") + text(members[0]) if members else b"\xff\xff\xff\xff"
    body = b"".join(
        text(member) + b"\xff\xff" + text(client) + text(host) + struct.pack(">iiii", 300_000, 45_000, 0, 0)
        for member in members
    )
    return head + names + struct.pack(">qi", time, len(members)) + body
