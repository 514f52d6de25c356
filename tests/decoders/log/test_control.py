"""Control records: transaction markers, KRaft records, and unknown types."""

import struct

import pytest

from decoders.log.batch import LogRecord
from decoders.log.control import EndMarker, end_marker, kraft_message
from decoders.log.errors import Damaged

UUID = bytes(range(16))
UUID_TEXT = "AAECAwQFBgcICQoLDA0ODw"


def control(number: int, value: bytes | None, *, key_version: int = 0) -> LogRecord:
    return LogRecord(0, 0, struct.pack(">hh", key_version, number), value)


def test_markers_of_any_version_are_decoded() -> None:
    """Newer versions of key and value are read as the known version."""
    for version in (0, 1, 9):
        value = struct.pack(">hi", version, 7) + b"more"
        for number, committed in ((1, True), (0, False)):
            marker = end_marker(control(number, value, key_version=version))
            assert marker == EndMarker(committed=committed, coordinator_epoch=7)


VOTER = {
    "voterId": 5,
    "voterDirectoryId": UUID_TEXT,
    "endpoints": [{"name": "C", "host": "h", "port": 65534}],
    "kRaftVersionFeature": {"minSupportedVersion": 0, "maxSupportedVersion": 1},
}
MESSAGES = {
    "leader change": (
        2,
        b"\0\0" + b"\0\0\0\x01" + b"\x02\0\0\0\x01\0" + b"\x02\0\0\0\x02\0" + b"\0",
        {"version": 0, "leaderId": 1, "voters": [{"voterId": 1}], "grantingVoters": [{"voterId": 2}]},
    ),
    "leader change with directories": (
        2,
        b"\0\x01" + b"\0\0\0\x01" + b"\x02\0\0\0\x01" + UUID + b"\0" + b"\x01" + b"\0",
        {"version": 1, "leaderId": 1, "voters": [{"voterId": 1, "voterDirectoryId": UUID_TEXT}], "grantingVoters": []},
    ),
    "snapshot header": (3, b"\0\0" + struct.pack(">q", 99) + b"\0", {"version": 0, "lastContainedLogTimestamp": 99}),
    "snapshot footer": (4, b"\0\0\0", {"version": 0}),
    "kraft version": (5, b"\0\0\0\x01\0", {"version": 0, "kRaftVersion": 1}),
    "voters, with an unknown tag": (
        6,
        b"\0\0\x02\0\0\0\x05" + UUID + b"\x02\x02C\x02h\xff\xfe\0" + b"\0\0\0\x01\0" + b"\x01\x09\x02ab" + b"\0",
        {"version": 0, "voters": [VOTER]},
    ),
}


def test_kraft_records_are_decoded_and_refused_if_truncated() -> None:
    """Each schema gives its fields with Kafka's names in Kafka's order; truncated anywhere, it is refused."""
    for story, (number, value, message) in MESSAGES.items():
        decoded = kraft_message(control(number, value))
        assert decoded == message, story
        assert list(decoded or {}) == list(message), story
        for end in range(2, len(value)):
            with pytest.raises(Damaged):
                kraft_message(control(number, value[:end]))


def test_malformed_markers_are_typed_errors() -> None:
    """A marker with a truncated key or value, or with a negative version, is refused."""
    keys = (None, b""), (b"\0\0\0", b""), (b"\xff\xff\0\x01", b"\0\0\0\0\0\0")
    values = control(1, None), control(1, b"\0\0\0"), control(0, b"\xff\xff\0\0\0\0")
    for record in (*(LogRecord(0, 0, key, value) for key, value in keys), *values):
        with pytest.raises(Damaged):
            end_marker(record)
