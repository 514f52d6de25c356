"""(state, what was read) -> (state, what changed). The one place where the state of a shard moves forward.

What was read comes as deltas: shards made of the records between two positions. Deltas may arrive in any order and more
than once; they are applied in log order, and what the state has seen already changes nothing. Of the past only the
newest is kept, and of the dead nothing after a while: all by what the log says, for a state has no clock.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from stream.groups.commits import tombstones as forgotten
from stream.groups.lifecycle import tracker as chronicle
from stream.groups.lifecycle.tracker import NewRecords
from stream.groups.lifecycle.transitions import HistoryLimits
from stream.groups.shard import (
    Records,
    Runs,
    Shard,
    concat_records,
    concat_runs,
    join_runs,
    newest_records,
    no_records,
    rows_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


_Rows = TypeVar("_Rows", "Runs", "Records", "forgotten.OffsetTombstones")
KEEP_TRANSITIONS: Final = 32
GRACE_MS: Final = 3_600_000


@dataclasses.dataclass(frozen=True, slots=True)
class StateLimits:
    """What a state keeps. None: all of it, for ever.

    `grace_ms` is how long a dead group is remembered, so that what comes after it is a rebirth. The state forgets it
    by the timestamps of the records it reads, whenever it is touched: a timer would be another thing that a replayed
    batch has to repeat, and a shard without records has nothing new to remember.
    `live_from` is the position in this shard's offsets partition from which on what happens is news.
    """

    keep_slots: int
    keep_transitions: int | None = KEEP_TRANSITIONS
    grace_ms: int | None = GRACE_MS
    live_from: int = 0


def reduce(state: Shard, deltas: Iterable[Shard], rules: StateLimits | int) -> tuple[Shard, Shard]:
    """Apply deltas to a state; give the new state and the change: the new rows of every key that was touched.

    A bare number stands for rules that keep so many slots and are as they are by default.
    """
    rules = StateLimits(rules) if isinstance(rules, int) else rules
    ordered = sorted(deltas, key=lambda delta: delta.position)
    fresh = [_unseen(delta, state.position) for delta in ordered if delta.position > state.position]
    read = _read(state, fresh, rules.keep_slots)
    runs, changed_runs = _reduce_runs(state, read.runs, read.rows, rules.keep_slots)
    records, changed_records = _reduce_records(state.records, read.records)
    lives, changed_lives = chronicle.tell(
        state, read, HistoryLimits(rules.keep_transitions, rules.grace_ms, rules.live_from)
    )
    position = max([state.position, *(delta.position for delta in fresh)])
    return (
        Shard(runs, records, position, lives, time=read.time),
        Shard(changed_runs, changed_records, position, changed_lives, read.forgotten, read.time),
    )


def _unseen(delta: Shard, position: int) -> Shard:
    """Leave out what lies at or before a position."""
    return dataclasses.replace(
        delta,
        runs=_after(delta.runs, delta.runs.spans.last_position, position),
        records=_after(delta.records, delta.records.position, position),
        forgotten=_after(delta.forgotten, delta.forgotten.position, position),
    )


def _after(rows: _Rows, positions: NDArray[np.int64], position: int) -> _Rows:
    seen = positions <= position
    return rows.take(~seen) if seen.any() else rows


def _read(state: Shard, fresh: list[Shard], keep_slots: int) -> NewRecords:
    """Put together what was read."""
    runs = join_runs([delta.runs for delta in fresh], keep_slots)
    records = [delta.records for delta in fresh if len(delta.records)]
    gone = forgotten.concat([delta.forgotten for delta in fresh])
    return NewRecords(
        records=concat_records(records) if records else no_records(),
        forgotten=forgotten.resolve(gone, [state.runs, *(delta.runs for delta in fresh)]),
        runs=runs,
        rows=rows_of(state.runs.keys, runs.keys),
        time=max([state.time, *(delta.time for delta in fresh)]),
    )


def _reduce_runs(state: Shard, new: Runs, old_rows: NDArray[np.int64], keep_slots: int) -> tuple[Runs, Runs]:
    if not len(new):
        return state.runs, new
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


def _reduce_records(state: Records, read: Records) -> tuple[Records, Records]:
    if not len(read):
        return state, read
    changed = newest_records(read)
    untouched = rows_of(changed.keys, state.keys) < 0
    alive = changed.values.is_valid().to_numpy(zero_copy_only=False)
    return concat_records([state.take(untouched), changed.take(alive)]), changed
