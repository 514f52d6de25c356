"""Bytes inside records: golden blobs, tolerance, and one typed error for everything else."""

from __future__ import annotations

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


def test_a_subscription_of_every_version_is_read() -> None:
    """Version 0 has topics, 3 has all; a version of the future is read as 3 and what follows is ignored."""
    plain = {"topics": ("t",), "user_data": None, "owned_partitions": (), "generation_id": -1, "rack_id": None}
    full = {**plain, "owned_partitions": OWNED, "generation_id": 4, "rack_id": "r"}
    assert blobs.consumer_subscription(SUBSCRIPTION_V0) == {"version": 0, **plain}
    assert blobs.consumer_subscription(SUBSCRIPTION_V3) == {"version": 3, **full}
    assert blobs.consumer_subscription(b"\0\x07" + SUBSCRIPTION_V3[2:] + b"new") == {"version": 7, **full}


def test_an_assignment_is_read_and_a_negative_version_is_not() -> None:
    """Assignments look the same in all versions; a version below zero is an error as it is to consumers."""
    assert blobs.consumer_assignment(ASSIGNMENT) == {"version": 0, "assigned_partitions": OWNED, "user_data": None}
    error = blobs.consumer_assignment(b"\xff\xff" + ASSIGNMENT[2:])
    assert error == DecodeError(None, -1, "assignment.version", 0, DecodeReason.UNKNOWN_VERSION)


def test_zero_bytes_are_no_blob_and_no_error() -> None:
    """A leader that sent nothing leaves zero bytes: there is none."""
    for read in READERS:
        assert read(b"") is None
    assert blobs.streams_commit_metadata("") is None


def test_the_protocol_type_chooses_the_reader() -> None:
    """Only consumers and Connect are opened; anyone else's bytes are their own."""
    assert blobs.subscription("consumer", SUBSCRIPTION_V0) == blobs.consumer_subscription(SUBSCRIPTION_V0)
    assert blobs.assignment("connect", b"\0\0") == blobs.connect_assignment(b"\0\0")
    assert blobs.subscription("sr", b"{}") is None
    assert blobs.assignment("", ASSIGNMENT) is None


def test_sticky_user_data_is_read_with_and_without_its_generation() -> None:
    """Old clients wrote no generation: then it is -1."""
    previous = ASSIGNMENT[2:-4]
    assert blobs.subscription_user_data("sticky", previous + b"\0\0\0\5") == {
        "previous_assignment": OWNED,
        "generation": 5,
    }
    assert blobs.sticky_user_data(previous) == {"previous_assignment": OWNED, "generation": -1}
    assert blobs.subscription_user_data("cooperative-sticky", b"\0\0\0\6") == {"generation": 6}
    assert blobs.subscription_user_data("range", b"\0") is None


def test_connect_tolerates_what_old_workers_left_away() -> None:
    """Trailing fields that are missing have their defaults; a field that is cut is an error."""
    head = b"\0\1" + b"\0\0" + b"\0\1l" + b"\0\1u" + struct.pack(">q", 9)
    fields = blobs.connect_assignment(head)
    assert isinstance(fields, dict)
    assert (fields["leader"], fields["config_offset"]) == ("l", 9)
    assert (fields["assignment"], fields["revoked"], fields["delay"]) == (None, None, 0)
    error = blobs.connect_assignment(head + b"\0\0")
    assert isinstance(error, DecodeError)
    assert (error.field, error.reason) == ("assignment.assignment", DecodeReason.SHORT)


def test_streams_commit_metadata_of_both_versions_is_read() -> None:
    """Version 1 has a time, version 2 may have the processors' numbers; free text is an error, not an accident."""
    first = base64.b64encode(struct.pack(">bq", 1, 1234)).decode()
    second = base64.b64encode(struct.pack(">bqii1sq", 2, 1234, 1, 1, b"k", 7)).decode()
    assert blobs.streams_commit_metadata(first) == {"version": 1, "partition_time": 1234, "processor_metadata": {}}
    assert blobs.streams_commit_metadata(second) == {
        "version": 2,
        "partition_time": 1234,
        "processor_metadata": {"k": 7},
    }
    for text, reason in (
        ("host-1 was here", DecodeReason.NOT_BASE64),
        ("ü", DecodeReason.NOT_BASE64),
        ("CQ==", DecodeReason.UNKNOWN_VERSION),
    ):
        error = blobs.streams_commit_metadata(text)
        assert isinstance(error, DecodeError)
        assert error.reason is reason


def test_streams_info_of_the_future_is_an_unknown_version() -> None:
    """A version after 11 says so; guessing its layout would be worse."""
    for read in (blobs.streams_subscription_info, blobs.streams_assignment_info):
        assert read(b"\0\0\0\x0c") == DecodeError(None, 12, "user_data.version", 0, DecodeReason.UNKNOWN_VERSION)


READERS = (
    blobs.consumer_subscription,
    blobs.consumer_assignment,
    blobs.connect_metadata,
    blobs.connect_assignment,
    blobs.sticky_user_data,
    blobs.cooperative_sticky_user_data,
    blobs.streams_subscription_info,
    blobs.streams_assignment_info,
)


@given(st.sampled_from(READERS), st.integers(0, 12), st.binary(max_size=60))
def test_any_blob_gives_fields_or_one_error(read: object, version: int, raw: bytes) -> None:
    """Nothing is ever raised, whatever version stands in front."""
    for head in (b"", struct.pack(">h", version), struct.pack(">i", version)):
        assert callable(read)
        assert isinstance(read(head + raw), dict | DecodeError | None)


@given(st.text())
def test_any_commit_metadata_gives_fields_or_one_error(text: str) -> None:
    """Free text of any kind is no accident."""
    assert isinstance(blobs.streams_commit_metadata(text), dict | DecodeError | None)
