"""(state, deltas) -> (state, change): the only place where the state of a shard moves forward.

A delta holds the records that one task read between two positions. Deltas may arrive in any order and more than once;
they are applied in log order, and records that the state has already applied change nothing. A state keeps only the
newest slots and transitions, and drops dead groups after a while. Both follow from the timestamps in the log, because a
state has no clock.
"""

import dataclasses
from collections.abc import Iterable
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream.groups.commits import tombstones as abort_table
from stream.groups.commits import tombstones as tombstone_table
from stream.groups.commits.run_table import Runs, concat_runs, find_rows, join_runs
from stream.groups.commits.tombstones import AbortedCommits, OffsetTombstones
from stream.groups.lifecycle.tracker import update_histories
from stream.groups.shard import MembershipRecords, ShardChange, ShardDelta, ShardState, StateLimits, newest_records

_Rows = TypeVar("_Rows", "Runs", "MembershipRecords", "OffsetTombstones", "AbortedCommits")


def reduce(
    state: ShardState, deltas: Iterable[ShardDelta], limits: StateLimits | int
) -> tuple[ShardState, ShardChange]:
    """Return the state after the deltas, and the change: the new rows of every key that was touched.

    A number as `limits` stands for `StateLimits` with this `keep_slots` and defaults otherwise.
    """
    limits = StateLimits(limits) if isinstance(limits, int) else limits
    ordered = sorted(deltas, key=lambda delta: delta.position)
    unseen = [_without_seen(delta, state.position) for delta in ordered if delta.position > state.position]
    read = _combined(state, unseen, limits)
    state_rows = find_rows(state.runs.keys, read.runs.keys)
    runs, changed_runs = _reduce_runs(state, read.runs, state_rows, limits.keep_slots)
    records, changed_records = _reduce_records(state.records, read.records)
    histories, changed_histories = update_histories(state, read, state_rows, limits)
    aborts, changed_aborts = _reduce_aborts(state, unseen, read.time)
    return (
        ShardState(runs, records, read.position, histories, time=read.time, aborts=aborts),
        ShardChange(
            changed_runs,
            changed_records,
            read.position,
            changed_histories,
            read.tombstones,
            time=read.time,
            aborts=changed_aborts,
        ),
    )


def _without_seen(delta: ShardDelta, position: int) -> ShardDelta:
    """Return a delta without the rows at or before a position."""
    return dataclasses.replace(
        delta,
        runs=_after(delta.runs, delta.runs.spans.last_position, position),
        records=_after(delta.records, delta.records.position, position),
        tombstones=_after(delta.tombstones, delta.tombstones.position, position),
        aborts=_after(delta.aborts, delta.aborts.last_position, position),
    )


def _after(rows: _Rows, positions: NDArray[np.int64], position: int) -> _Rows:
    seen = positions <= position
    return rows.take(~seen) if seen.any() else rows


def _combined(state: ShardState, deltas: list[ShardDelta], limits: StateLimits) -> ShardDelta:
    """Return the deltas, in log order, as one, without aborted commits; its time is also that of the state."""
    runs = join_runs([delta.runs for delta in deltas], limits.keep_slots)
    time = max([state.time, *(delta.time for delta in deltas)])
    tombstones = OffsetTombstones.concat([delta.tombstones for delta in deltas])
    return ShardDelta(
        records=MembershipRecords.concat([delta.records for delta in deltas]),
        tombstones=tombstone_table.resolve(tombstones, [state.runs, *(delta.runs for delta in deltas)]),
        runs=runs,
        position=max([state.position, *(delta.position for delta in deltas)]),
        time=time if limits.latest is None else min(time, limits.latest),
    )


def _reduce_runs(state: ShardState, new: Runs, state_rows: NDArray[np.int64], keep_slots: int) -> tuple[Runs, Runs]:
    if not len(new):
        return state.runs, new
    # A run that begins before the state's position and ends after it was partly seen. Its counts cannot be separated
    # from those of the state, so it replaces the state's run. (Spark re-delivers whole batches; a re-created topic
    # need not.)
    straddles = new.spans.first_position <= state.position
    continued = (state_rows >= 0) & ~straddles
    changed = join_runs([state.runs.take(state_rows[continued]), new], keep_slots)
    untouched = np.ones(len(state.runs), np.bool_)
    untouched[state_rows[state_rows >= 0]] = False
    has_commits = changed.spans.commits > 0
    kept = changed if has_commits.all() else changed.take(has_commits)
    # A state starts empty, so a tombstone at the start of a run carries no information.
    kept = dataclasses.replace(kept, spans=dataclasses.replace(kept.spans, reset=np.zeros(len(kept), np.bool_)))
    return concat_runs([state.runs.take(untouched), kept]), changed


def _reduce_aborts(state: ShardState, deltas: list[ShardDelta], now: int) -> tuple[AbortedCommits, AbortedCommits]:
    """Return the aborted commits of all keys, and those of the keys of which the deltas have some."""
    aborts = state.aborts
    for delta in deltas:
        # As with runs, a row that was partly seen replaces that of the state.
        straddling = delta.aborts.keys.filter(pa.array(delta.aborts.first_position <= state.position))
        aborts = abort_table.since(abort_table.without(aborts, straddling), delta.runs)
        aborts = abort_table.join(AbortedCommits.concat([aborts, delta.aborts]))
    aborts = abort_table.recent(aborts, now)
    changed = [delta.aborts.keys for delta in deltas if len(delta.aborts)]
    return aborts, abort_table.of_keys(aborts, pa.concat_arrays(changed)) if changed else AbortedCommits.empty()


def _reduce_records(state: MembershipRecords, new: MembershipRecords) -> tuple[MembershipRecords, MembershipRecords]:
    if not len(new):
        return state, new
    changed = newest_records(new)
    untouched = find_rows(changed.keys, state.keys) < 0
    has_value = changed.values.is_valid().to_numpy(zero_copy_only=False)
    return MembershipRecords.concat([state.take(untouched), changed.take(has_value)]), changed
