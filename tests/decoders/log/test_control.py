"""Control records: transaction markers."""

import struct

import pytest

from decoders.log.batch import LogRecord
from decoders.log.control import EndMarker, end_marker
from decoders.log.errors import Damaged


def control(number: int, value: bytes | None, *, key_version: int = 0) -> LogRecord:
    return LogRecord(0, 0, struct.pack(">hh", key_version, number), value)


def test_markers_of_any_version_are_decoded() -> None:
    """Newer versions of key and value are read as the known version."""
    for version in (0, 1, 9):
        value = struct.pack(">hi", version, 7) + b"more"
        for number, committed in ((1, True), (0, False)):
            marker = end_marker(control(number, value, key_version=version))
            assert marker == EndMarker(committed=committed, coordinator_epoch=7)


def test_malformed_markers_are_typed_errors() -> None:
    """A marker with a truncated key or value, or with a negative version, is refused."""
    keys = (None, b""), (b"\0\0\0", b""), (b"\xff\xff\0\x01", b"\0\0\0\0\0\0")
    values = control(1, None), control(1, b"\0\0\0"), control(0, b"\xff\xff\0\0\0\0")
    for record in (*(LogRecord(0, 0, key, value) for key, value in keys), *values):
        with pytest.raises(Damaged):
            end_marker(record)
