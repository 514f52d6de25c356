"""Tells the lives of a shard's groups on: what was read, group by group and in log order, through the rules of life.

Only groups that something can have happened to are looked at: those with membership records or offset tombstones in
what was read, and those of new commits that are not known to live. A batch of commits of known groups costs nothing
here. What a group was is rebuilt from the state's own records and runs; only the rest is remembered (`remembered`).
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
from stream.groups.lifecycle import record as remembered
from stream.groups.lifecycle.record import GroupRecord
from stream.groups.lifecycle.table import HistoryTable, concat_histories, history_table, no_histories
from stream.groups.lifecycle.transitions import close_operation, open_operation, record_without_past
from stream.groups.membership.summary import MembershipSummaries, groups_of, record_type_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from stream.groups.commits.run_table import Runs
    from stream.groups.commits.tombstones import OffsetTombstones
    from stream.groups.lifecycle.transitions import HistoryLimits
    from stream.groups.shard import MembershipRecords, ShardState

_LINGER: Final = 2
"""Dead groups stay in the state for this many times the grace. Rebirth within the grace is told by the record's own
time, and the clocks of brokers differ: with room between the two, when the state was tidied cannot show."""


@dataclasses.dataclass(frozen=True, slots=True)
class NewRecords:
    """What was read and the state has not seen: the membership records and tombstones in log order, and the runs."""

    records: MembershipRecords
    tombstones: OffsetTombstones
    runs: Runs
    # For each run its row in the state, -1 where it has none.
    state_rows: NDArray[np.int64]
    # The newest timestamp of a record, also of those that were read before.
    time: int


class _Kind(enum.IntEnum):
    BIRTH = 0
    LOSS = 1
    RECORD = 2


_BIRTH, _LOSS, _RECORD = _Kind.BIRTH, _Kind.LOSS, _Kind.RECORD
_NOBODY: Final = frozenset[str]()

_Event = tuple[int, int, _Kind, int]
"""Position, time (ms), kind, and row in its table."""


def update_histories(state: ShardState, read: NewRecords, keeping: HistoryLimits) -> tuple[HistoryTable, HistoryTable]:
    """Give the lives after what was read, and those that changed."""
    events = _events(state, read)
    told = _Teller(state, read, keeping).update(events) if events else no_histories()
    told = _without_over(told, read.time, keeping)
    over = state.histories.take(_over(state.histories, read.time, keeping)) if len(state.histories) else no_histories()
    if not len(told) and not len(over):
        return state.histories, told
    changed = concat_histories([told, over.take(find_rows(told.groups, over.groups) < 0).forgotten()])
    untouched = state.histories.take(find_rows(changed.groups, state.histories.groups) < 0)
    return concat_histories(
        [untouched, changed.take(changed.values.is_valid().to_numpy(zero_copy_only=False))]
    ), changed


def build_histories(state: ShardState) -> HistoryTable:
    """Give the lives of a state that has none, for it was kept before lives were: all groups as they are."""
    outlines = MembershipSummaries()
    outlines.apply(state.records)
    packed: dict[str, tuple[bytes | None, int]] = {}
    for name in sorted({*outlines.groups(), *decode_keys(state.runs.keys).group.drop_null().unique().to_pylist()}):
        outline = outlines.get(name)
        names = frozenset() if outline is None else outline.names
        packed[name] = remembered.pack(record_without_past(outline), names), NEVER
    return history_table(packed)


def _over(lives: HistoryTable, time: int, keeping: HistoryLimits) -> NDArray[np.bool_]:
    """Say which are of dead groups whose grace is long over."""
    if keeping.dead_grace_ms is None:
        return np.zeros(len(lives), np.bool_)
    over: NDArray[np.bool_] = (lives.died != NEVER) & (lives.died < time - _LINGER * keeping.dead_grace_ms)
    return over


def _without_over(told: HistoryTable, time: int, keeping: HistoryLimits) -> HistoryTable:
    over = _over(told, time, keeping)
    if not over.any():
        return told
    return concat_histories([told.take(~over), told.take(over).forgotten()])


# What happened to whom, in log order.


def _events(state: ShardState, read: NewRecords) -> dict[str, list[_Event]]:
    births = _births(state, read)
    if not len(read.records) and not len(read.tombstones) and not len(births):
        return {}
    events: defaultdict[str, list[_Event]] = defaultdict(list)
    endings = _add_records(events, read.records) | _add_losses(events, state, read.tombstones)
    if len(births):
        _add_births(events, state, read.runs, births, endings)
    for mine in events.values():
        mine.sort()
    return events


def _births(state: ShardState, read: NewRecords) -> NDArray[np.intp]:
    """Rows of the runs that begin the life of their key, after the state's position."""
    spans = read.runs.spans
    anew = read.state_rows < 0
    if spans.reset.any():
        anew |= spans.reset & (spans.first_position > state.position)
    return np.flatnonzero(anew & (spans.commits > 0)) if anew.any() else np.empty(0, np.intp)


