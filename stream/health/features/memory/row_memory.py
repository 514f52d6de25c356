"""The memory of rows (group, topic, partition) over the ticks: what is kept for the next tick, and for a row's return.

Each observation has a function that returns its columns of `Memory` after a tick; those of a few lines are here.
"""

import dataclasses
from typing import Final

import numpy as np

from stream.health.columns import NOT_KNOWN, Flags, Ints, find_keys, replaced
from stream.health.features.end_history import EndHistory
from stream.health.features.lag import Lag
from stream.health.features.memory import batch_schedule, columns, idle_pauses, skipped_ranges
from stream.health.features.memory.columns import Changes, Memory
from stream.health.inputs import HealthInputs
from stream.health.row_columns import KeptColumns

_Place = tuple[str, str, int]
"""Group, topic and partition."""
_MOST_GONE: Final = 10_000
"""Rows that are remembered after they have gone, because the broker removed their offsets; the oldest are dropped."""
_SKIPS: Final = Memory.of_observations("jump_")
_OF_LOG: Final = Memory.of_observations("jump_", "turn_", "forgotten_", "own_deletes_")
"""The columns that mean nothing in a topic that was created again."""


class RowMemory(KeptColumns[Memory]):
    """The memory of all rows of one process. Not thread-safe."""

    def __init__(self, stored: bytes | None = None) -> None:
        """Continue with what an earlier process stored, if there is anything."""
        super().__init__(Memory, stored)
        self._gone: dict[_Place, list[int]] = {}
        self.skipped: dict[str, int] = {}
        """The number of offsets that each group has passed without reading them, since the process started."""
        self.known_again = NOT_KNOWN
        """When (ms) all ends were those of the last recorded tick again; before that tick: not since then."""

    def record(self, inputs: HealthInputs, keys: Ints, lag: Lag, history: EndHistory, history_row: Ints) -> Memory:
        """Record a tick and return the memory after it.

        `keys` identify its rows over the ticks, `lag` is the distance of each commit from the end, `history_row` the
        row of its partition in the `history` of ends.
        """
        before = self._of_same_topics(self.aligned(inputs, keys), inputs)
        skips, skipped = skipped_ranges.advance(before, inputs, lag, history, history_row)
        after = dataclasses.replace(
            before,
            **idle_pauses.advance_idle_pauses(before, inputs, lag),
            **skips,
            **self._last_answers(before, lag.known | lag.beyond_end, inputs.now),
            **columns.advance_oscillation(before, inputs),
            **columns.advance_subscriptions(before, inputs),
            **_removed_offsets(before, inputs),
            **batch_schedule.advance(before, inputs, lag, history, history_row),
            **idle_pauses.advance_own_deletes(before, inputs, lag, history, history_row),
        )
        self._count_skipped(inputs, skipped[after.skip_planned[skipped] == 0], after.skip_to - after.skip_from)
        self.keep(after, inputs)
        return after

    def _of_same_topics(self, memory: Memory, inputs: HealthInputs) -> Memory:
        """Return the memory without what rows of topics that were created again did in the former topic."""
        if inputs.recreated is None or not len(inputs.recreated):
            return memory
        same = memory.take(np.where(np.isin(inputs.topic, inputs.recreated), -1, np.arange(len(inputs))))
        return dataclasses.replace(memory, **{name: getattr(same, name) for name in _OF_LOG})

    def _moved(self, inputs: HealthInputs, previous_keys: Ints, keys: Ints) -> Memory:
        """Return the memory for other rows; those that return had lost their offsets, which may be committed again."""
        last, position = self.packed.rows(), find_keys(previous_keys, keys)
        if self.inputs is not None:
            self._keep_gone(last, self.inputs, np.flatnonzero(find_keys(keys, previous_keys) < 0))
        memory = last.take(position)
        for row in np.flatnonzero(position < 0).tolist() if self._gone else ():
            for name, value in zip(_SKIPS, self._gone.pop(_place(inputs, row), ()), strict=False):
                getattr(memory, name)[row] = 1 if name == "without_offset" else value
        return memory

    def _keep_gone(self, memory: Memory, inputs: HealthInputs, rows: Ints) -> None:
        """Keep the memory of rows that no longer exist: their offsets may be committed again."""
        rows = rows[-_MOST_GONE:]
        values = np.stack([getattr(memory, name)[rows] for name in _SKIPS], axis=1)
        for row, skips in zip(rows.tolist(), values.tolist(), strict=True):
            place = _place(inputs, row)
            self._gone.pop(place, None)
            self._gone[place] = skips
        for place in list(self._gone)[: max(len(self._gone) - _MOST_GONE, 0)]:
            del self._gone[place]

    def _last_answers(self, memory: Memory, answered: Flags, now: int) -> Changes:
        """Return when the ends were last known: a missing leader is a fault only if it lasts."""
        known_at = memory.end_known_at
        if self.inputs is not None and self.known_again > self.inputs.now:
            known_at = replaced(known_at, known_at == self.inputs.now, self.known_again)
        return {"end_known_at": replaced(known_at, answered | (known_at < 0), now)}

    def _count_skipped(self, inputs: HealthInputs, rows: Ints, passed: Ints) -> None:
        names = inputs.groups.names
        if self.inputs is None or self.inputs.groups.names is not names:
            self.skipped = {name: self.skipped.get(name, 0) for name in names}
        for row in rows.tolist():
            self.skipped[names[int(inputs.group[row])]] += int(passed[row])


def _place(inputs: HealthInputs, row: int) -> _Place:
    group, topic = int(inputs.group[row]), int(inputs.topic[row])
    return inputs.groups.names[group], inputs.topics[topic], int(inputs.partition[row])


def _removed_offsets(memory: Memory, inputs: HealthInputs) -> Changes:
    """Return the columns of the offsets that a tombstone removed, before their time or in another way."""
    removed = inputs.removed
    if removed is None:
        return {}
    is_new = removed.time > memory.removed
    return {
        "removed_early": np.maximum(memory.removed_early, removed.forgotten),
        "removed": np.where(is_new, removed.time, memory.removed),
        "removed_by_expiry": np.where(is_new, removed.expired, memory.removed_by_expiry),
    }
