"""(fleet, what the log says behind the last stable offsets) -> the fleet as its coordinators have it.

Owns how memberships, deleted offsets and ended groups that a transaction hides come into the fleet; asks nothing. What
the log says there is newer than what the job has read of it, so the newest record of each key counts. How often a group
was rebalanced is not told here: counters follow the job.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from stream.groups.commits.keys import group_of_offset
from stream.groups.commits.run_table import find_rows
from stream.groups.lifecycle.model import DEAD_STATE, TOPICS, GroupHistory, Removal, Transition, TransitionType
from stream.groups.membership.memberships import SIMPLE, Membership, Memberships
from stream.groups.row_order import RowLabels, RowOrder
from stream.groups.shard import MembershipRecords
from stream.tick.hidden_commits.log import NEVER
from stream.tick.hidden_commits.overlay import rows_of_groups

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stream.groups.driver_state import GroupColumns
    from stream.health.columns import Flags, Ints
    from stream.tick.hidden_commits.log import HiddenLog, HiddenMembership, NewestRecord

_EMPTY: Final = "Empty"


@dataclasses.dataclass(frozen=True, slots=True)
class OverlaidGroups:
    """The fleet, which of its rows were asked for, and the records of the groups whose membership is told by them."""

    fleet: GroupColumns
    asked: Flags
    members: Mapping[str, Memberships] = dataclasses.field(default_factory=dict)


class _Told(NamedTuple):
    base: Membership | None
    version: int
    memberships: Memberships


class _Seen(NamedTuple):
    """What the life of a group was restated from."""

    life: GroupHistory | None
    membership: Membership | None
    newest: NewestRecord
    ended: bool

    def same(self, other: _Seen) -> bool:
        return self.life is other.life and self.membership is other.membership and self[2:] == other[2:]


class HiddenGroupStates:
    """Restates fleets, tick after tick; what did not change stays the same object, as it does in a fleet."""

    def __init__(self) -> None:
        self._told: dict[str, _Told] = {}
        self._lives: dict[str, tuple[_Seen, GroupHistory]] = {}
        self._named: tuple[RowOrder, bytes, frozenset[str], RowLabels, RowOrder] | None = None

    def put(self, fleet: GroupColumns, asked: Flags, logs: Iterable[HiddenLog]) -> OverlaidGroups:
        """Restate a fleet, which must have the records of the groups in question (`GroupColumns.records`)."""
        logs = [log for log in logs if log.complete and (log.memberships or log.deleted or log.pending)]
        if not logs:
            return OverlaidGroups(fleet, asked)
        hidden = {group: each for log in logs for group, each in log.memberships.items() if group in fleet.records}
        self._told = {group: self._tell(group, each, fleet) for group, each in hidden.items()}
        memberships = dict(fleet.memberships)
        for group, told in list(self._told.items()):
            known = told.memberships.of.get(group)
            if group in told.memberships.faults:  # then it stays as the job has read it
                del self._told[group], hidden[group]
            elif known is None:
                memberships.pop(group, None)
            else:
                memberships[group] = known
        gone = _gone(fleet, logs)
        lives = self._restated_lives(fleet, memberships, hidden, gone, logs)
        pending = frozenset(key for log in logs for key in log.pending)
        restated = dataclasses.replace(fleet, memberships=memberships, lives=lives, pending=pending)
        restated, asked = self._without(restated, asked, gone.rows)
        return OverlaidGroups(restated, asked, {group: told.memberships for group, told in self._told.items()})

    def _tell(self, group: str, hidden: HiddenMembership, fleet: GroupColumns) -> _Told:
        """Join the records that the job has read of a group to those that it has not."""
        base, before = fleet.memberships.get(group), self._told.get(group)
        if before is not None and before.base is base and before.version == hidden.version:
            return before
        living = {**fleet.records[group], **hidden.records}
        records = {key: value for key, value in living.items() if value is not None}
        memberships = Memberships()
        memberships.apply(_records(records))
        return _Told(base, hidden.version, memberships)

    def _restated_lives(
        self,
        fleet: GroupColumns,
        memberships: Mapping[str, Membership],
        hidden: Mapping[str, HiddenMembership],
        gone: _Gone,
        logs: Iterable[HiddenLog],
    ) -> dict[str, GroupHistory]:
        """Restate the lives of groups that have another state now, or none any more."""
        kept = {group_of_offset(key) for log in logs for key in log.pending} | gone.left
        lives, before, self._lives = dict(fleet.lives), self._lives, {}
        for group in hidden.keys() | (gone.newest.keys() & fleet.lives.keys()):
            newest = max(gone.newest.get(group, NEVER), hidden[group].newest if group in hidden else NEVER)
            now = memberships.get(group)
            seen = _Seen(fleet.lives.get(group), now, newest, now is None and group not in kept)
            known = before.get(group)
            if known is None or not seen.same(known[0]):
                was = fleet.memberships.get(group)
                life = _ended(group, fleet, gone, newest) if seen.ended else _moved(seen.life, was, now, newest)
                known = seen, life
            self._lives[group], lives[group] = known, known[1]
        return lives

    def _without(self, fleet: GroupColumns, asked: Flags, rows: Ints) -> tuple[GroupColumns, Flags]:
        """Leave out rows, and bring names and ranks up to date."""
        groups = frozenset(fleet.memberships.keys() | fleet.lives.keys())
        if not len(rows) and groups <= set(fleet.ranks.groups):
            return fleet, asked
        kept = np.ones(len(fleet.runs), np.bool_)
        kept[rows] = False
        known = self._named
        if known is None or known[0] is not fleet.ranks or known[1] != rows.tobytes() or known[2] != groups:
            mask = pa.array(kept)
            columns = (each.filter(mask).cast(pa.string()).dictionary_encode() for each in (fleet.group, fleet.topic))
            group, topic = columns
            names = RowLabels([(group, topic, fleet.partition[kept])])
            known = self._named = fleet.ranks, rows.tobytes(), groups, names, RowOrder(names, groups)
        names, ranks = known[3:]
        runs = fleet.runs.take(kept)
        named = {"group": names.group, "topic": names.topic, "partition": names.partition, "ranks": ranks}
        return dataclasses.replace(fleet, runs=runs, **named), asked[kept]


@dataclasses.dataclass(frozen=True, slots=True)
class _Gone:
    """The rows of a fleet that were deleted; the newest tombstone of each group, and which of these have rows left."""

    rows: Ints
    newest: Mapping[str, NewestRecord]
    left: frozenset[str]


def _gone(fleet: GroupColumns, logs: Iterable[HiddenLog]) -> _Gone:
    newest: dict[str, NewestRecord] = {}
    touched: set[str] = set()
    for log in logs:
        touched |= log.memberships.keys()
        for key, told in log.deleted.items():
            group = group_of_offset(key)
            newest[group] = max(newest.get(group, told), told)
    known = rows_of_groups(fleet, newest.keys() | touched)
    deleted = sorted(key for log in logs for key in log.deleted)
    is_gone = find_rows(pa.array(deleted, pa.binary()), known.log.runs.keys) >= 0
    left = fleet.group.take(pa.array(known.rows[~is_gone])).unique().to_pylist()
    return _Gone(known.rows[is_gone], newest, frozenset(left))


def _ended(group: str, fleet: GroupColumns, gone: _Gone, newest: NewestRecord) -> GroupHistory:
    """Return the life of a group that is gone, with the evidence of its end: only an empty group can be deleted."""
    life, known = fleet.lives.get(group), fleet.memberships.get(group)
    if life is not None and life.died is not None:
        return life
    rows = gone.rows[np.array([name == group for name in fleet.group.take(pa.array(gone.rows)).to_pylist()], np.bool_)]
    time, expire = fleet.runs.spans.last_time[rows], fleet.runs.expire_time[rows]
    ending = Removal(
        kind=SIMPLE if known is None else known.kind,
        state=_EMPTY,
        state_time=known.state_time if known is not None and known.state == _EMPTY else None,
        protocol_type=None if known is None else known.protocol_type,
        offsets=len(rows),
        topics=tuple(sorted(set(fleet.topic.take(pa.array(rows)).to_pylist())))[:TOPICS],
        last_commit=int(time.max()) if len(rows) else None,
        first_commit=int(time.min()) if len(rows) else None,
        expire_time=int(expire.max()) if len(rows) and expire.max() >= 0 else None,
        time=newest.time,
    )
    end = Transition(TransitionType.DEAD, newest.time, newest.position, live=True, ending=ending)
    if life is None:
        life = GroupHistory(ending.kind, None, None, None, None, {}, ())
    return dataclasses.replace(
        life, state=DEAD_STATE, since=newest.time, died=newest.time, transitions=(*life.transitions, end)
    )


def _moved(
    life: GroupHistory | None, before: Membership | None, now: Membership | None, newest: NewestRecord
) -> GroupHistory:
    """Return the life of a group that lives on, since its newest record in another state if it differs."""
    kind, state = (SIMPLE, _EMPTY) if now is None else (now.kind, now.state)
    if life is None:
        return GroupHistory(kind, state, newest.time, newest.time, None, {}, ())
    if _standing(before) == _standing(now):
        return life
    return dataclasses.replace(life, kind=kind, state=state, since=newest.time, died=None)


def _standing(known: Membership | None) -> tuple[object, ...]:
    if known is None:
        return ()
    return known.kind, known.state, known.generation, known.group_epoch, known.assignment_epoch, known.member_names


def _records(living: Mapping[bytes, bytes]) -> MembershipRecords:
    none = np.zeros(len(living), np.int64)
    return MembershipRecords(
        pa.array(list(living), pa.binary()), pa.array(list(living.values()), pa.binary()), none, none
    )
