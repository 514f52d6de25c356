"""Golden bytes from Kafka's serialisers: complete, truncated after each byte, and with trailing bytes."""

import pytest

from decoders.errors import DecodeError
from decoders.interpret import event_of
from decoders.scalar import decode
from decoders.schema import Record
from tests.decoders.golden import COMMITS, GROUPS, NEWER, OLDER, TOMBSTONES, Case

CASES = [pytest.param(case, id=case.name) for case in (*COMMITS, *GROUPS, *NEWER, *TOMBSTONES)]
WITH_VALUE = [pytest.param(case, id=case.name) for case in (*COMMITS, *GROUPS, *NEWER) if case.value is not None]


def event_or_error(key: bytes, value: bytes | None) -> object:
    record = decode(key, value)
    return event_of(record) if isinstance(record, Record) else record


@pytest.mark.parametrize("case", [*CASES, *(pytest.param(case, id=case.name) for case in OLDER)])
def test_a_golden_record_becomes_its_event(case: Case) -> None:
    """Bytes of the official serialisers give exactly the expected event."""
    assert event_or_error(case.key_bytes, case.value_bytes) == case.event


@pytest.mark.parametrize("case", CASES)
def test_bytes_after_key_and_value_change_nothing(case: Case) -> None:
    """Brokers accept trailing bytes after the key and the value."""
    value = case.value_bytes
    assert event_or_error(case.key_bytes + b"\xff\x00", None if value is None else value + b"\x01\xff") == case.event


@pytest.mark.parametrize("case", WITH_VALUE)
def test_a_value_truncated_anywhere_gives_one_error_inside_the_value(case: Case) -> None:
    """The position of the error is at or before the truncation."""
    value = case.value_bytes
    assert value is not None
    for length in range(len(value)):
        error = decode(case.key_bytes, value[:length])
        if isinstance(error, Record) and error.layout is not error.type.value:
            continue  # the remaining bytes are a complete value of an older layout
        assert isinstance(error, DecodeError)
        assert error.field.startswith("value.")
        assert error.position <= length
        assert error.version == (int.from_bytes(value[:2]) if length >= 2 else None)


@pytest.mark.parametrize("case", CASES)
def test_a_key_truncated_anywhere_gives_one_error_inside_the_key(case: Case) -> None:
    """A truncated key never gives a record."""
    for length in range(len(case.key_bytes)):
        error = decode(case.key_bytes[:length], case.value_bytes)
        assert isinstance(error, DecodeError)
        assert error.field.startswith("key.")
        assert error.position <= length
        assert error.type == (case.key_bytes[1] if length >= 2 else None)
