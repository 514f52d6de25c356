"""The memory of rows (group, topic, partition) over the ticks: one column per remembered number.

Each part of the memory is a dataclass of columns with a module of its own, which says how a tick changes them. This
module keeps the parts aligned with the rows of each tick, and stores them for the next process. Between two ticks they
are packed (`stream.health.packed_columns`): most rows hold the default in most columns.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from stream.health import stored_rows
from stream.health.columns import find_keys
from stream.health.features.memory import (
    answers,
    forgotten,
    habit,
    jumps,
    own_deletes,
    rest,
    split,
    turns,
    unsubscribed,
)
from stream.health.features.memory.answers import AnswerMemory
from stream.health.features.memory.forgotten import ForgottenMemory
from stream.health.features.memory.habit import HabitMemory
from stream.health.features.memory.jumps import JumpMemory
from stream.health.features.memory.memory_columns import MemoryColumns
from stream.health.features.memory.own_deletes import OwnDeletesMemory
from stream.health.features.memory.rest import RestMemory
from stream.health.features.memory.split import SplitMemory
from stream.health.features.memory.turns import TurnMemory
from stream.health.features.memory.unsubscribed import UnsubscribedMemory
from stream.health.packed_columns import PackedTable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from stream.health.columns import Flags, Ints
    from stream.health.features.end_history import EndHistory
    from stream.health.features.lag import Lag
    from stream.health.inputs import HealthInputs

_Columns = TypeVar("_Columns", bound=MemoryColumns)
_Place = tuple[str, str, int]
"""Group, topic and partition."""
_MOST_GONE: Final = 10_000
"""Rows that are remembered after they have gone, because the broker removed their offsets; the oldest are dropped."""


@dataclasses.dataclass(frozen=True, slots=True)
class Remembered:
    """The memory of the rows of one tick; one element per row, unless a field says otherwise."""

    last_read: Flags
    """The group commits the offset of the last record it has read, see `rest`."""
    jumps: JumpMemory
    """With the last jump of each row."""
    turns: TurnMemory
    """How often the offset went back and forth."""
    split_since: Ints
    """Since when the members of the group subscribe to different topics (ms); -1: they do not."""
    forgotten: Ints
    """When the broker removed the offset before its time (ms); -1: never."""
    removed: ForgottenMemory
    """When and how it was last removed."""
    known_at: Ints
    """When the end of the partition was last known, or when the row was first seen (ms)."""
    longest_pause: Ints
    """The longest of the last similar pauses of a batch (ms); -1: none has been seen."""
    habit_since: Ints
    """Since when a row is observed that looks like a batch whose habit is not known yet (ms)."""
    habit_until: Ints
    """Until when such a row is not judged (ms); -1 for all other rows."""
    skipped: Ints
    """Per group: the number of offsets that it has passed without reading them, since the process started."""
    deletes_own: Flags
    """The group deletes the records that it has read, as far as is known, see `own_deletes`."""
    unsubscribed: UnsubscribedMemory
    """Since and until when the members did not subscribe to the topic."""
    loss_unproven: Flags
    """Such a row may have a newer commit, which the log start has followed."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Parts:
    """All parts of the memory. The name of a part is the prefix under which its columns are stored."""

    rest: RestMemory
    jump: JumpMemory
    answer: AnswerMemory
    turn: TurnMemory
    split: SplitMemory
    forgotten: ForgottenMemory
    habit: HabitMemory
    own_deletes: OwnDeletesMemory
    unsubscribed: UnsubscribedMemory

    @classmethod
    def empty(cls, rows: int) -> _Parts:
        """Return the memory of rows that have never been observed."""
        return cls(
            RestMemory.empty(rows),
            JumpMemory.empty(rows),
            AnswerMemory.empty(rows),
            TurnMemory.empty(rows),
            SplitMemory.empty(rows),
            ForgottenMemory.empty(rows),
            HabitMemory.empty(rows),
            OwnDeletesMemory.empty(rows),
            UnsubscribedMemory.empty(rows),
        )

    def columns(self) -> dict[str, Ints]:
        """Return all columns by name."""
        parts = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: column for prefix, part in parts.items() for name, column in _named(prefix, part).items()}

    def take(self, position: Ints) -> _Parts:
        """Return the memory of the rows at these positions; that of rows at -1 is empty."""
        empty = _Parts.empty(len(position))
        names = [field.name for field in dataclasses.fields(self)]
        return _Parts(**{name: _taken(getattr(self, name), getattr(empty, name), position) for name in names})

    @classmethod
    def restore(cls, rows: int, stored: stored_rows.StoredRows | None) -> _Parts:
        """Return the stored memory of a number of rows."""
        empty = cls.empty(rows)
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(**{name: _restored(getattr(empty, name), name, stored) for name in names})


