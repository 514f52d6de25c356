"""The distinct keys of a batch, and the table of commit runs of a shard: one run per key."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from decoders import scalar
from decoders.columnar import KeyColumns, decode_keys
from decoders.cursors import BinaryColumn
from decoders.errors import DecodeError
from decoders.schema import Record, RecordContent
from decoders.tables import types_with
from stream.groups.commits import runs as run_columns
from stream.groups.commits import slots as slot_columns
from stream.groups.commits.runs import TOPIC_ID, Spans
from stream.groups.commits.slots import Slots

if TYPE_CHECKING:
    from numpy.typing import NDArray

_OFFSET_TYPES: Final = sorted(types_with(RecordContent.OFFSET))
_CANONICAL_TYPE: Final = _OFFSET_TYPES[-1]
"""Type 1: brokers since 0.9 write it, and load keys of type 0 into the same entry."""
_CANONICAL_START: Final = _CANONICAL_TYPE.to_bytes(2, "big")
_DETAILS: Final = ("leader_epoch", "expire_time", "metadata", "topic_id")
"""The columns of `Runs` that depend on the last commit only."""
LONGEST_NAME: Final = 32767
"""Maximum number of bytes of a string in a key: its length is an int16."""


class RecordRole(enum.IntEnum):
    """How the fold processes a record."""

    UNREADABLE = 0
    """The key cannot be decoded; the record is counted only."""
    COMMIT = 1
    MEMBERSHIP = 2


@dataclasses.dataclass(frozen=True, slots=True)
class DistinctKeys:
    """One entry per distinct key, and one more at the end for the null key."""

    record_type: NDArray[np.int16]
    role: NDArray[np.int8]
    canonical: NDArray[np.int64]
    """Of a commit key: its index in `canonical_keys`."""
    canonical_keys: pa.BinaryArray
    """Keys of type 1 without trailing bytes and invalid UTF-8; all spellings of one offset share one of them."""

    @classmethod
    def of_column(cls, keys: pa.BinaryArray) -> tuple[DistinctKeys, NDArray[np.int32]]:
        """Return the distinct keys of a column, and for each row the index of its key."""
        encoded = keys.dictionary_encode()
        codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
        return cls.build(encoded.dictionary, decode_keys(encoded.dictionary)), codes

    @classmethod
    def build(cls, keys: pa.BinaryArray, read: KeyColumns) -> DistinctKeys:
        """Classify keys; the scalar interpreter decodes those that the columnar one declined."""
        role = np.select(
            [read.declined, np.isin(read.record_type, _OFFSET_TYPES)],
            [np.int8(RecordRole.UNREADABLE), np.int8(RecordRole.COMMIT)],
            RecordRole.MEMBERSHIP,
        ).astype(np.int8)
        rewritten = _rewritten_keys(keys, read)
        for at in np.flatnonzero(read.declined).tolist():
            record = scalar.decode(keys[at].as_py(), None)
            if isinstance(record, DecodeError):
                continue
            if record.type.content is RecordContent.OFFSET:
                role[at], rewritten[at] = RecordRole.COMMIT, _canonical_key(record)
            else:
                role[at] = RecordRole.MEMBERSHIP
        canonical_keys, canonical = _canonical_keys(keys, rewritten)
        return cls(
            record_type=np.append(read.record_type, np.int16(-1)),
            role=np.append(role, np.int8(RecordRole.UNREADABLE)),
            canonical=canonical,
            canonical_keys=canonical_keys,
        )


def groups_of_commit_keys(keys: pa.BinaryArray) -> pa.BinaryArray:
    """Return the group of each canonical key, in UTF-8. A key begins with its type and its group."""
    column = BinaryColumn(keys)
    begin = column.start + 4
    lengths = column.numbers(column.start + 2, np.dtype(">i2"), absent=0)
    return column.slices(begin, begin + lengths)


def group_of_commit_key(key: bytes) -> str:
    """Return the group of a canonical key."""
    return key[4 : 4 + int.from_bytes(key[2:4], "big")].decode()


def _rewritten_keys(keys: pa.BinaryArray, read: KeyColumns) -> dict[int, bytes]:
    """Return, by index, the canonical form of readable commit keys of type 0 and of those with trailing bytes."""
    lengths = pc.binary_length(keys).to_numpy(zero_copy_only=False)
    is_commit, is_canonical = np.isin(read.record_type, _OFFSET_TYPES), read.record_type == _CANONICAL_TYPE
    differs = ~read.declined & is_commit & (~is_canonical | (read.end != lengths))
    return {at: _CANONICAL_START + keys[at].as_py()[2 : read.end[at]] for at in np.flatnonzero(differs).tolist()}


def _canonical_keys(keys: pa.BinaryArray, rewritten: dict[int, bytes]) -> tuple[pa.BinaryArray, NDArray[np.int64]]:
    """Return the distinct canonical keys, and for each key, and the null key, its index among them."""
    if not rewritten:
        return keys, np.arange(len(keys) + 1)
    canonical = keys.to_pylist()
    for at, key in rewritten.items():
        canonical[at] = key
    encoded = pa.array(canonical, pa.binary()).dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return encoded.dictionary, np.append(codes, -1)


def _truncated(name: str) -> bytes:
    """Encode a name in at most `LONGEST_NAME` bytes: the replacement of invalid UTF-8 can make three bytes of one."""
    return name.encode("utf-8", "surrogatepass")[:LONGEST_NAME].decode(errors="ignore").encode()


def _canonical_key(record: Record) -> bytes:
    group, topic = (_truncated(record.key[name]) for name in ("group", "topic"))
    partition = record.key["partition"].to_bytes(4, "big", signed=True)
    names = (part for name in (group, topic) for part in (len(name).to_bytes(2, "big"), name))
    return b"".join((_CANONICAL_START, *names, partition))


@dataclasses.dataclass(frozen=True, slots=True)
class Runs:
    """One run per key, in the order of the keys.

    A key is the canonical bytes of an OFFSET_COMMIT key (type 1), also for commits that were stored under type 0: the
    broker loads both into the same entry.
    """

    keys: pa.BinaryArray
    spans: Spans
    leader_epoch: NDArray[np.int32]
    expire_time: NDArray[np.int64]
    metadata: pa.BinaryArray
    topic_id: pa.FixedSizeBinaryArray
    slots: Slots

    def take(self, rows: NDArray[Any]) -> Runs:
        """Return these rows (indices or a mask; in any order, no row twice) with their slots."""
        if rows.dtype == np.bool_:
            if rows.all():
                return self
            rows = np.flatnonzero(rows)
        new_row = np.full(len(self.keys), -1, np.int64)
        new_row[rows] = np.arange(len(rows))
        slots = dataclasses.replace(self.slots, row=new_row[self.slots.row])
        slots = slots.take(slots.row >= 0)
        if len(rows) > 1 and (np.diff(rows) < 0).any():
            slots = slots.take(np.argsort(slots.row, kind="stable"))
        return Runs(
            keys=self.keys.take(pa.array(rows)),
            spans=self.spans.take(rows),
            **last_commit_details(self, rows),
            slots=slots,
        )

    def __len__(self) -> int:
        return len(self.keys)


def join_runs(parts: Sequence[Runs], keep_slots: int) -> Runs:
    """Merge runs that follow each other in the log into one per key; keys appear in the order of their first run."""
    parts = [part for part in parts if len(part)]
    if not parts:
        return no_runs()
    if len(parts) == 1:
        return parts[0]
    rows = concat_runs(parts)
    encoded = rows.keys.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1)).astype(np.intp)
    spans, last, kept = run_columns.merge(rows.spans.take(order), starts)
    return Runs(
        keys=encoded.dictionary,
        spans=spans,
        **last_commit_details(rows, order[last]),
        slots=_join_slots(rows.slots, codes, order, kept, keep_slots),
    )


def last_commit_details(runs: Runs, rows: NDArray[np.intp]) -> dict[str, Any]:
    """Return, for these rows, the columns of `Runs` that depend on the last commit only."""
    columns, indices = {name: getattr(runs, name) for name in _DETAILS}, pa.array(rows)
    return {
        name: column[rows] if isinstance(column, np.ndarray) else column.take(indices)
        for name, column in columns.items()
    }


def _join_slots(
    slots: Slots, codes: NDArray[np.int32], order: NDArray[np.intp], kept: NDArray[np.bool_] | None, keep_slots: int
) -> Slots:
    """Assign the slots of every run to the run that it was merged into; slots from before a tombstone are dropped."""
    if kept is not None:
        is_kept = np.zeros(len(codes), np.bool_)
        is_kept[order[kept]] = True
        slots = slots.take(is_kept[slots.row])
    assigned = dataclasses.replace(slots, row=codes[slots.row].astype(np.int64))
    return slot_columns.merge(assigned.take(np.argsort(assigned.row, kind="stable")), keep_slots)


def concat_runs(parts: Sequence[Runs]) -> Runs:
    """Concatenate the rows of several tables (at least one)."""
    if len(parts) == 1:
        return parts[0]
    shifts = np.cumsum([0, *(len(part) for part in parts)])
    return Runs(
        keys=pa.concat_arrays([part.keys for part in parts]),
        spans=run_columns.concat([part.spans for part in parts]),
        leader_epoch=np.concatenate([part.leader_epoch for part in parts]),
        expire_time=np.concatenate([part.expire_time for part in parts]),
        metadata=pa.concat_arrays([part.metadata for part in parts]),
        topic_id=pa.concat_arrays([part.topic_id for part in parts]),
        slots=Slots.concat(
            [
                dataclasses.replace(part.slots, row=part.slots.row + shift)
                for part, shift in zip(parts, shifts, strict=False)
            ]
        ),
    )


def find_rows(keys: pa.BinaryArray, wanted: pa.BinaryArray) -> NDArray[np.int64]:
    """Return for each wanted key its row among `keys`, -1 where it is absent."""
    found = pc.fill_null(pc.index_in(wanted, value_set=keys), -1)
    rows: NDArray[np.int64] = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return rows


def no_runs() -> Runs:
    """Return a table without rows."""
    return Runs(
        keys=pa.array([], pa.binary()),
        spans=run_columns.no_spans(),
        leader_epoch=np.empty(0, np.int32),
        expire_time=np.empty(0, np.int64),
        metadata=pa.array([], pa.binary()),
        topic_id=pa.array([], TOPIC_ID),
        slots=Slots.empty(),
    )
