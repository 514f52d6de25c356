"""Long property tests: many thousands of corrupted records and malformed inputs, other ones in each run."""

import random
import resource
import struct
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from decoders.columnar import decode_commit_values, decode_keys
from decoders.errors import DecodeError
from decoders.interpret import event_of
from decoders.javatext import java_text
from decoders.scalar import decode, decode_share_state, decode_transaction
from decoders.schema import Record
from decoders.tables import RECORD_TYPES, SHARE_STATE_TYPES, TRANSACTION_TYPES
from tests.decoders.test_blobs import DECODERS
from tests.decoders.writing import corrupted, random_record
from tests.support.hypothesis_profiles import inputs, new_random

CORRUPTED = inputs(240_000)
MALFORMED = inputs(2_000_000)
ROWS = 6_000
COMMITS = RECORD_TYPES[:2]
KEYED = RECORD_TYPES[:3]
CURRENT_TYPES = [row for row in RECORD_TYPES if not row.removed]
SOME_KEY = bytes.fromhex("000100016700017400000001")


def column(rows: list[bytes | None]) -> pa.BinaryArray:
    """Return the rows as a slice of a longer column."""
    return pa.array([b"before", None, *rows, b"after"], pa.binary()).slice(2, len(rows))


def check_values(rows: list[bytes | None]) -> int:
    """Compare both decoders for commit values; return the number of rows not declined."""
    result = decode_commit_values(column(rows))
    numbers = np.arange(len(rows))
    details = result.details(numbers)
    metadata, topic_id = details["metadata"].to_pylist(), details["topic_id"].to_pylist()
    for at in numbers[~result.declined]:
        row = rows[at]
        if row is None:
            assert result.tombstone[at]
            continue
        record = decode(SOME_KEY, row)
        assert isinstance(record, Record), row.hex()
        assert record.value == {
            "offset": result.offset[at],
            "leader_epoch": details["leader_epoch"][at],
            "metadata": java_text(metadata[at]),
            "commit_timestamp": result.commit_timestamp[at],
            "expire_timestamp": details["expire_timestamp"][at],
            "topic_id": topic_id[at] or bytes(16),
        }, row.hex()
    return int((~result.declined).sum())


def check_keys(rows: list[bytes | None]) -> int:
    """Compare both decoders for keys; return the number of rows not declined."""
    result = decode_keys(column(rows))
    groups, topics = result.group.to_pylist(), result.topic.to_pylist()
    for at in np.flatnonzero(~result.declined):
        row = rows[at]
        assert row is not None
        record = decode(row, None)
        assert isinstance(record, Record), row.hex()
        names = {"group": groups[at], "topic": topics[at], "partition": result.partition[at]}
        assert record.key == {name: names[name] for name in record.key}, row.hex()
    return int((~result.declined).sum())


@pytest.mark.long
def test_columnar_and_scalar_agree_on_many_corrupted_records() -> None:
    """Both decoders agree on 60,000 corrupted values and as many corrupted keys; on 240,000 in `make fuzz`."""
    rng = new_random()
    compared = 0
    for _ in range(0, CORRUPTED, ROWS):
        values: list[bytes | None] = []
        keys: list[bytes | None] = []
        for _ in range(ROWS):
            _, value = random_record(rng, rng.choice(COMMITS))
            values.append(None if value is None else corrupted(rng, value))
            keys.append(corrupted(rng, random_record(rng, rng.choice(KEYED))[0]))
        compared += check_values(values) + check_keys(keys)
    assert CORRUPTED // 2 < compared < 2 * CORRUPTED


def malformed(rng: random.Random) -> tuple[Callable[[], object], str]:
    """Return the call that decodes a random malformed input, and the input as text."""
    kind = rng.randrange(10)
    if kind < 4:
        key, value = random_record(rng, rng.choice(CURRENT_TYPES))
        key = corrupted(rng, key) if rng.random() < 0.3 else key
        value = None if value is None else corrupted(rng, value)
        return (lambda: decode(key, value)), f"{key.hex()} {value!r}"
    if kind < 5:
        row = rng.choice((*TRANSACTION_TYPES.values(), *SHARE_STATE_TYPES.values()))
        key, value = random_record(rng, row)
        value = None if value is None else corrupted(rng, value)
        decoder = decode_transaction if row in TRANSACTION_TYPES.values() else decode_share_state
        return (lambda: decoder(key, value)), f"{key.hex()} {value!r}"
    if kind < 7:
        raw = rng.randbytes(rng.randrange(60))
        return (lambda: decode(struct.pack(">h", rng.randrange(24)) + raw, raw)), raw.hex()
    return malformed_blob(rng)


def malformed_blob(rng: random.Random) -> tuple[Callable[[], object], str]:
    """Return the call that decodes a random malformed blob, and the blob as text."""
    decoder = rng.choice(DECODERS)
    raw = struct.pack(">h", rng.randrange(4)) + rng.randbytes(rng.randrange(50))
    if rng.random() < 0.5:
        raw = b"\0\0\0" + bytes([rng.randrange(13)]) + corrupted(rng, bytes(rng.randrange(80)))
    return (lambda: decoder(raw)), raw.hex()


@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_many_malformed_inputs_give_results_or_the_documented_error() -> None:
    """Decoding 500,000 inputs never raises, returns only documented values, and memory does not grow.

    `make fuzz` decodes two million.
    """
    rng = new_random()
    errors = 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(MALFORMED):
        call, malformed_input = malformed(rng)
        result = call()
        if isinstance(result, Record):
            event_of(result)
        elif isinstance(result, DecodeError):
            errors += 1
        else:
            assert result is None or isinstance(result, dict), malformed_input
    assert MALFORMED // 4 < errors < MALFORMED
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 100 * 1024