_TABLES: Final[Mapping[type, Collection[str]]] = dict.fromkeys(
    (
        _Parts,
        RestMemory,
        JumpMemory,
        AnswerMemory,
        TurnMemory,
        SplitMemory,
        ForgottenMemory,
        HabitMemory,
        OwnDeletesMemory,
        UnsubscribedMemory,
    ),
    (),
)


class RowMemory:
    """The memory of all rows of one process. Not thread-safe."""

    def __init__(self, packed: bytes | None = None) -> None:
        """Continue with what an earlier process packed, if there is anything."""
        self._stored = packed
        self._keys = np.empty(0, np.int64)
        self._inputs: HealthInputs | None = None
        self._parts = PackedTable.pack(_Parts.empty(0), _TABLES)
        self._gone: dict[_Place, JumpMemory] = {}
        self.skipped: dict[str, int] = {}
        """The number of offsets that each group has passed without reading them, since the process started."""

    def record(self, inputs: HealthInputs, keys: Ints, lag: Lag, history: EndHistory, history_row: Ints) -> Remembered:
        """Record a tick.

        `keys` identify its rows over the ticks, `lag` is the distance of each commit from the end, `history_row` the
        row of its partition in the `history` of ends.
        """
        before = self._aligned(inputs, keys)
        rested, last_read = rest.advance(before.rest, inputs, lag)
        jumped, has_jumped = jumps.advance(before.jump, inputs, lag, history, history_row)
        deleted, deletes_own = own_deletes.advance(before.own_deletes, before.rest, inputs, lag, history, history_row)
        after = _Parts(
            rest=rested,
            jump=jumped,
            answer=answers.advance(before.answer, lag.known | lag.beyond_end, inputs.now),
            turn=turns.advance(before.turn, inputs),
            split=split.advance(before.split, inputs),
            forgotten=forgotten.advance(before.forgotten, inputs),
            habit=habit.advance(before.habit, before.rest, inputs, lag, history, history_row),
            own_deletes=deleted,
            unsubscribed=unsubscribed.advance(before.unsubscribed, inputs),
        )
        self._parts = PackedTable.pack(after, _TABLES)
        passed = np.where(has_jumped & (jumped.planned == 0), jumped.jump_to - jumped.jump_from, 0)
        self._count_skipped(inputs, passed)
        self._inputs = inputs.without_columns()
        return Remembered(
            last_read=last_read,
            jumps=jumped,
            turns=after.turn,
            split_since=after.split.since,
            forgotten=after.forgotten.removed,
            removed=after.forgotten,
            known_at=after.answer.known_at,
            longest_pause=after.habit.longest,
            habit_since=after.habit.seen,
            habit_until=habit.unknown_until(after.habit, inputs),
            skipped=np.array(list(self.skipped.values()), np.int64),
            deletes_own=deletes_own,
            unsubscribed=after.unsubscribed,
            loss_unproven=deletes_own & ~own_deletes.is_loss_proven(before.own_deletes, before.rest, inputs),
        )

    @property
    def keys(self) -> Ints:
        """The keys of the rows of the last tick."""
        return self._keys

    def columns(self) -> Mapping[str, Ints]:
        """Return all columns by name, to be stored."""
        return self._parts.rows().columns()

    def _aligned(self, inputs: HealthInputs, keys: Ints) -> _Parts:
        """Return the memory of the rows of this tick as of the last one."""
        parts, previous_keys, self._keys = self._parts.rows(), self._keys, keys
        if self._stored is not None:
            stored, self._stored = stored_rows.unpack(self._stored, inputs), None
            parts = _Parts.restore(len(keys), stored)
        elif len(keys) != len(previous_keys) or not (keys == previous_keys).all():
            self._keep_gone(parts.jump, previous_keys, keys)
            position = find_keys(previous_keys, keys)
            parts = parts.take(position)
            self._bring_back(parts.jump, inputs, np.flatnonzero(position < 0))
        if inputs.recreated is not None and len(inputs.recreated):
            position = np.where(np.isin(inputs.topic, inputs.recreated), -1, np.arange(len(keys)))
            without = parts.take(position)
            parts = dataclasses.replace(
                parts,
                jump=without.jump,
                turn=without.turn,
                forgotten=without.forgotten,
                own_deletes=without.own_deletes,
            )
        return parts

    def _count_skipped(self, inputs: HealthInputs, passed: Ints) -> None:
        names = inputs.groups.names
        if self._inputs is None or self._inputs.groups.names is not names:
            self.skipped = {name: self.skipped.get(name, 0) for name in names}
        for row in np.flatnonzero(passed).tolist():
            self.skipped[names[int(inputs.group[row])]] += int(passed[row])

    def _keep_gone(self, jump: JumpMemory, previous_keys: Ints, keys: Ints) -> None:
        """Keep the memory of rows that no longer exist: their offsets may be committed again."""
        if self._inputs is None:
            return
        for row in np.flatnonzero(find_keys(keys, previous_keys) < 0)[-_MOST_GONE:].tolist():
            place = _place(self._inputs, row)
            self._gone.pop(place, None)
            self._gone[place] = _taken(jump, JumpMemory.empty(1), np.array([row]))
        for place in list(self._gone)[: max(len(self._gone) - _MOST_GONE, 0)]:
            del self._gone[place]

    def _bring_back(self, jump: JumpMemory, inputs: HealthInputs, new: Ints) -> None:
        """Write the memory of new rows that existed before into `jump`; their offsets had been removed."""
        for row in new.tolist() if self._gone else ():
            gone = self._gone.pop(_place(inputs, row), None)
            if gone is not None:
                gone.astray[0] = 1
                for field in dataclasses.fields(JumpMemory):
                    getattr(jump, field.name)[row] = getattr(gone, field.name)[0]


def _place(inputs: HealthInputs, row: int) -> _Place:
    group, topic = int(inputs.group[row]), int(inputs.topic[row])
    return inputs.groups.names[group], inputs.topics[topic], int(inputs.partition[row])


def _named(prefix: str, part: Any) -> dict[str, Ints]:
    return {f"{prefix}_{field.name}": getattr(part, field.name) for field in dataclasses.fields(part)}


def _taken(part: _Columns, empty: _Columns, position: Ints) -> _Columns:
    """Return the columns of the rows at these positions; rows at -1 are those of `empty`."""
    known = position >= 0
    for field in dataclasses.fields(empty):
        getattr(empty, field.name)[known] = getattr(part, field.name)[position[known]]
    return empty


def _restored(empty: _Columns, prefix: str, stored: stored_rows.StoredRows | None) -> _Columns:
    """Return the stored columns; rows and columns that are not stored are those of `empty`."""
    if stored is None:
        return empty
    for field in dataclasses.fields(empty):
        column = stored.numbers(f"{prefix}_{field.name}")
        if column is not None:
            getattr(empty, field.name)[stored.rows] = column
    return empty
