"""Compiled readers: where they give an answer it is the walk's, of all fields or of some, on any bytes."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from decoders.compiled import DECLINE_ERRORS, compiled_reader
from decoders.compose import message_reader
from decoders.errors import DecodeError, MalformedBytes
from decoders.records import Record
from decoders.scalar import NO_FIELDS, decode
from decoders.schema import INT8, INT32, STRING, UUID, ArrayOf, Field, Message, Struct, versions
from decoders.tables import RECORD_TYPES, embedded, metadata, share_state, transaction
from tests.decoders.writing import some_fields, some_record, spoiled, write

if TYPE_CHECKING:
    from decoders.records import Fields

ROWS = (*RECORD_TYPES, *transaction.TRANSACTION_TYPES, *share_state.SHARE_STATE_TYPES, *metadata.METADATA_TYPES)
# Shapes that no message of Kafka's has today, and that a table may have tomorrow.
_NOTHING = Struct("Nothing", ())
ODD = Message(
    Struct(
        "Odd",
        (
            Field("gone", INT32, "1"),
            Field("empty", _NOTHING),
            Field("perhaps", Struct("Perhaps", (Field("id", UUID), Field("in", STRING))), nullable="0+"),
            Field("nothings", ArrayOf(_NOTHING), nullable="0+"),
            Field("names", ArrayOf(STRING), nullable="0+"),
            Field("last", INT8, optional_at_end=True, default=7),
        ),
    ),
    "0-1",
)
MESSAGES = [
    *(table for row in ROWS for table in (row.key, row.value, *row.older_layouts) if table is not None),
    *(table for table in vars(embedded).values() if isinstance(table, Message)),
    ODD,
]
LIVING = [row for row in RECORD_TYPES if not row.removed]
Read = tuple[Any, int]


def walked(message: Message, version: int, raw: bytes, at: int) -> Read | None:
    """Read by the walk; None where it refuses."""
    try:
        fields, end = message_reader(message, version)(raw, at)
    except MalformedBytes:
        return None
    return fields, end


def compiled(message: Message, version: int, raw: bytes, at: int, only: frozenset[str] | None = None) -> Read | None:
    """Read by the compiled reader; None where it declines."""
    try:
        fields, end = compiled_reader(message, version, only)(raw, at)
    except DECLINE_ERRORS:
        return None
    return fields, end


def names_in(part: Struct) -> set[str]:
    """Name all fields of a struct, at whatever depth."""
    names = set()
    for field in part.fields:
        names.add(field.name)
        kind = field.type.element if isinstance(field.type, ArrayOf) else field.type
        if isinstance(kind, Struct):
            names |= names_in(kind)
    return names


def pruned(fields: Any, only: frozenset[str]) -> Any:
    """Keep only the named fields, at whatever depth."""
    if isinstance(fields, dict):
        return {name: pruned(value, only) for name, value in fields.items() if name in only}
    return tuple(pruned(each, only) for each in fields) if isinstance(fields, tuple) else fields


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.name)
def test_sound_bytes_are_read_as_the_walk_reads_them(message: Message) -> None:
    """What a table writes is never declined, is read back to the last byte, and from any place in a buffer."""
    chance = random.Random(message.name)  # noqa: S311  # makes fields, keeps no secret
    for version in versions(message.valid):
        for _ in range(20):
            fields = some_fields(chance, message.struct, version)
            raw = b"before" + write(message, version, fields)
            tail = b"" if message is ODD else b"tail"
            assert compiled(message, version, raw + tail, 6) == (fields, len(raw))


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.name)
def test_an_answer_is_the_answer_of_the_walk(message: Message) -> None:
    """On spoiled bytes too: never an answer where the walk refuses, never another one where it does not."""
    chance = random.Random(message.name)  # noqa: S311  # spoils bytes, keeps no secret
    hold_the_law(message, chance, 30)


@pytest.mark.long
def test_an_answer_is_the_answer_of_the_walk_over_many_spoiled_messages() -> None:
    """The same law over two hundred thousand spoiled messages of every kind and version."""
    chance = random.Random(7)  # noqa: S311  # spoils bytes, keeps no secret
    answered = sum(hold_the_law(message, chance, 1500) for message in MESSAGES)
    assert answered > 50_000


def hold_the_law(message: Message, chance: random.Random, rounds: int) -> int:
    """Spoil messages of every version and compare; gives how many answers there were."""
    answered = 0
    names = sorted(names_in(message.struct))
    for version in versions(message.valid):
        for _ in range(rounds):
            raw = write(message, version, some_fields(chance, message.struct, version))
            for _ in range(chance.randrange(1, 3)):
                raw = spoiled(chance, raw)
            wanted = walked(message, version, raw, 0)
            got = compiled(message, version, raw, 0)
            only = frozenset(chance.sample(names, chance.randrange(len(names) + 1)))
            some = compiled(message, version, raw, 0, only)
            if got is not None:
                assert repr(got) == repr(wanted), raw.hex()  # a number may be none, which equals nothing
                assert some is not None, raw.hex()
                answered += 1
            if some is not None:
                assert wanted is not None, raw.hex()
                assert some[1] == wanted[1], raw.hex()
                assert repr(pruned(some[0], only)) == repr(pruned(wanted[0], only)), raw.hex()
    return answered


def test_only_what_is_asked_for_is_kept() -> None:
    """Of fields that are not tagged nothing else is in the answer."""
    only = frozenset(("generation", "members", "member_id"))
    record = decode(*sound_group(), only)
    assert isinstance(record, Record)
    assert record.key == {}
    assert record.value is not None
    assert record.value == pruned(whole_value(*sound_group()), only)
    assert set(record.value["members"][0]) == {"member_id"}


def sound_group() -> tuple[bytes, bytes]:
    """Write a group metadata record with a member."""
    chance = random.Random(3)  # noqa: S311  # makes fields, keeps no secret
    while True:
        key, value = some_record(chance, RECORD_TYPES[2])
        if value is not None and whole_value(key, value)["members"]:
            return key, value


def whole_value(key: bytes, value: bytes) -> Fields:
    """Decode all of a value."""
    record = decode(key, value)
    assert isinstance(record, Record)
    assert record.value is not None
    return record.value


@pytest.mark.parametrize("only", [NO_FIELDS, frozenset(("members", "epoch", "group", "topics"))], ids=["none", "some"])
def test_errors_do_not_depend_on_what_is_asked_for(only: frozenset[str]) -> None:
    """A record that is refused is refused with the same type, version, field, position and reason."""
    chance = random.Random(11)  # noqa: S311  # spoils bytes, keeps no secret
    refused = 0
    for _ in range(4000):
        key, value = some_record(chance, chance.choice(LIVING))
        key = spoiled(chance, key) if chance.random() < 0.3 else key
        value = None if value is None else spoiled(chance, value)
        whole, some = decode(key, value), decode(key, value, only)
        if isinstance(whole, DecodeError):
            assert some == whole
            refused += 1
        else:
            assert isinstance(some, Record)
            assert (some.type, some.version, some.layout) == (whole.type, whole.version, whole.layout)
            assert (some.value is None) == (whole.value is None)
    assert refused > 400


def test_the_reader_of_a_message_is_compiled_once() -> None:
    """The same message and version give the same reader."""
    assert compiled_reader(MESSAGES[0], 0) is compiled_reader(MESSAGES[0], 0)


def test_strings_longer_than_kafka_allows_are_declined() -> None:
    """A length that is a varint could say more than the 32767 bytes which a reader of Kafka's takes."""
    message = Message(Struct("Named", (Field("name", STRING, nullable="0+"),)), flexible="0+")
    for length, allowed in ((0x7FFF, True), (0x8000, False)):
        raw = write(message, 0, {"name": "n" * length})
        for only in (None, NO_FIELDS):
            assert (
                (compiled(message, 0, raw, 0, only) is not None) == allowed == (walked(message, 0, raw, 0) is not None)
            )


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        pytest.param(b"\x7f\xff\xff\xff", "a count that nothing stands behind", id="count"),
        pytest.param(b"\xff\xff\xff\xff", "a null that is not allowed", id="null"),
    ],
)
def test_absurd_counts_are_declined_before_anything_is_made_of_them(raw: bytes, why: str) -> None:
    """A huge count costs nothing."""
    message = Message(Struct("Numbers", (Field("numbers", ArrayOf(UUID)),)))
    assert compiled(message, 0, raw, 0) is None, why
