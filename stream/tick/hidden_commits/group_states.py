"""Applies hidden membership records, tombstones and pending commits to the driver state of one tick. Pure.

The hidden part of the log is newer than what the job has read of it, so the newest record of each key counts. Event
counts in group histories are not changed: they count what the job has read.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from stream.groups.commits.keys import group_of_commit_key
from stream.groups.commits.run_table import find_rows
from stream.groups.lifecycle.model import DEAD_STATE, TOPICS, GroupHistory, Removal, Transition, TransitionType
from stream.groups.membership.memberships import SIMPLE, Membership, Memberships
from stream.groups.row_order import RowLabels, RowOrder
from stream.groups.shard import MembershipRecords
from stream.tick.hidden_commits.log import NEVER
from stream.tick.hidden_commits.overlay import logged_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stream.groups.driver_state import GroupColumns
    from stream.health.columns import Flags, Ints
    from stream.tick.hidden_commits.log import HiddenLog, HiddenMembership, NewestRecord

_EMPTY: Final = "Empty"


@dataclasses.dataclass(frozen=True, slots=True)
class OverlaidGroups:
    """The driver state with the hidden changes."""

    state: GroupColumns
    fetched: Flags
    """Mask of the rows with a fetched commit."""
    memberships: Mapping[str, Memberships] = dataclasses.field(default_factory=dict)
    """The membership records, with the hidden ones, of the groups that have any."""


class _HiddenMemberships(NamedTuple):
    """The memberships of a group, and what they were computed from."""

    base: Membership | None
    version: int
    memberships: Memberships


class _HistorySources(NamedTuple):
    """The sources of a group's history."""

    history: GroupHistory | None
    membership: Membership | None
    newest: NewestRecord
    is_dead: bool

    def same(self, other: _HistorySources) -> bool:
        return self.history is other.history and self.membership is other.membership and self[2:] == other[2:]


class HiddenGroupStates:
    """Applies hidden changes tick after tick; what did not change stays the same object, as in the driver state."""

    def __init__(self) -> None:
        self._memberships: dict[str, _HiddenMemberships] = {}
        self._histories: dict[str, tuple[_HistorySources, GroupHistory]] = {}
        self._last_order: tuple[RowOrder, bytes, frozenset[str], RowLabels, RowOrder] | None = None

    def apply(self, state: GroupColumns, fetched: Flags, logs: Iterable[HiddenLog]) -> OverlaidGroups:
        """Return the driver state with the changes in `logs`.

        `state` must have the membership records of the groups in question (`GroupColumns.records`); `fetched` says
        which of its rows have a fetched commit.
        """
        logs = [log for log in logs if log.complete and (log.memberships or log.deleted or log.pending)]
        if not logs:
            return OverlaidGroups(state, fetched)
        hidden = {group: each for log in logs for group, each in log.memberships.items() if group in state.records}
        self._memberships = {group: self._joined(group, each, state) for group, each in hidden.items()}
        memberships = dict(state.memberships)
        for group, joined in list(self._memberships.items()):
            membership = joined.memberships.by_group.get(group)
            if group in joined.memberships.faults:  # the group stays as the job has read it
                del self._memberships[group], hidden[group]
            elif membership is None:
                memberships.pop(group, None)
            else:
                memberships[group] = membership
        deleted = _deleted(state, logs)
        histories = self._changed_histories(state, memberships, hidden, deleted, logs)
        pending = frozenset(key for log in logs for key in log.pending)
        changed = dataclasses.replace(state, memberships=memberships, histories=histories, pending=pending)
        changed, fetched = self._without(changed, fetched, deleted.rows)
        return OverlaidGroups(
            changed, fetched, {group: joined.memberships for group, joined in self._memberships.items()}
        )

    def _joined(self, group: str, hidden: HiddenMembership, state: GroupColumns) -> _HiddenMemberships:
        """Join the records of a group that the job has read with the hidden ones."""
        base, last = state.memberships.get(group), self._memberships.get(group)
        if last is not None and last.base is base and last.version == hidden.version:
            return last
        newest = {**state.records[group], **hidden.records}
        memberships = Memberships()
        memberships.apply(_membership_records({key: value for key, value in newest.items() if value is not None}))
        return _HiddenMemberships(base, hidden.version, memberships)

    def _changed_histories(
        self,
        state: GroupColumns,
        memberships: Mapping[str, Membership],
        hidden: Mapping[str, HiddenMembership],
        deleted: _Deleted,
        logs: Iterable[HiddenLog],
    ) -> dict[str, GroupHistory]:
        """Return the group histories, changed where a group has another state now, or is dead."""
        with_offsets = {group_of_commit_key(key) for log in logs for key in log.pending} | deleted.groups_left
        histories, previous, self._histories = dict(state.histories), self._histories, {}
        for group in hidden.keys() | (deleted.newest.keys() & state.histories.keys()):
            newest = max(deleted.newest.get(group, NEVER), hidden[group].newest if group in hidden else NEVER)
            membership = memberships.get(group)
            is_dead = membership is None and group not in with_offsets
            sources = _HistorySources(state.histories.get(group), membership, newest, is_dead)
            last = previous.get(group)
            if last is None or not sources.same(last[0]):
                old = state.memberships.get(group)
                history = (
                    _dead(group, state, deleted, newest)
                    if sources.is_dead
                    else _alive(sources.history, old, membership, newest)
                )
                last = sources, history
            self._histories[group], histories[group] = last, last[1]
        return histories

    def _without(self, state: GroupColumns, fetched: Flags, rows: Ints) -> tuple[GroupColumns, Flags]:
        """Return state and `fetched` without these rows, with the row order of the groups that exist now."""
        groups = frozenset(state.memberships.keys() | state.histories.keys())
        if not len(rows) and groups <= set(state.row_order.groups):
            return state, fetched
        kept = np.ones(len(state.runs), np.bool_)
        kept[rows] = False
        last = self._last_order
        if last is None or last[0] is not state.row_order or last[1] != rows.tobytes() or last[2] != groups:
            mask = pa.array(kept)
            columns = (each.filter(mask).cast(pa.string()).dictionary_encode() for each in (state.group, state.topic))
            group, topic = columns
            labels = RowLabels([(group, topic, state.partition[kept])])
            last = self._last_order = state.row_order, rows.tobytes(), groups, labels, RowOrder(labels, groups)
        labels, row_order = last[3:]
        without = dataclasses.replace(
            state,
            runs=state.runs.take(kept),
            group=labels.group,
            topic=labels.topic,
            partition=labels.partition,
            row_order=row_order,
        )
        return without, fetched[kept]


