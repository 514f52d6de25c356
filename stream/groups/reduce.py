"""(state, what was read) -> (state, what changed). The one place where the state of a shard moves forward.

What was read comes as deltas: shards made of the records between two positions. Deltas may arrive in any order and more
than once; they are applied in log order, and what the state has seen already changes nothing.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from stream.groups.shard import (
    Records,
    Runs,
    Shard,
    concat_records,
    concat_runs,
    join_runs,
    newest_records,
    rows_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


def reduce(state: Shard, deltas: Iterable[Shard], keep_slots: int) -> tuple[Shard, Shard]:
    """Apply deltas to a state; give the new state and the change: the new rows of every key that was touched."""
    ordered = sorted(deltas, key=lambda delta: delta.position)
    fresh = [delta for delta in ordered if delta.position > state.position]
    runs, changed_runs = _reduce_runs(state, [_unseen_runs(delta.runs, state.position) for delta in fresh], keep_slots)
    records, changed_records = _reduce_records(
        state.records, [_unseen_records(delta.records, state.position) for delta in fresh]
    )
    position = max([state.position, *(delta.position for delta in fresh)])
    return Shard(runs, records, position), Shard(changed_runs, changed_records, position)


def _unseen_runs(runs: Runs, position: int) -> Runs:
    seen = runs.spans.last_position <= position
    return runs.take(~seen) if seen.any() else runs


def _unseen_records(records: Records, position: int) -> Records:
    seen = records.position <= position
    return records.take(~seen) if seen.any() else records


def _reduce_runs(state: Shard, read: list[Runs], keep_slots: int) -> tuple[Runs, Runs]:
    new = join_runs(read, keep_slots)
    if not len(new):
        return state.runs, new
    old_rows = rows_of(state.runs.keys, new.keys)
    # A run that begins before the state's position and ends after it was partly seen: its counts cannot be told apart
    # from those of the state, so it stands alone. (Spark re-delivers whole batches; a replaced topic need not.)
    straddles = new.spans.first_position <= state.position
    known = (old_rows >= 0) & ~straddles
    changed = join_runs([state.runs.take(old_rows[known]), new], keep_slots)
    untouched = np.ones(len(state.runs), np.bool_)
    untouched[old_rows[old_rows >= 0]] = False
    alive = changed.spans.commits > 0
    kept = changed if alive.all() else changed.take(alive)
    # A state begins with nothing, so that a key began with a tombstone says nothing more.
    kept = dataclasses.replace(kept, spans=dataclasses.replace(kept.spans, reset=np.zeros(len(kept), np.bool_)))
    return concat_runs([state.runs.take(untouched), kept]), changed


def _reduce_records(state: Records, read: list[Records]) -> tuple[Records, Records]:
    read = [records for records in read if len(records)]
    if not read:
        return state, state.take(np.empty(0, np.int64))
    changed = newest_records(concat_records(read))
    untouched = rows_of(changed.keys, state.keys) < 0
    alive = changed.values.is_valid().to_numpy(zero_copy_only=False)
    return concat_records([state.take(untouched), changed.take(alive)]), changed


def tombstoned(records: Records) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Say which records are tombstones."""
    mask: np.ndarray[tuple[int], np.dtype[np.bool_]] = pc.is_null(records.values).to_numpy(zero_copy_only=False)
    return mask
