"""Blobs inside records: golden bytes, tolerated deviations, and one typed error for everything else."""

import base64
import struct

from hypothesis import given
from hypothesis import strategies as st

from decoders import blobs
from decoders.errors import DecodeError, DecodeReason

SUBSCRIPTION_V0 = bytes.fromhex("000000000001000174ffffffff")
SUBSCRIPTION_V3 = bytes.fromhex("000300000001000174ffffffff0000000100017400000002000000000000000200000004000172")
ASSIGNMENT = bytes.fromhex("000000000001000174000000020000000000000002ffffffff")
OWNED = ({"topic": "t", "partitions": (0, 2)},)


def test_a_subscription_of_every_version_is_decoded() -> None:
    """Version 0 has topics, 3 has all fields. A newer version is read as 3, and the bytes after it are ignored."""
    plain = {"topics": ("t",), "user_data": None, "owned_partitions": (), "generation_id": -1, "rack_id": None}
    full = {**plain, "owned_partitions": OWNED, "generation_id": 4, "rack_id": "r"}
    assert blobs.consumer_subscription(SUBSCRIPTION_V0) == {"version": 0, **plain}
    assert blobs.consumer_subscription(SUBSCRIPTION_V3) == {"version": 3, **full}
    assert blobs.consumer_subscription(b"\0\x07" + SUBSCRIPTION_V3[2:] + b"new") == {"version": 7, **full}


def test_an_assignment_is_decoded_and_a_negative_version_is_an_error() -> None:
    """All versions have the same layout. As in consumers, a version below zero is an error."""
    assert blobs.consumer_assignment(ASSIGNMENT) == {"version": 0, "assigned_partitions": OWNED, "user_data": None}
    error = blobs.consumer_assignment(b"\xff\xff" + ASSIGNMENT[2:])
    assert error == DecodeError(None, -1, "assignment.version", 0, DecodeReason.UNKNOWN_VERSION)


def test_the_protocol_type_selects_the_decoder() -> None:
    """Only the bytes of consumers and Connect are decoded. Other protocol types give None."""
    assert blobs.subscription("consumer", SUBSCRIPTION_V0) == blobs.consumer_subscription(SUBSCRIPTION_V0)
    assert blobs.subscription("sr", b"{}") is None


def test_connect_fields_that_old_workers_omit_are_optional() -> None:
    """Missing trailing fields have their defaults; a truncated field is an error."""
    head = b"\0\1" + b"\0\0" + b"\0\1l" + b"\0\1u" + struct.pack(">q", 9)
    fields = blobs.connect_assignment(head)
    assert (fields["leader"], fields["config_offset"]) == ("l", 9)
    assert (fields["assignment"], fields["revoked"], fields["delay"]) == (None, None, 0)
    error = blobs.connect_assignment(head + b"\0\0")
    assert (error.field, error.reason) == ("assignment.assignment", DecodeReason.SHORT)


def test_the_tasks_of_kafka_streams_are_decoded() -> None:
    """Since v3 another version precedes them; since v10 a task has a named topology. Truncated bytes are one error."""
    task, topic = struct.pack(">ii", 1, 2), struct.pack(">iH", 1, 1) + b"t" + struct.pack(">i", 5)
    named = task + struct.pack(">i", 1) + "ü".encode("utf-16-be")
    one = struct.pack(">i", 1)
    layouts = {1: one + task + one + task + topic, 3: one * 2 + task + one + task + topic}
    for version, body in {**layouts, 10: one * 2 + named + one + named + topic}.items():
        raw = struct.pack(">i", version) + body
        tasks = ({"subtopology": 1, "partition": 2},)
        expected = {"version": version, "active_tasks": tasks, "standby_tasks": tasks}
        assert blobs.streams_assignment_info(raw) == blobs.streams_assignment_info(raw + b"hosts") == expected
        for length in range(1, len(raw)):
            error = blobs.streams_assignment_info(raw[:length])
            assert isinstance(error, DecodeError), (version, length)
            assert error.field.startswith("user_data")


def test_the_stream_time_in_a_commit_of_kafka_streams_is_decoded() -> None:
    """The first is of Kafka Streams 4.3.1; metadata of processors follow in version 2. All else is a typed error."""

    def text(version: int, time: int, more: bytes = b"") -> bytes:
        return base64.b64encode(struct.pack(">bq", version, time) + more)

    assert blobs.streams_commit_metadata(b"AgAAAaIq5khf") == {"version": 2, "stream_time": 1_796_016_064_607}
    assert blobs.streams_commit_metadata(text(2, 5, b"\0\0\0\1m")) == {"version": 2, "stream_time": 5}
    assert blobs.streams_commit_metadata(text(1, -1)) == {"version": 1, "stream_time": None}
    faults = {text(3, 5): "version", text(2, -2): "stream_time", b"kgo-member": "", b"AgAA": "", text(0, 5): "version"}
    found = {raw: blobs.streams_commit_metadata(raw) for raw in faults}
    assert {raw: isinstance(each, DecodeError) and each.field for raw, each in found.items()} == {
        raw: f"metadata.{field}".rstrip(".") for raw, field in faults.items()
    }


DECODERS = (
    blobs.consumer_subscription,
    blobs.consumer_assignment,
    blobs.connect_metadata,
    blobs.connect_assignment,
    blobs.streams_assignment_info,
    blobs.streams_commit_metadata,
)


@given(st.sampled_from(DECODERS), st.integers(0, 12), st.binary(max_size=60))
def test_any_blob_gives_fields_or_one_error(decoder: object, version: int, raw: bytes) -> None:
    """Decoding never raises for any version."""
    for prefix in (b"", struct.pack(">h", version), struct.pack(">i", version)):
        assert callable(decoder)
        assert isinstance(decoder(prefix + raw), dict | DecodeError | None)
