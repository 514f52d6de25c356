"""Composed readers: bytes encoded by a table are read by it, in every version of every message."""

import random

import pytest

from decoders.compose import message_reader
from decoders.schema import Message, versions
from tests.decoders.writing import MESSAGES, random_fields, write


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.name)
def test_bytes_encoded_by_a_table_round_trip(message: Message) -> None:
    """Random fields of every version are read back completely."""
    rng = random.Random(message.name)  # noqa: S311  # test data, not cryptography
    for version in versions(message.valid):
        for _ in range(30):
            fields = random_fields(rng, message.struct, version)
            raw = write(message, version, fields)
            assert message_reader(message, version)(raw + b"tail", 0) == (fields, len(raw))
