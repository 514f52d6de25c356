"""Updates the histories of a shard's groups from the records read, group by group and in log order.

Only groups that can have a transition are processed: groups with membership records or offset tombstones among the
records read, and groups with new commits that are not known to exist. A batch of commits of known groups costs nothing
here. The previous status of a group is rebuilt from the records and runs of the state; only what cannot be rebuilt is
stored (`lifecycle.record`).
"""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from decoders.columnar import decode_keys
from stream.groups.commits.keys import groups_of_commit_keys
from stream.groups.commits.run_table import find_rows
from stream.groups.commits.runs import NEVER
from stream.groups.lifecycle import record as group_record
from stream.groups.lifecycle.record import GroupRecord
from stream.groups.lifecycle.table import HistoryTable, concat_histories, history_table, no_histories
from stream.groups.lifecycle.transitions import close_operation, open_operation, record_without_past
from stream.groups.membership.record_types import TARGET_EPOCH_TYPES, record_type_of
from stream.groups.membership.summary import MembershipSummaries, groups_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stream.groups.commits.run_table import Runs
    from stream.groups.commits.tombstones import OffsetTombstones
    from stream.groups.lifecycle.transitions import HistoryLimits
    from stream.groups.shard import MembershipRecords, ShardState

_GRACE_FACTOR: Final = 2
"""Dead groups stay in the state for this multiple of the grace period. Whether a group is recreated depends on the
record's timestamp, and brokers' clocks differ: the margin hides when the state dropped the group."""


@dataclasses.dataclass(frozen=True, slots=True)
class NewRecords:
    """The records that the state has not seen: membership records and tombstones in log order, and runs."""

    records: MembershipRecords
    tombstones: OffsetTombstones
    runs: Runs
    # For each run its row in the state, -1 where it has none.
    state_rows: NDArray[np.int64]
    # The newest timestamp of a record, also of those read before.
    time: int


class _EventType(enum.IntEnum):
    """At equal position and time, events sort in this order."""

    FIRST_COMMIT = 0
    OFFSET_TOMBSTONE = 1
    RECORD = 2


_FIRST_COMMIT, _OFFSET_TOMBSTONE, _RECORD = _EventType.FIRST_COMMIT, _EventType.OFFSET_TOMBSTONE, _EventType.RECORD

_Event = tuple[int, int, _EventType, int]
"""Position, time (ms), type, and row in the table of its type (-1 for a first commit)."""


def update_histories(state: ShardState, read: NewRecords, limits: HistoryLimits) -> tuple[HistoryTable, HistoryTable]:
    """Return the histories after the records read, and those that changed."""
    events = _events(state, read)
    updated = _Updater(state, read, limits).update(events) if events else no_histories()
    updated = _drop_expired(updated, read.time, limits)
    expired = (
        state.histories.take(_expired(state.histories, read.time, limits)) if len(state.histories) else no_histories()
    )
    if not len(updated) and not len(expired):
        return state.histories, updated
    changed = concat_histories([updated, expired.take(find_rows(updated.groups, expired.groups) < 0).dropped()])
    untouched = state.histories.take(find_rows(changed.groups, state.histories.groups) < 0)
    kept = changed.take(changed.values.is_valid().to_numpy(zero_copy_only=False))
    return concat_histories([untouched, kept]), changed


def build_histories(state: ShardState) -> HistoryTable:
    """Return histories without transitions for all groups of a state whose format had none."""
    summaries = MembershipSummaries()
    summaries.apply(state.records)
    packed: dict[str, tuple[bytes | None, int]] = {}
    for name in sorted({*summaries.groups(), *decode_keys(state.runs.keys).group.drop_null().unique().to_pylist()}):
        summary = summaries.get(name)
        packed[name] = group_record.pack(record_without_past(summary)), NEVER
    return history_table(packed)


def _expired(histories: HistoryTable, time: int, limits: HistoryLimits) -> NDArray[np.bool_]:
    """Return a mask of the dead groups that are to be dropped at this time (ms)."""
    if limits.dead_grace_ms is None:
        return np.zeros(len(histories), np.bool_)
    expired: NDArray[np.bool_] = (histories.died != NEVER) & (
        histories.died < time - _GRACE_FACTOR * limits.dead_grace_ms
    )
    return expired


def _drop_expired(histories: HistoryTable, time: int, limits: HistoryLimits) -> HistoryTable:
    expired = _expired(histories, time, limits)
    if not expired.any():
        return histories
    return concat_histories([histories.take(~expired), histories.take(expired).dropped()])


# Events of each group, in log order.


def _events(state: ShardState, read: NewRecords) -> dict[str, list[_Event]]:
    first_commits = _first_commits(state, read)
    if not len(read.records) and not len(read.tombstones) and not len(first_commits):
        return {}
    events: defaultdict[str, list[_Event]] = defaultdict(list)
    with_tombstones = _add_records(events, read.records) | _add_offset_tombstones(events, state, read.tombstones)
    if len(first_commits):
        _add_first_commits(events, state, read.runs, first_commits, with_tombstones)
    for group_events in events.values():
        group_events.sort()
    return events


