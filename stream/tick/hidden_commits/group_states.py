"""Applies hidden membership records, tombstones and pending commits to the driver state of one tick. Pure.

The hidden part of the log is newer than what the job has read of it, so the newest record of each key counts. Event
counts in group histories are not changed: they count what the job has read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np
import pyarrow as pa

from stream.groups.commits.run_table import group_of_commit_key
from stream.groups.driver_state import GroupColumns
from stream.groups.lifecycle.model import DEAD_STATE, TOPICS, GroupHistory, Removal, Transition, TransitionType
from stream.groups.membership.memberships import SIMPLE, Membership, Memberships
from stream.groups.row_order import RowLabels, RowOrder
from stream.groups.shard import MembershipRecords
from stream.groups.short_cache import is_same, keep_last
from stream.health.columns import Flags, Ints
from stream.tick.hidden_commits.overlay import HiddenCommits, logged_rows, with_rows
from stream.tick.hidden_commits.tail import NEVER, HiddenMembership, HiddenTail, NewestRecord

_EMPTY: Final = "Empty"


class HiddenGroupStates:
    """Applies hidden changes tick after tick; what did not change stays the same object, as in the driver state."""

    def __init__(self) -> None:
        # By group: what the job has read, the version of what is hidden, and the memberships from both.
        self._memberships: dict[str, tuple[Membership | None, int, Memberships]] = {}
        # By group: what its history was made from, and the history.
        self._histories: dict[str, tuple[tuple[object, ...], GroupHistory]] = {}

    def apply(self, state: GroupColumns, is_hidden: Flags, tails: Sequence[HiddenTail]) -> HiddenCommits:
        """Return the driver state with the changes in `tails`; `is_hidden` says which of its rows have a hidden commit.

        Of a group with members, `state` must have the membership records (`GroupColumns.records`).
        """
        hidden = {
            group: each
            for tail in tails
            for group, each in tail.memberships.items()
            if group in state.records or not (group in state.memberships or group in state.faults)
        }
        self._memberships = {group: self._joined(group, each, state) for group, each in hidden.items()}
        memberships = dict(state.memberships)
        for group, (_, _, joined) in list(self._memberships.items()):
            membership = joined.by_group.get(group)
            if group in joined.faults:  # the group stays as the job has read it
                del self._memberships[group], hidden[group]
            elif membership is None:
                memberships.pop(group, None)
            else:
                memberships[group] = membership
        pending = {key: record for tail in tails for key, record in tail.pending.items()}
        deleted, appeared = _deleted(state, tails), _appeared(state, is_hidden, memberships, pending)
        with_offsets = {group_of_commit_key(key) for key in pending} | deleted.groups_left | appeared.keys()
        histories = self._changed_histories(
            state, memberships, hidden=hidden, deleted=deleted, appeared=appeared, with_offsets=with_offsets
        )
        if not (hidden or pending or len(deleted.rows) or self._histories):
            return HiddenCommits(state, is_hidden)
        changed = dataclasses.replace(state, memberships=memberships, histories=histories, pending=frozenset(pending))
        joined_by_group = {group: joined for group, (_, _, joined) in self._memberships.items()}
        groups = frozenset(memberships.keys() | histories.keys())
        if not len(deleted.rows) and groups <= set(state.row_order.groups):
            return HiddenCommits(changed, is_hidden, memberships=joined_by_group)
        kept = np.ones(len(state.runs), np.bool_)
        kept[deleted.rows] = False
        changed = with_rows(changed, state.runs.take(kept), _order_of(state.row_order, kept.tobytes(), groups))
        return HiddenCommits(changed, is_hidden[kept], memberships=joined_by_group)

    def _joined(
        self, group: str, hidden: HiddenMembership, state: GroupColumns
    ) -> tuple[Membership | None, int, Memberships]:
        """Join the records of a group that the job has read with the hidden ones."""
        base, last = state.memberships.get(group), self._memberships.get(group)
        if last is not None and last[0] is base and last[1] == hidden.version:
            return last
        newest = {**state.records.get(group, {}), **hidden.records}
        records = {key: value for key, value in newest.items() if value is not None}
        keys, values = pa.array(list(records), pa.binary()), pa.array(list(records.values()), pa.binary())
        memberships, none = Memberships(), np.zeros(len(records), np.int64)
        memberships.apply(MembershipRecords(keys, values, none, none))
        return base, hidden.version, memberships

    def _changed_histories(
        self,
        state: GroupColumns,
        memberships: Mapping[str, Membership],
        *,
        hidden: Mapping[str, HiddenMembership],
        deleted: _Deleted,
        appeared: Mapping[str, NewestRecord],
        with_offsets: AbstractSet[str],
    ) -> dict[str, GroupHistory]:
        """Return the group histories, changed where a group has another state now, is dead, or exists again.

        Groups `with_offsets` are alive without a membership, too.
        """
        histories, previous, self._histories = dict(state.histories), self._histories, {}
        for group in hidden.keys() | (deleted.newest.keys() & state.histories.keys()) | appeared.keys():
            newest = max(deleted.newest.get(group, NEVER), hidden[group].newest if group in hidden else NEVER)
            newest = appeared.get(group, newest)
            membership = memberships.get(group)
            history, is_dead = state.histories.get(group), membership is None and group not in with_offsets
            last, sources = previous.get(group), (history, membership, newest, is_dead)
            if last is None or not is_same(last[0], sources):
                old = state.memberships.get(group)
                last = (
                    sources,
                    _dead(group, state, deleted, newest) if is_dead else _alive(history, old, membership, newest),
                )
            self._histories[group], histories[group] = last, last[1]
        return histories


@keep_last
def _order_of(order: RowOrder, kept: bytes, groups: frozenset[str]) -> RowOrder:
    """Return the order of those rows that are `kept`, a byte per row, and of the groups that exist now."""
    labels, rows = order.labels, np.frombuffer(kept, np.bool_)
    return RowOrder(RowLabels([labels.take(rows)], is_sorted=labels.is_sorted), groups)


@dataclasses.dataclass(frozen=True, slots=True)
class _Deleted:
    """The deleted rows of a driver state."""

    rows: Ints
    newest: Mapping[str, NewestRecord]
    """The newest tombstone of each group with one."""
    groups_left: frozenset[str]
    """Those of the changed groups that still have rows."""


def _deleted(state: GroupColumns, tails: Iterable[HiddenTail]) -> _Deleted:
    newest: dict[str, NewestRecord] = {}
    with_memberships: set[str] = set()
    tombstones: dict[bytes, NewestRecord] = {}
    for tail in tails:
        with_memberships |= tail.memberships.keys()
        tombstones |= tail.deleted
    for key, tombstone in tombstones.items():
        group = group_of_commit_key(key)
        newest[group] = max(newest.get(group, tombstone), tombstone)
    logged = logged_rows(state, newest.keys() | with_memberships)
    row, last_position = logged.find(pa.array(tombstones, pa.binary()))
    position = np.array([tombstone.position for tombstone in tombstones.values()], np.int64)
    is_deleted = np.zeros(len(logged.rows), np.bool_)
    is_deleted[row[(row >= 0) & (last_position < position)]] = True
    groups_left = state.group.take(pa.array(logged.rows[~is_deleted])).unique().to_pylist()
    return _Deleted(logged.rows[is_deleted], newest, frozenset(groups_left))


def _appeared(
    state: GroupColumns, is_hidden: Flags, memberships: Mapping[str, Membership], pending: Mapping[bytes, NewestRecord]
) -> dict[str, NewestRecord]:
    """Return the groups without members that the job does not know, or knows as dead, with their first hidden commits.

    The coordinator creates a group with its first commit, also while the transaction of this commit is open.
    """

    def is_unknown(name: str) -> bool:
        history = state.histories.get(name)
        return name not in memberships and (history is None or history.died is not None)

    names = state.group.dictionary.to_pylist()
    indices = state.group.indices.to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(is_hidden & np.array([*map(is_unknown, names), False], np.bool_)[indices])
    spans = state.runs.spans
    times_and_positions = zip(spans.first_time[rows].tolist(), spans.first_position[rows].tolist(), strict=True)
    commits = [
        *zip(
            (names[index] for index in indices[rows].tolist()),
            map(NewestRecord._make, times_and_positions),
            strict=True,
        ),
        *((name, commit) for key, commit in pending.items() if is_unknown(name := group_of_commit_key(key))),
    ]
    first: dict[str, NewestRecord] = {}
    for name, commit in commits:
        first[name] = min(first.get(name, commit), commit)
    return first


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
    if history.died is None and _state_fields(old) == _state_fields(new):
        return history
    return dataclasses.replace(history, kind=kind, state=state, since=newest.time, died=None)


def _state_fields(membership: Membership | None) -> tuple[object, ...]:
    if membership is None:
        return ()
    epochs = membership.generation, membership.group_epoch, membership.assignment_epoch
    return membership.kind, membership.state, *epochs, membership.member_names