def _add_records(events: defaultdict[str, list[_Event]], records: MembershipRecords) -> set[str]:
    """Add the membership records; give the groups that have tombstones among them."""
    if not len(records):
        return set()
    gone = set()
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
            gone.add(group)
    return gone


def _add_losses(events: defaultdict[str, list[_Event]], state: ShardState, forgotten: OffsetTombstones) -> set[str]:
    """Add the tombstones that ended something, and the beginnings of what they ended where those are new too.

    Give the groups concerned.
    """
    rows = np.flatnonzero(forgotten.known)
    gone: set[str] = set()
    if not len(rows):
        return gone
    mine = forgotten.take(rows)
    begun = mine.first_position > state.position
    columns = zip(
        decode_keys(mine.keys).group.to_pylist(),
        mine.position.tolist(),
        mine.time.tolist(),
        begun.tolist(),
        mine.first_position.tolist(),
        mine.first_time.tolist(),
        rows.tolist(),
        strict=True,
    )
    for group, position, time, new, first_position, first_time, row in columns:
        if new:
            events[group].append((first_position, first_time, _BIRTH, -1))
        events[group].append((position, time, _LOSS, row))
        gone.add(group)
    return gone


def _add_births(
    events: defaultdict[str, list[_Event]], state: ShardState, runs: Runs, births: NDArray[np.intp], endings: set[str]
) -> None:
    """Add the first commits of keys, where the group is looked at anyway or is not known to live.

    A group in which nothing ends lives from its first one on: there the others change nothing.
    """
    births = births[np.argsort(runs.spans.first_position[births], kind="stable")]
    groups = groups_of_commit_keys(runs.keys.take(pa.array(births))).dictionary_encode()
    codes = groups.indices.to_numpy(zero_copy_only=False)
    names = groups.dictionary.cast(pa.string()).to_pylist()
    known = find_rows(state.histories.groups, groups.dictionary)
    living = (known >= 0) & (np.append(state.histories.died, 0)[known] == NEVER)
    concerned = ~living | np.array([name in events for name in names], np.bool_)
    each = concerned & np.array([name in endings for name in names], np.bool_)
    first = np.zeros(len(codes), np.bool_)
    first[np.unique(codes, return_index=True)[1]] = True
    chosen = each[codes] | (concerned[codes] & first)
    rows = births[chosen]
    columns = zip(
        codes[chosen].tolist(),
        runs.spans.first_position[rows].tolist(),
        runs.spans.first_time[rows].tolist(),
        strict=True,
    )
    for code, position, time in columns:
        events[names[code]].append((position, time, _BIRTH, -1))


# One group at a time.


