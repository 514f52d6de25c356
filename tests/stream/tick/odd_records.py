"""Records that a client or a damaged log may contain: valid records with odd fields, and corrupted records."""

import random
import struct
from typing import Any, Final

from decoders.tables import RECORD_TYPES, embedded
from tests.decoders.writing import corrupted, random_fields, random_record, write, write_key
from tests.stream.groups import written
from tests.support.driver_states import Timed
from tests.support.raw import commit_key, commit_value, text

GROUPS: Final = ("g", "", "h", "ü€😀", "\x1b[2J", "a/b", "x" * 300, "..", "\ufffd")
TOPICS: Final = ("t", "u", "", "gone", "__consumer_offsets", "\u202e", "T" * 260)
PARTITIONS: Final = (0, 0, 1, 2, 3, 7, 65_535, 65_536, 2**20, 2**31 - 1)
OFFSETS: Final = (0, 1, 9, 10, 11, -1, -2, -1001, 2**31, 2**53 + 1, 2**63 - 1, -(2**63))
TIMES: Final = (
    *(0, 1, -1, -2, 1_000, 10_000, 1_700_000_000_000, 1_790_000_000_000, 4_000_000_000_000),
    *(253_402_300_799_999, 253_402_300_800_000, -62_135_596_800_000, -62_135_596_800_001),
    *(9_223_372_036_854_775, 2**62, 2**63 - 1, -(2**63), 2**63 - 604_800_000),
)
NUMBERS: Final = (0, 1, -1, 7, 2**31 - 1, -(2**31))
_LIVING: Final = tuple(row for row in RECORD_TYPES if not row.removed)
_KINDS: Final = ("consumer", "connect", "", "sr", "consumer")


def some_records(chance: random.Random, most: int = 12) -> list[Timed]:
    """Return some records in log order, each with its timestamp."""
    return [(chance.choice(TIMES), *_some(chance)) for _ in range(chance.randrange(1, most))]


def _some(chance: random.Random) -> tuple[bytes | None, bytes | None]:
    how = chance.randrange(10)
    if how < 4:
        key, value = _commit(chance)
    elif how < 7:
        key, value = _classic(chance)
    else:
        key, value = _any_type(chance)
    if chance.random() < 0.1:
        key = corrupted(chance, key)
    if value is not None and chance.random() < 0.1:
        value = corrupted(chance, value)
    return (key, None) if chance.random() < 0.1 else (key, value)


def _commit(chance: random.Random) -> tuple[bytes, bytes]:
    name = chance.choice(GROUPS), chance.choice(TOPICS)
    key = commit_key(*name, chance.choice((*PARTITIONS, -1)), record_type=chance.choice((0, 1, 1, 1)))
    version = chance.choice((0, 1, 1, 3, 4))
    offset, time, epoch = chance.choice(OFFSETS), chance.choice(TIMES), chance.choice(NUMBERS)
    metadata = chance.choice(("", "m", "\x1b]0;x\x07"))
    if version == 1:  # the only version that stores an expiry of its own
        return key, struct.pack(">hq", 1, offset) + text(metadata) + struct.pack(">qq", time, chance.choice(TIMES))
    return key, commit_value(offset, time, version=version, metadata=metadata, leader_epoch=epoch)


def _classic(chance: random.Random) -> tuple[bytes, bytes]:
    """Return a classic group whose members may have any bytes as subscription and assignment."""
    members = [_member(chance, number) for number in range(chance.randrange(4))]
    _, value = written.classic(
        *members, generation=chance.choice(NUMBERS), kind=chance.choice(_KINDS), time=chance.choice(TIMES)
    )
    assert value is not None
    return struct.pack(">h", 2) + text(chance.choice(GROUPS)), value


def _member(chance: random.Random, number: int) -> dict[str, Any]:
    name = chance.choice((f"m{number}", "", "m", "\x1b[31m"))
    wants = chance.choice((b"", written.subscription(*_topics(chance)), corrupted(chance, written.subscription("t"))))
    assigned = written.assignment({topic: _partitions(chance) for topic in _topics(chance)})
    has = chance.choice((b"", assigned, assigned, corrupted(chance, assigned), _huge_assignment()))
    return written.classic_member(name, instance=chance.choice((None, "", "i")), wants=wants, has=has)


def _topics(chance: random.Random) -> list[str]:
    return [chance.choice(TOPICS) for _ in range(chance.randrange(3))]


def _partitions(chance: random.Random) -> tuple[int, ...]:
    return tuple(chance.choice((*PARTITIONS, -1, -(2**31))) for _ in range(chance.randrange(4)))


def _huge_assignment() -> bytes:
    rows = [{"topic": "t", "partitions": tuple(range(1_000))}, {"topic": "t", "partitions": (2**31 - 1,) * 100}]
    return b"\0\0" + write(embedded.CONSUMER_ASSIGNMENT, 0, {"assigned_partitions": rows, "user_data": None})


def _any_type(chance: random.Random) -> tuple[bytes, bytes | None]:
    """Return a record of any type about one of the groups; its other fields have any value that the type allows."""
    row = chance.choice(_LIVING)
    assert row.key is not None
    fields = random_fields(chance, row.key.struct, 0)
    for name in ("group", "group_id"):
        if name in fields:
            fields[name] = chance.choice(GROUPS)
    return write_key(row, fields), random_record(chance, row)[1]
