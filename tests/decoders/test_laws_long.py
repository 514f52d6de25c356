"""The laws at length: hundreds of thousands of spoiled records, millions of malformed inputs."""

from __future__ import annotations

import random
import resource
import struct
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from decoders import blobs
from decoders.columnar import decode_commit_values, decode_keys
from decoders.errors import DecodeError
from decoders.interpret import events
from decoders.javatext import java_text
from decoders.records import Record
from decoders.scalar import decode, decode_metadata, decode_share_state, decode_transaction
from decoders.tables import METADATA_TYPES, RECORD_TYPES, share_state, transaction
from tests.decoders.writing import some_fields, some_record, spoiled, uvarint, write

if TYPE_CHECKING:
    from collections.abc import Callable

MUTATED = 240_000
MALFORMED = 2_000_000
ROWS = 8_000
COMMITS = RECORD_TYPES[:2]
KEYED = RECORD_TYPES[:3]
LIVING = [row for row in RECORD_TYPES if not row.removed]
SOME_KEY = bytes.fromhex("000100016700017400000001")


def column(rows: list[bytes | None]) -> pa.BinaryArray:
    """Put rows in the middle of a longer column."""
    return pa.array([b"before", None, *rows, b"after"], pa.binary()).slice(2, len(rows))


def check_values(rows: list[bytes | None]) -> int:
    """Hold the law for commit values; gives how many were answered."""
    got = decode_commit_values(column(rows))
    asked = np.arange(len(rows))
    details = got.details(asked)
    metadata, topic_id = details.metadata.to_pylist(), details.topic_id.to_pylist()
    for at in asked[~got.declined]:
        row = rows[at]
        if row is None:
            assert got.tombstone[at]
            continue
        record = decode(SOME_KEY, row)
        assert isinstance(record, Record), row.hex()
        assert record.value == {
            "offset": got.offset[at],
            "leader_epoch": details.leader_epoch[at],
            "metadata": java_text(metadata[at]),
            "commit_timestamp": got.commit_timestamp[at],
            "expire_timestamp": details.expire_timestamp[at],
            "topic_id": topic_id[at] or bytes(16),
        }, row.hex()
    return int((~got.declined).sum())


def check_keys(rows: list[bytes | None]) -> int:
    """Hold the law for keys; gives how many were answered."""
    got = decode_keys(column(rows))
    groups, topics = got.group.to_pylist(), got.topic.to_pylist()
    for at in np.flatnonzero(~got.declined):
        row = rows[at]
        assert row is not None
        record = decode(row, None)
        assert isinstance(record, Record), row.hex()
        names = {"group": groups[at], "topic": topics[at], "partition": got.partition[at]}
        assert record.key == {name: names[name] for name in record.key}, row.hex()
    return int((~got.declined).sum())


@pytest.mark.long
def test_columnar_says_what_scalar_says_over_many_spoiled_records() -> None:
    """The law of the two interpreters, over 240,000 spoiled values and as many spoiled keys."""
    chance = random.Random(20)  # noqa: S311  # spoils bytes, keeps no secret
    answered = 0
    for _ in range(0, MUTATED, ROWS):
        values: list[bytes | None] = []
        keys: list[bytes | None] = []
        for _ in range(ROWS):
            _, value = some_record(chance, chance.choice(COMMITS))
            values.append(None if value is None else spoiled(chance, value))
            keys.append(spoiled(chance, some_record(chance, chance.choice(KEYED))[0]))
        answered += check_values(values) + check_keys(keys)
    assert MUTATED // 2 < answered < 2 * MUTATED


def malformed(chance: random.Random) -> tuple[Callable[[], object], str]:
    """Make one malformed input of any kind and the call that reads it."""
    kind = chance.randrange(10)
    if kind < 4:
        key, value = some_record(chance, chance.choice(LIVING))
        key = spoiled(chance, key) if chance.random() < 0.3 else key
        value = None if value is None else spoiled(chance, value)
        return (lambda: decode(key, value)), f"{key.hex()} {value!r}"
    if kind < 5:
        row = chance.choice((*transaction.TRANSACTION_TYPES, *share_state.SHARE_STATE_TYPES))
        key, value = some_record(chance, row)
        value = None if value is None else spoiled(chance, value)
        read = decode_transaction if row in transaction.TRANSACTION_TYPES else decode_share_state
        return (lambda: read(key, value)), f"{key.hex()} {value!r}"
    if kind < 6:
        row = chance.choice(list(METADATA_TYPES.values()))
        assert row.value is not None
        body = write(row.value, 0, some_fields(chance, row.value.struct, 0))
        raw = spoiled(chance, b"\x01" + uvarint(row.number) + b"\x00" + body)
        return (lambda: decode_metadata(raw)), raw.hex()
    if kind < 7:
        raw = chance.randbytes(chance.randrange(60))
        return (lambda: decode(struct.pack(">h", chance.randrange(24)) + raw, raw)), raw.hex()
    return malformed_blob(chance)


def malformed_blob(chance: random.Random) -> tuple[Callable[[], object], str]:
    """Make one malformed blob and the call that reads it."""
    reader = chance.choice(BLOBS)
    raw = struct.pack(">h", chance.randrange(4)) + chance.randbytes(chance.randrange(50))
    if chance.random() < 0.5:
        raw = b"\0\0\0" + bytes([chance.randrange(13)]) + spoiled(chance, bytes(chance.randrange(80)))
    return (lambda: reader(raw)), raw.hex()


BLOBS = (
    blobs.consumer_subscription,
    blobs.consumer_assignment,
    blobs.connect_metadata,
    blobs.connect_assignment,
    blobs.sticky_user_data,
    blobs.cooperative_sticky_user_data,
    blobs.streams_subscription_info,
    blobs.streams_assignment_info,
    lambda raw: blobs.streams_commit_metadata(raw.decode("latin-1")),
)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_two_million_malformed_inputs_give_results_or_the_documented_error() -> None:
    """Nothing is raised, nothing undocumented is returned, and memory stays where it was."""
    chance = random.Random(4)  # noqa: S311  # spoils bytes, keeps no secret
    errors = 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(MALFORMED):
        call, story = malformed(chance)
        got = call()
        if isinstance(got, Record):
            assert len(events(got)) <= 1, story
        elif isinstance(got, DecodeError):
            errors += 1
        else:
            assert got is None or isinstance(got, dict), story
    assert MALFORMED // 4 < errors < MALFORMED
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 100 * 1024
