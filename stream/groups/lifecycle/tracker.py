"""Updates the histories of a shard's groups from the events read (`events`), group by group and in log order.

*Theory of operation.* A broker writes what happens to a group at one moment with one timestamp: an *operation*. The
events of an operation are applied together, so only the status before and after it counts, and neither micro-batches
nor Spark's retries show. An event joins the open operation or closes it:

| Event | Group exists | Does |
|---|---|---|
| first commit | yes, no operation open | one more offset: no transition, the operation is not opened |
| first commit | yes, an operation open | closes the operation; one more offset |
| first commit | no | opens an operation: the group is created |
| record or tombstone at the time of the operation | | joins it |
| record or tombstone at a later time | | closes the operation and opens the next one |
| tombstone of a membership record at a later time | no | nothing |

Closing applies the membership records to the summary of the group and derives the transitions (`transitions`). The
previous status of a group is rebuilt from the records and runs of the state; only what cannot be rebuilt is stored
(`record`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from decoders.columnar import decode_keys
from stream.groups.commits.run_table import find_rows, groups_of_commit_keys
from stream.groups.commits.runs import NEVER
from stream.groups.lifecycle import record as group_record
from stream.groups.lifecycle.events import Event, EventType, events_by_group
from stream.groups.lifecycle.record import GroupRecord, HistoryTable, history_table
from stream.groups.lifecycle.transitions import close_operation, open_operation
from stream.groups.membership.summary import TARGET_EPOCH_TYPES, MembershipSummaries, groups_of, record_type_of
from stream.groups.shard import ShardDelta, ShardState, StateLimits

_GRACE_FACTOR: Final = 2
"""Dead groups stay in the state for this multiple of the grace period. Whether a group is recreated depends on the
record's timestamp, and brokers' clocks differ: the margin hides when the state dropped the group."""


def update_histories(
    state: ShardState, read: ShardDelta, state_rows: NDArray[np.int64], limits: StateLimits
) -> tuple[HistoryTable, HistoryTable]:
    """Return the histories after the records read, and those that changed; `state_rows` as in `events_by_group`."""
    events = events_by_group(state, read, state_rows)
    updated = _Updater(state, read, limits).update(events) if events else HistoryTable.empty()
    updated = _drop_expired(updated, read.time, limits)
    expired = (
        state.histories.take(_expired(state.histories, read.time, limits))
        if len(state.histories)
        else HistoryTable.empty()
    )
    if not len(updated) and not len(expired):
        return state.histories, updated
    changed = HistoryTable.concat([updated, expired.take(find_rows(updated.groups, expired.groups) < 0).dropped()])
    untouched = state.histories.take(find_rows(changed.groups, state.histories.groups) < 0)
    kept = changed.take(changed.values.is_valid().to_numpy(zero_copy_only=False))
    return HistoryTable.concat([untouched, kept]), changed


def _expired(histories: HistoryTable, time: int, limits: StateLimits) -> NDArray[np.bool_]:
    """Return a mask of the dead groups that are to be dropped at this time (ms)."""
    if limits.dead_grace_ms is None:
        return np.zeros(len(histories), np.bool_)
    expired: NDArray[np.bool_] = (histories.died != NEVER) & (
        histories.died < time - _GRACE_FACTOR * limits.dead_grace_ms
    )
    return expired


def _drop_expired(histories: HistoryTable, time: int, limits: StateLimits) -> HistoryTable:
    expired = _expired(histories, time, limits)
    if not expired.any():
        return histories
    return HistoryTable.concat([histories.take(~expired), histories.take(expired).dropped()])


class _Updater:
    """Updates the histories of the groups with events; holds what their updates share."""

    def __init__(self, state: ShardState, read: ShardDelta, limits: StateLimits) -> None:
        self._state = state
        self.limits = limits
        self.summaries = MembershipSummaries()
        self.keys: list[bytes] = read.records.keys.to_pylist()
        self.values: list[bytes | None] = read.records.values.to_pylist()
        tombstones = read.tombstones
        self.topics: list[str] = decode_keys(tombstones.keys).topic.to_pylist() if len(tombstones) else []
        self.commit_times: list[int] = tombstones.last_time.tolist()
        self.expire_times: list[int] = tombstones.expire_time.tolist()
        self._groups: list[str] = []
        self._offset_counts: Counter[str] | None = None

    def update(self, events: Mapping[str, list[Event]]) -> HistoryTable:
        """Return the histories that changed, with null values for those that were dropped."""
        self._groups = list(events)
        state_records = self._state_records()
        packed_before = self._packed()
        updated: dict[str, tuple[bytes | None, int]] = {}
        for group, group_events in events.items():
            before = packed_before.get(group)
            for key, value in state_records.pop(group, ()):
                self.summaries.apply_record(group, key, value)
            record = _GroupUpdate(group, before, self).apply(group_events)
            self.summaries.forget(group)
            after = None if record is None else group_record.pack(record)
            if after != before:
                died = None if record is None else record.current.died
                updated[group] = after, NEVER if died is None else died
        return history_table(updated)

    def offsets_in_state(self, group: str) -> int:
        """Return the number of offsets of a group in the state; the first call counts those of all groups."""
        if self._offset_counts is None:
            names = pa.array([name.encode() for name in self._groups], pa.binary())
            rows = find_rows(names, groups_of_commit_keys(self._state.runs.keys))
            counts = np.bincount(rows[rows >= 0], minlength=len(names))
            self._offset_counts = Counter(dict(zip(self._groups, counts.tolist(), strict=True)))
        return self._offset_counts[group]

    def _state_records(self) -> dict[str, list[tuple[bytes, bytes]]]:
        """Return keys and values of the state's records of each group with events."""
        found: dict[str, list[tuple[bytes, bytes]]] = {group: [] for group in self._groups}
        records = self._state.records
        names = groups_of(records.keys.to_pylist())
        rows = np.flatnonzero(np.array([name in found for name in names], np.bool_))
        concerned = records.take(rows)
        columns = (concerned.keys.to_pylist(), concerned.values.to_pylist())
        for row, *record in zip(rows.tolist(), *columns, strict=True):
            found[names[row]].append(tuple(record))
        return found

    def _packed(self) -> dict[str, bytes]:
        histories = self._state.histories
        names = self._groups
        rows = find_rows(histories.groups, pa.array([name.encode() for name in names], pa.binary()))
        found = np.flatnonzero(rows >= 0)
        packed = histories.values.take(pa.array(rows[found])).to_pylist()
        return {names[at]: value for at, value in zip(found.tolist(), packed, strict=True)}