@dataclasses.dataclass(frozen=True, slots=True)
class _Deleted:
    """The deleted rows of a driver state."""

    rows: Ints
    newest: Mapping[str, NewestRecord]
    """The newest tombstone of each group with one."""
    groups_left: frozenset[str]
    """Those of the changed groups that still have rows."""


def _deleted(state: GroupColumns, logs: Iterable[HiddenLog]) -> _Deleted:
    newest: dict[str, NewestRecord] = {}
    with_memberships: set[str] = set()
    for log in logs:
        with_memberships |= log.memberships.keys()
        for key, tombstone in log.deleted.items():
            group = group_of_commit_key(key)
            newest[group] = max(newest.get(group, tombstone), tombstone)
    logged = logged_rows(state, newest.keys() | with_memberships)
    keys = sorted(key for log in logs for key in log.deleted)
    is_deleted = find_rows(pa.array(keys, pa.binary()), logged.log.runs.keys) >= 0
    groups_left = state.group.take(pa.array(logged.rows[~is_deleted])).unique().to_pylist()
    return _Deleted(logged.rows[is_deleted], newest, frozenset(groups_left))


def _dead(group: str, state: GroupColumns, deleted: _Deleted, newest: NewestRecord) -> GroupHistory:
    """Return the history of a dead group with the evidence of its removal; only an empty group can be deleted."""
    history, membership = state.histories.get(group), state.memberships.get(group)
    if history is not None and history.died is not None:
        return history
    names = state.group.take(pa.array(deleted.rows)).to_pylist()
    rows = deleted.rows[np.array([name == group for name in names], np.bool_)]
    time, expire = state.runs.spans.last_time[rows], state.runs.expire_time[rows]
    removal = Removal(
        kind=SIMPLE if membership is None else membership.kind,
        state=_EMPTY,
        state_time=membership.state_time if membership is not None and membership.state == _EMPTY else None,
        protocol_type=None if membership is None else membership.protocol_type,
        offsets=len(rows),
        topics=tuple(sorted(set(state.topic.take(pa.array(rows)).to_pylist())))[:TOPICS],
        last_commit=int(time.max()) if len(rows) else None,
        first_commit=int(time.min()) if len(rows) else None,
        expire_time=int(expire.max()) if len(rows) and expire.max() >= 0 else None,
        time=newest.time,
    )
    death = Transition(TransitionType.DEAD, newest.time, newest.position, live=True, removal=removal)
    if history is None:
        history = GroupHistory(removal.kind, None, None, None, None, {}, ())
    return dataclasses.replace(
        history, state=DEAD_STATE, since=newest.time, died=newest.time, transitions=(*history.transitions, death)
    )


def _alive(
    history: GroupHistory | None, old: Membership | None, new: Membership | None, newest: NewestRecord
) -> GroupHistory:
    """Return the history of a group that exists, with its new state since its newest record if that differs."""
    kind, state = (SIMPLE, _EMPTY) if new is None else (new.kind, new.state)
    if history is None:
        return GroupHistory(kind, state, newest.time, newest.time, None, {}, ())
    if _state_fields(old) == _state_fields(new):
        return history
    return dataclasses.replace(history, kind=kind, state=state, since=newest.time, died=None)


def _state_fields(membership: Membership | None) -> tuple[object, ...]:
    if membership is None:
        return ()
    return (
        membership.kind,
        membership.state,
        membership.generation,
        membership.group_epoch,
        membership.assignment_epoch,
        membership.member_names,
    )


def _membership_records(records: Mapping[bytes, bytes]) -> MembershipRecords:
    none = np.zeros(len(records), np.int64)
    return MembershipRecords(
        pa.array(list(records), pa.binary()), pa.array(list(records.values()), pa.binary()), none, none
    )