def _first_commits(state: ShardState, read: NewRecords) -> NDArray[np.intp]:
    """Return the rows of runs whose first commit creates the offset, after the state's position."""
    spans = read.runs.spans
    is_new = read.state_rows < 0
    if spans.reset.any():
        is_new |= spans.reset & (spans.first_position > state.position)
    return np.flatnonzero(is_new & (spans.commits > 0)) if is_new.any() else np.empty(0, np.intp)


def _add_records(events: defaultdict[str, list[_Event]], records: MembershipRecords) -> set[str]:
    """Add the membership records; return the groups that have tombstones among them."""
    if not len(records):
        return set()
    with_tombstones = set()
    columns = zip(
        groups_of(records.keys.to_pylist()),
        records.position.tolist(),
        records.time.tolist(),
        records.values.is_null().to_pylist(),
        strict=True,
    )
    for row, (group, position, time, tombstone) in enumerate(columns):
        events[group].append((position, time, _RECORD, row))
        if tombstone:
            with_tombstones.add(group)
    return with_tombstones


def _add_offset_tombstones(
    events: defaultdict[str, list[_Event]], state: ShardState, tombstones: OffsetTombstones
) -> set[str]:
    """Add the tombstones that removed an offset, and the first commits of these offsets that are new as well.

    Returns the groups concerned.
    """
    rows = np.flatnonzero(tombstones.known)
    groups: set[str] = set()
    if not len(rows):
        return groups
    known = tombstones.take(rows)
    is_new = known.first_position > state.position
    columns = zip(
        decode_keys(known.keys).group.to_pylist(),
        known.position.tolist(),
        known.time.tolist(),
        is_new.tolist(),
        known.first_position.tolist(),
        known.first_time.tolist(),
        rows.tolist(),
        strict=True,
    )
    for group, position, time, new, first_position, first_time, row in columns:
        if new:
            events[group].append((first_position, first_time, _FIRST_COMMIT, -1))
        events[group].append((position, time, _OFFSET_TOMBSTONE, row))
        groups.add(group)
    return groups


def _add_first_commits(
    events: defaultdict[str, list[_Event]],
    state: ShardState,
    runs: Runs,
    first_commits: NDArray[np.intp],
    with_tombstones: set[str],
) -> None:
    """Add the first commits of groups that have other events or are not known to exist.

    A group without tombstones exists from its first event on, so only its first first commit is added.
    """
    first_commits = first_commits[np.argsort(runs.spans.first_position[first_commits], kind="stable")]
    groups = groups_of_commit_keys(runs.keys.take(pa.array(first_commits))).dictionary_encode()
    codes = groups.indices.to_numpy(zero_copy_only=False)
    names = groups.dictionary.cast(pa.string()).to_pylist()
    rows_in_state = find_rows(state.histories.groups, groups.dictionary)
    exists = (rows_in_state >= 0) & (np.append(state.histories.died, 0)[rows_in_state] == NEVER)
    concerned = ~exists | np.array([name in events for name in names], np.bool_)
    add_all = concerned & np.array([name in with_tombstones for name in names], np.bool_)
    is_first_of_group = np.zeros(len(codes), np.bool_)
    is_first_of_group[np.unique(codes, return_index=True)[1]] = True
    selected = add_all[codes] | (concerned[codes] & is_first_of_group)
    rows = first_commits[selected]
    columns = zip(
        codes[selected].tolist(),
        runs.spans.first_position[rows].tolist(),
        runs.spans.first_time[rows].tolist(),
        strict=True,
    )
    for code, position, time in columns:
        events[names[code]].append((position, time, _FIRST_COMMIT, -1))


# One group at a time.


class _Updater:
    """Updates the histories of the groups with events; holds what their updates share."""

    def __init__(self, state: ShardState, read: NewRecords, limits: HistoryLimits) -> None:
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

    def update(self, events: Mapping[str, list[_Event]]) -> HistoryTable:
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

    def apply(self, events: list[_Event]) -> GroupRecord | None:
        """Return the group's record after these events; None if there is nothing to store."""
        for position, time, type_, row in events:
            if type_ is _FIRST_COMMIT and self._is_closed and self._record.current.exists:
                self._gained += 1  # the most frequent case: one more offset of a known group causes no transition
            elif self._joins_operation(time, type_, row):
                self._record.position = position
                self._is_closed = False
                if type_ is _RECORD:
                    self._pending_rows.append(row)
                elif type_ is _FIRST_COMMIT:
                    self._gained += 1
                else:
                    self._remove_offset(row, time)
        self._close()
        return self._record if self._record.current.kind is not None else None

    def _joins_operation(self, time: int, type_: _EventType, row: int) -> bool:
        """Return whether an event belongs to an operation; opens the operation if it is new."""
        continues = time == self._record.time
        if not self._is_closed and (type_ is _FIRST_COMMIT or not continues):
            self._close()
        if type_ is _FIRST_COMMIT and self._record.current.exists:
            self._gained += 1
            return False
        if continues:
            return True
        if type_ is _RECORD and self._updater.values[row] is None and not self._record.current.exists:
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