class _GroupUpdate:
    """Applies the events of a batch to the history of one group."""

    def __init__(self, group: str, packed: bytes | None, updater: _Updater) -> None:
        self._group = group
        self._updater = updater
        self._summary = updater.summaries.get(group)
        self._record = GroupRecord() if packed is None else group_record.unpack(packed)
        self._had_offsets = self._record.current.exists
        # Offsets gained since the state; records of the newest operation that the summary does not include yet.
        self._gained = 0
        self._pending_rows: list[int] = []
        self._is_closed = True

    def apply(self, events: list[Event]) -> GroupRecord | None:
        """Return the group's record after these events; None if there is nothing to store."""
        for position, time, type_, row in events:
            if type_ is EventType.FIRST_COMMIT and self._is_closed and self._record.current.exists:
                self._gained += 1  # the most frequent case: one more offset of a known group causes no transition
            elif self._joins_operation(time, type_, row):
                self._record.position = position
                self._is_closed = False
                if type_ is EventType.RECORD:
                    self._pending_rows.append(row)
                elif type_ is EventType.FIRST_COMMIT:
                    self._gained += 1
                else:
                    self._remove_offset(row, time)
        self._close()
        return self._record if self._record.current.kind is not None else None

    def _joins_operation(self, time: int, type_: EventType, row: int) -> bool:
        """Return whether an event belongs to an operation; opens the operation if it is new."""
        continues = time == self._record.time
        if not self._is_closed and (type_ is EventType.FIRST_COMMIT or not continues):
            self._close()
        if type_ is EventType.FIRST_COMMIT and self._record.current.exists:
            self._gained += 1
            return False
        if continues:
            return True
        if type_ is EventType.RECORD and self._updater.values[row] is None and not self._record.current.exists:
            return False  # a tombstone of a group that does not exist changes nothing
        members = 0 if self._summary is None else len(self._summary.names)
        self._record = open_operation(self._record, time, members, self._updater.limits)
        return True

    def _remove_offset(self, row: int, time: int) -> None:
        updater = self._updater
        self._gained -= 1
        self._record.removed = self._record.removed.plus(
            updater.topics[row], updater.commit_times[row], updater.expire_times[row], time
        )

    def _close(self) -> None:
        """Derive the transitions of the open operation, if there is one."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._pending_rows:
            self._apply_records()
        has_offsets = self._summary is None and self._has_offsets()
        close_operation(self._record, self._summary, has_offsets=has_offsets, limits=self._updater.limits)

    def _apply_records(self) -> None:
        """Apply the records of the open operation to the summary."""
        updater = self._updater
        for row in self._pending_rows:
            key, value = updater.keys[row], updater.values[row]
            if value is not None and record_type_of(key) in TARGET_EPOCH_TYPES:
                self._record.assigned = True
            self._record.count_members(*updater.summaries.apply_record(self._group, key, value))
        self._pending_rows = []
        self._summary = updater.summaries.get(self._group)

    def _has_offsets(self) -> bool:
        in_state = self._updater.offsets_in_state(self._group) if self._had_offsets and self._gained <= 0 else 0
        return in_state + self._gained > 0
