"""The distinct keys of a batch: what kind of record each is, whose it is, and which commits belong together."""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from decoders import scalar
from decoders.cursors import BinaryColumn
from decoders.errors import DecodeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from decoders.columnar import KeyColumns
    from decoders.records import Record

_TYPE_1: Final = b"\x00\x01"
LONGEST_NAME: Final = 32767
"""Bytes of a string in a key: its length is an int16."""


class RecordRole(enum.IntEnum):
    """What the fold does with a record."""

    REFUSED = 0
    COMMIT = 1
    MEMBERSHIP = 2


@dataclasses.dataclass(frozen=True, slots=True)
class DistinctKeys:
    """One entry per distinct key, and a last one for the null key."""

    record_type: NDArray[np.int16]
    kind: NDArray[np.int8]
    identity: NDArray[np.int64]
    """For a commit: which of `identities` it belongs to."""
    identities: pa.BinaryArray
    """Canonical keys of type 1; keys of type 0, with trailing bytes or broken UTF-8 share one with their like."""

    @classmethod
    def of(cls, keys: pa.BinaryArray, read: KeyColumns) -> DistinctKeys:
        """Sort keys out; the scalar interpreter is asked about those that the columnar one declined."""
        kind = np.select(
            [read.declined, read.record_type <= 1],
            [np.int8(RecordRole.REFUSED), np.int8(RecordRole.COMMIT)],
            RecordRole.MEMBERSHIP,
        ).astype(np.int8)
        canonical = _odd_commit_keys(keys, read)
        for at in np.flatnonzero(read.declined).tolist():
            record = scalar.decode(keys[at].as_py(), None)
            if isinstance(record, DecodeError):
                continue
            if record.type.number <= 1:
                kind[at], canonical[at] = RecordRole.COMMIT, _canonical(record)
            else:
                kind[at] = RecordRole.MEMBERSHIP
        identities, identity = _identities(keys, canonical)
        return cls(
            record_type=np.append(read.record_type, np.int16(-1)),
            kind=np.append(kind, np.int8(RecordRole.REFUSED)),
            identity=identity,
            identities=identities,
        )


def groups_of_commits(keys: pa.BinaryArray) -> pa.BinaryArray:
    """Name the group of each canonical key, in UTF-8: it begins with its type and its group."""
    column = BinaryColumn(keys)
    begin = column.start + 4
    lengths = column.numbers(column.start + 2, np.dtype(">i2"), absent=0)
    return column.slices(begin, begin + lengths)


def group_of_offset(key: bytes) -> str:
    """Return the group of one canonical key."""
    return key[4 : 4 + int.from_bytes(key[2:4], "big")].decode()


def _odd_commit_keys(keys: pa.BinaryArray, read: KeyColumns) -> dict[int, bytes]:
    """Canonical form of the sound commit keys that are not in it: those of type 0, and those with trailing bytes."""
    lengths = pc.binary_length(keys).to_numpy(zero_copy_only=False)
    odd = ~read.declined & ((read.record_type == 0) | ((read.record_type == 1) & (read.end != lengths)))
    return {at: _TYPE_1 + keys[at].as_py()[2 : read.end[at]] for at in np.flatnonzero(odd).tolist()}


def _identities(keys: pa.BinaryArray, canonical: dict[int, bytes]) -> tuple[pa.BinaryArray, NDArray[np.int64]]:
    if not canonical:
        return keys, np.arange(len(keys) + 1)
    spelled = keys.to_pylist()
    for at, key in canonical.items():
        spelled[at] = key
    encoded = pa.array(spelled, pa.binary()).dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return encoded.dictionary, np.append(codes, -1)


def _fitting(name: str) -> bytes:
    """Spell a name so that its length fits a key: replacing broken UTF-8 makes bytes more, up to three for one."""
    return name.encode("utf-8", "surrogatepass")[:LONGEST_NAME].decode(errors="ignore").encode()


def _canonical(record: Record) -> bytes:
    group, topic = (_fitting(record.key[name]) for name in ("group", "topic"))
    partition = record.key["partition"].to_bytes(4, "big", signed=True)
    return b"".join((_TYPE_1, len(group).to_bytes(2, "big"), group, len(topic).to_bytes(2, "big"), topic, partition))