class _Teller:
    """What the groups that are looked at were, and the walk through what happened to each."""

    def __init__(self, state: ShardState, read: NewRecords, keeping: HistoryLimits) -> None:
        self._state = state
        self.keeping = keeping
        self.outlines = MembershipSummaries()
        self.keys: list[bytes] = read.records.keys.to_pylist()
        self.values: list[bytes | None] = read.records.values.to_pylist()
        gone = read.tombstones
        self.topics: list[str] = decode_keys(gone.keys).topic.to_pylist() if len(gone) else []
        self.commit_times: list[int] = gone.last_time.tolist()
        self.expire_times: list[int] = gone.expire_time.tolist()
        self._looked_at: list[str] = []
        self._offsets: Counter[str] | None = None

    def update(self, events: Mapping[str, list[_Event]]) -> HistoryTable:
        """Give the lives that changed; forgotten where there is nothing to remember."""
        self._looked_at = list(events)
        self._recall()
        known = self._packed()
        told: dict[str, tuple[bytes | None, int]] = {}
        for group, mine in events.items():
            before = known.get(group)
            walk = _Walk(group, before, self)
            life = walk.through(mine)
            after = None if life is None else remembered.pack(life, walk.names)
            if after != before:
                died = None if life is None else life.now.died
                told[group] = after, NEVER if died is None else died
        return history_table(told)

    def offsets(self, group: str) -> int:
        """How many offsets a group had in the state; all are counted when the first is asked for."""
        if self._offsets is None:
            names = pa.array([name.encode() for name in self._looked_at], pa.binary())
            rows = find_rows(names, groups_of_commit_keys(self._state.runs.keys))
            counts = np.bincount(rows[rows >= 0], minlength=len(names))
            self._offsets = Counter(dict(zip(self._looked_at, counts.tolist(), strict=True)))
        return self._offsets[group]

    def _recall(self) -> None:
        """Bring the outlines to where the state stands."""
        records = self._state.records
        if len(records):
            wanted = set(self._looked_at)
            mine = np.array([group in wanted for group in groups_of(records.keys.to_pylist())], np.bool_)
            if mine.any():
                self.outlines.apply(records.take(mine))

    def _packed(self) -> dict[str, bytes]:
        lives = self._state.histories
        names = self._looked_at
        rows = find_rows(lives.groups, pa.array([name.encode() for name in names], pa.binary()))
        found = np.flatnonzero(rows >= 0)
        packed = lives.values.take(pa.array(rows[found])).to_pylist()
        return {names[at]: value for at, value in zip(found.tolist(), packed, strict=True)}


_TARGETS: Final = frozenset((6, 12, 20))
"""Record types by which the newer kinds of groups get a target assignment."""


class _Walk:
    """One group, through the events of a batch."""

    def __init__(self, group: str, packed: bytes | None, teller: _Teller) -> None:
        self._group = group
        self._teller = teller
        self._look()
        self._life = GroupRecord() if packed is None else remembered.unpack(packed, self.names)
        self._had_offsets = self._life.now.alive
        # Offsets more than the group had in the state; records of the newest operation that are not in the outline yet.
        self._gained = 0
        self._fresh: list[int] = []
        self._drawn = True

    def _look(self) -> None:
        """Take the group as its records show it, and the digests of the members that it has now."""
        self._outline = outline = self._teller.outlines.get(self._group)
        self.names: frozenset[str] = _NOBODY if outline is None else outline.names

    def through(self, events: list[_Event]) -> GroupRecord | None:
        """Tell the group's life through these events; None where nothing is to be remembered."""
        for position, time, kind, row in events:
            if kind is _BIRTH and self._drawn and self._life.now.alive:
                self._gained += 1  # by far the most: a further offset of a living group is no event
            elif self._takes(time, kind, row):
                self._life.position = position
                self._drawn = False
                if kind is _RECORD:
                    self._fresh.append(row)
                elif kind is _BIRTH:
                    self._gained += 1
                else:
                    self._lose(row, time)
        self._draw()
        return self._life if self._life.now.kind is not None else None

    def _takes(self, time: int, kind: _Kind, row: int) -> bool:
        """Whether an event belongs to an operation; opens that."""
        goes_on = time == self._life.time
        if not self._drawn and (kind is _BIRTH or not goes_on):
            self._draw()
        if kind is _BIRTH and self._life.now.alive:
            self._gained += 1
            return False
        if goes_on:
            return True
        if kind is _RECORD and self._teller.values[row] is None and not self._life.now.alive:
            return False  # a tombstone says nothing of a group that is not there
        self._life = open_operation(self._life, time, self.names, self._teller.keeping)
        return True

    def _lose(self, row: int, time: int) -> None:
        told = self._teller
        self._gained -= 1
        self._life.losses = self._life.losses.plus(
            told.topics[row], told.commit_times[row], told.expire_times[row], time
        )

    def _draw(self) -> None:
        """Bring the newest operation up to date."""
        if self._drawn:
            return
        self._drawn = True
        if self._fresh:
            self._note()
        has_offsets = self._outline is None and self._has_offsets()
        close_operation(self._life, self._outline, has_offsets=has_offsets, keeping=self._teller.keeping)

    def _note(self) -> None:
        """Take the records of the newest operation in."""
        told = self._teller
        for row in self._fresh:
            key, value = told.keys[row], told.values[row]
            if value is not None and record_type_of(key) in _TARGETS:
                self._life.assigned = True
            told.outlines.note(self._group, key, value)
        self._fresh = []
        self._look()

    def _has_offsets(self) -> bool:
        had = self._teller.offsets(self._group) if self._had_offsets and self._gained <= 0 else 0
        return had + self._gained > 0
