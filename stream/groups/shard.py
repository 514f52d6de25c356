"""The state of one shard as columns: the runs of its commits, the newest record of every membership key, the lives.

A `Shard` is used for three things that are the same thing: the state kept by the state store, what a task read in one
batch (a *delta*), and what one batch changed. In a delta or a change a run without commits, and a record or a life
without a value, say that it is gone; a state holds none of these. A delta has no lives, a state no tombstones.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stream.groups.commits import runs as run_columns
from stream.groups.commits import slots as window
from stream.groups.commits.runs import NEVER, TOPIC_ID, Spans
from stream.groups.commits.tombstones import OffsetTombstones, no_forgotten
from stream.groups.lifecycle.table import HistoryTable, no_lives

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream.groups.commits.slots import Slots

NOTHING_READ: Final = -1
"""Position of a shard that has read no record yet."""


@dataclasses.dataclass(frozen=True, slots=True)
class Runs:
    """One run per key, in the order of the keys.

    A key is the canonical bytes of an OFFSET_COMMIT key (type 1), also for commits that were stored under type 0: both
    load into the same place in the broker.
    """

    keys: pa.BinaryArray
    spans: Spans
    leader_epoch: NDArray[np.int32]
    expire_time: NDArray[np.int64]
    metadata: pa.BinaryArray
    topic_id: pa.FixedSizeBinaryArray
    slots: Slots

    def take(self, rows: NDArray[Any]) -> Runs:
        """Give these rows (ascending or not, no row twice) with their slots."""
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        chosen = pa.array(rows)
        moved = np.full(len(self.keys), -1, np.int64)
        moved[rows] = np.arange(len(rows))
        slots = dataclasses.replace(self.slots, row=moved[self.slots.row])
        slots = slots.take(slots.row >= 0)
        if len(rows) > 1 and (np.diff(rows) < 0).any():
            slots = slots.take(np.argsort(slots.row, kind="stable"))
        return Runs(
            keys=self.keys.take(chosen),
            spans=self.spans.take(rows),
            leader_epoch=self.leader_epoch[rows],
            expire_time=self.expire_time[rows],
            metadata=self.metadata.take(chosen),
            topic_id=self.topic_id.take(chosen),
            slots=slots,
        )

    def __len__(self) -> int:
        return len(self.keys)


@dataclasses.dataclass(frozen=True, slots=True)
class Records:
    """Membership records (types 2 and up) as they stand in the log, in log order; a null value is a tombstone."""

    keys: pa.BinaryArray
    values: pa.BinaryArray
    position: NDArray[np.int64]
    time: NDArray[np.int64]
    """Timestamp of the record itself, in ms."""
    packed: bytes | None = dataclasses.field(default=None, compare=False, repr=False)
    """The bytes that it was read from: what a batch left as it was need not be packed again (`codec`)."""

    def take(self, rows: NDArray[Any]) -> Records:
        """Give these rows (indices or a mask), in this order."""
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        chosen = pa.array(rows)
        return Records(self.keys.take(chosen), self.values.take(chosen), self.position[rows], self.time[rows])

    def __len__(self) -> int:
        return len(self.keys)


@dataclasses.dataclass(frozen=True, slots=True)
class Shard:
    """All that is known of the groups of one shard, after the record at `position` of the offsets partition."""

    runs: Runs
    records: Records
    position: int
    lives: HistoryTable = dataclasses.field(default_factory=no_lives)
    forgotten: OffsetTombstones = dataclasses.field(default_factory=no_forgotten)
    """The offset tombstones among what was read."""
    time: int = NEVER
    """The newest timestamp (ms) of a record read."""


def join_runs(parts: Sequence[Runs], keep_slots: int) -> Runs:
    """Merge runs that follow each other in the log into one per key; keys appear in the order of their first run."""
    parts = [part for part in parts if len(part)]
    if not parts:
        return no_runs()
    if len(parts) == 1:
        return parts[0]
    every = concat_runs(parts)
    encoded = every.keys.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1)).astype(np.intp)
    spans, last, kept = run_columns.merge(every.spans.take(order), starts)
    return Runs(
        keys=encoded.dictionary,
        spans=spans,
        **details(every, order[last]),
        slots=_join_slots(every.slots, codes, order, kept, keep_slots),
    )


def details(source: Runs, rows: NDArray[np.intp]) -> dict[str, Any]:
    """Pick what a run takes from its last commit alone."""
    chosen = pa.array(rows)
    return {
        "leader_epoch": source.leader_epoch[rows],
        "expire_time": source.expire_time[rows],
        "metadata": source.metadata.take(chosen),
        "topic_id": source.topic_id.take(chosen),
    }


def _join_slots(
    slots: Slots,
    codes: NDArray[np.int32],
    order: NDArray[np.intp],
    kept: NDArray[np.bool_] | None,
    keep_slots: int,
) -> Slots:
    """Give the slots of every run to the run it became part of; a run before a tombstone takes its slots with it."""
    if kept is not None:
        survives = np.zeros(len(codes), np.bool_)
        survives[order[kept]] = True
        slots = slots.take(survives[slots.row])
    moved = dataclasses.replace(slots, row=codes[slots.row].astype(np.int64))
    return window.merge(moved.take(np.argsort(moved.row, kind="stable")), keep_slots)


def concat_runs(parts: Sequence[Runs]) -> Runs:
    """Put the rows of several one after the other."""
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
        slots=window.concat(
            [
                dataclasses.replace(part.slots, row=part.slots.row + shift)
                for part, shift in zip(parts, shifts, strict=False)
            ]
        ),
    )


def concat_records(parts: Sequence[Records]) -> Records:
    """Put the rows of several one after the other."""
    if len(parts) == 1:
        return parts[0]
    return Records(
        keys=pa.concat_arrays([part.keys for part in parts]),
        values=pa.concat_arrays([part.values for part in parts]),
        position=np.concatenate([part.position for part in parts]),
        time=np.concatenate([part.time for part in parts]),
    )


def newest_records(records: Records) -> Records:
    """Keep the last record of each key, in the order of their positions."""
    if len(records) < 2:
        return records
    codes = records.keys.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    last = np.full(codes.max() + 1, -1, np.int64)
    last[codes] = np.arange(len(codes))  # the last assignment of an index wins
    return records if len(last) == len(records) else records.take(np.sort(last))


def rows_of(keys: pa.BinaryArray, wanted: pa.BinaryArray) -> NDArray[np.int64]:
    """For each wanted key its row among the keys, -1 where it is not there."""
    found = pc.fill_null(pc.index_in(wanted, value_set=keys), -1)
    rows: NDArray[np.int64] = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return rows


def no_runs() -> Runs:
    """Give runs without rows."""
    return Runs(
        keys=pa.array([], pa.binary()),
        spans=run_columns.no_spans(),
        leader_epoch=np.empty(0, np.int32),
        expire_time=np.empty(0, np.int64),
        metadata=pa.array([], pa.binary()),
        topic_id=pa.array([], TOPIC_ID),
        slots=window.no_slots(),
    )


def no_records() -> Records:
    """Give records without rows."""
    none = np.empty(0, np.int64)
    return Records(pa.array([], pa.binary()), pa.array([], pa.binary()), none, none)


def empty_shard() -> Shard:
    """Give the state of a shard that has read nothing."""
    return Shard(no_runs(), no_records(), NOTHING_READ)
