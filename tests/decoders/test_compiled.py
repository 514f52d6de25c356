"""Compiled readers agree with the composed readers on any bytes that they accept, for all or some fields."""

import random
from typing import Any

import pytest

from decoders.compiled import DECLINE_ERRORS, compiled_reader
from decoders.compose import message_reader
from decoders.errors import DecodeError, MalformedBytes
from decoders.scalar import NO_FIELDS, decode
from decoders.schema import INT8, INT32, STRING, UUID, ArrayOf, Field, Message, Struct, versions
from decoders.tables import RECORD_TYPES
from tests.decoders.writing import MESSAGES, corrupted, random_fields, random_record, write
from tests.support.hypothesis_profiles import inputs, new_random
from tests.support.resources import peak_memory

# Shapes that no current Kafka message has, but that a table may have in the future.
_EMPTY = Struct("Empty", ())
ODD = Message(
    Struct(
        "Odd",
        (
            Field("gone", INT32, "1"),
            Field("empty", _EMPTY),
            Field("perhaps", Struct("Perhaps", (Field("id", UUID), Field("in", STRING))), nullable="0+"),
            Field("nothings", ArrayOf(_EMPTY), nullable="0+"),
            Field("names", ArrayOf(STRING), nullable="0+"),
            Field("last", INT8, optional_at_end=True, default=7),
        ),
    ),
    "0-1",
)
ALL = [*MESSAGES, ODD]
CURRENT_TYPES = [row for row in RECORD_TYPES if not row.removed]
Read = tuple[Any, int]


def composed(message: Message, version: int, raw: bytes, at: int) -> Read | None:
    """Read with the composed reader; None if it raises."""
    try:
        fields, end = message_reader(message, version)(raw, at)
    except MalformedBytes:
        return None
    return fields, end


def compiled(message: Message, version: int, raw: bytes, at: int, only: frozenset[str] | None = None) -> Read | None:
    """Read with the compiled reader; None if it declines."""
    try:
        fields, end = compiled_reader(message, version, only)(raw, at)
    except DECLINE_ERRORS:
        return None
    return fields, end


def names_in(part: Struct) -> set[str]:
    names = set()
    for field in part.fields:
        names.add(field.name)
        kind = field.type.element if isinstance(field.type, ArrayOf) else field.type
        if isinstance(kind, Struct):
            names |= names_in(kind)
    return names


def pruned(fields: Any, only: frozenset[str]) -> Any:
    """Return only the named fields, at any depth."""
    if isinstance(fields, dict):
        return {name: pruned(value, only) for name, value in fields.items() if name in only}
    return tuple(pruned(each, only) for each in fields) if isinstance(fields, tuple) else fields


@pytest.mark.parametrize("message", ALL, ids=lambda message: message.name)
def test_valid_bytes_are_never_declined(message: Message) -> None:
    """Bytes encoded by a table are read completely, at any position of a buffer."""
    rng = random.Random(message.name)  # noqa: S311  # test data, not cryptography
    for version in versions(message.valid):
        for _ in range(20):
            fields = random_fields(rng, message.struct, version)
            raw = b"before" + write(message, version, fields)
            tail = b"" if message is ODD else b"tail"
            assert compiled(message, version, raw + tail, 6) == (fields, len(raw))


@pytest.mark.parametrize("message", ALL, ids=lambda message: message.name)
def test_a_compiled_reader_agrees_with_the_composed_reader(message: Message) -> None:
    """Corrupted bytes give no result if the composed reader raises, and never a different one."""
    rng = random.Random(message.name)  # noqa: S311  # test data, not cryptography
    count_agreements(message, rng, 30)


@pytest.mark.long
def test_compiled_readers_agree_with_composed_readers_on_many_corrupted_messages() -> None:
    """The readers agree on hundreds of corrupted messages of every type and version, other ones in each run."""
    rng, rounds = new_random(), inputs(1_500)
    compared = sum(count_agreements(message, rng, rounds) for message in ALL)
    assert compared > 50_000 * rounds // 1_500


def count_agreements(message: Message, rng: random.Random, rounds: int) -> int:
    """Compare both readers on corrupted messages of every version; return the number of bytes not declined."""
    compared = 0
    names = sorted(names_in(message.struct))
    for version in versions(message.valid):
        for _ in range(rounds):
            raw = write(message, version, random_fields(rng, message.struct, version))
            for _ in range(rng.randrange(1, 3)):
                raw = corrupted(rng, raw)
            expected = composed(message, version, raw, 0)
            result = compiled(message, version, raw, 0)
            only = frozenset(rng.sample(names, rng.randrange(len(names) + 1)))
            partial = compiled(message, version, raw, 0, only)
            if result is not None:
                assert repr(result) == repr(expected), raw.hex()  # repr, because NaN does not equal itself
                assert partial is not None, raw.hex()
                compared += 1
            if partial is not None:
                assert expected is not None, raw.hex()
                assert partial[1] == expected[1], raw.hex()
                assert repr(pruned(partial[0], only)) == repr(pruned(expected[0], only)), raw.hex()
    return compared


@pytest.mark.parametrize(
    "only", [NO_FIELDS, frozenset(("members", "epoch", "group", "topics"))], ids=["no fields", "some fields"]
)
def test_errors_do_not_depend_on_the_requested_fields(only: frozenset[str]) -> None:
    """A record gives the same error for any requested fields."""
    rng = random.Random(11)  # noqa: S311  # test data, not cryptography
    refused = 0
    for _ in range(4000):
        key, value = random_record(rng, rng.choice(CURRENT_TYPES))
        key = corrupted(rng, key) if rng.random() < 0.3 else key
        value = None if value is None else corrupted(rng, value)
        whole, partial = decode(key, value), decode(key, value, only)
        if isinstance(whole, DecodeError):
            assert partial == whole
            refused += 1
        else:
            assert (partial.type, partial.version, partial.layout) == (whole.type, whole.version, whole.layout)
            assert (partial.value is None) == (whole.value is None)
    assert refused > 400


def test_strings_longer_than_kafka_allows_are_declined() -> None:
    """A varint length can exceed the 32767 bytes that Kafka's readers accept."""
    message = Message(Struct("Named", (Field("name", STRING, nullable="0+"),)), flexible="0+")
    for length, allowed in ((0x7FFF, True), (0x8000, False)):
        raw = write(message, 0, {"name": "n" * length})
        for only in (None, NO_FIELDS):
            assert (
                (compiled(message, 0, raw, 0, only) is not None)
                == allowed
                == (composed(message, 0, raw, 0) is not None)
            )


ABSURD = {
    "a count that exceeds the bytes": b"\0\xff\xff\xff" + bytes(16),
    "a null that is not allowed": b"\xff\xff\xff\xff",
}


def test_absurd_counts_are_declined() -> None:
    """A count that exceeds the bytes, and a null that is not allowed, are declined before any allocation."""
    for story, raw in ABSURD.items():
        message = Message(Struct("Numbers", (Field("numbers", ArrayOf(UUID)),)))
        with peak_memory() as peak:
            assert compiled(message, 0, raw, 0) is None, story
        assert peak.size < 100_000, story
