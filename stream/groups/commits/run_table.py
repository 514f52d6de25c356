"""The table of commit runs of a shard: one run per key, with the details of its last commit and its slots."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stream.groups.commits import runs as run_columns
from stream.groups.commits import slots as slot_columns
from stream.groups.commits.runs import TOPIC_ID, Spans
from stream.groups.commits.slots import Slots

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    indices = pa.array(rows)
    return {
        "leader_epoch": runs.leader_epoch[rows],
        "expire_time": runs.expire_time[rows],
        "metadata": runs.metadata.take(indices),
        "topic_id": runs.topic_id.take(indices),
    }


def _join_slots(
    slots: Slots,
    codes: NDArray[np.int32],
    order: NDArray[np.intp],
    kept: NDArray[np.bool_] | None,
    keep_slots: int,
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
