"""Slots: the recent commits of a run, one slot per interval of commit time.

A slot holds the last offset committed in its interval (its number is commit time // width), the time of that commit,
and the number of commits. A key keeps only its newest slots. Which slots those are depends on the commits alone, not on
the batches, so slots merge as runs do: union of the slots, equal numbers joined in log order, newest kept.

The slots of many keys are one table, sorted by (row, number): keys without recent commits take no space.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from stream.groups.record_columns import KeyTable
from stream.groups.short_cache import keep_last

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, slots=True)
class Slots(KeyTable):
    """One row per slot; `row` is the row of its run. The field names are column names in stored bytes (`codec`)."""

    BYTES: ClassVar[Mapping[str, str]] = {}

    row: NDArray[np.int64]
    number: NDArray[np.int64]
    """commit time // slot width."""
    offset: NDArray[np.int64]
    time: NDArray[np.int64]
    """Timestamp (ms) of the last commit in the slot."""
    commits: NDArray[np.int64]

    def narrow(self) -> Slots:
        """Return the slots with rows, numbers and counts of 32 bits; what does not fit has a time that is not used."""
        return dataclasses.replace(
            self, row=_narrowed(self.row), number=_narrowed(self.number), commits=_narrowed(self.commits)
        )

    def replace(self, parts: Sequence[tuple[NDArray[np.int64], Slots]], count: int) -> Slots:
        """Return the slots of a table of `count` rows in which some have others: those of the last part that has them.

        A part is some rows, each once, and their slots, numbered by their position in it.
        """
        before, of_part = slot_counts(self.row, count), np.full(count, -1)
        for number, (rows, _) in enumerate(parts):
            of_part[rows] = number
        after, changes = np.where(of_part < 0, before, 0), []
        for number, (rows, of_rows) in enumerate(parts):
            own = np.flatnonzero(of_part[rows] == number)
            slots = slots_of_rows(of_rows, own, len(rows))
            size = np.bincount(slots.row, minlength=len(own))
            after[rows[own]] = size
            changes.append((rows[own], size, slots))
        begin = np.cumsum(after) - after
        row, taken, old = self.row, None, self if len(self) or not parts else parts[0][1]
        if not np.array_equal(before, after):  # else most groups have committed for a while
            row = np.repeat(np.arange(count, dtype=row.dtype), after)
            taken = np.repeat(np.cumsum(before) - before - begin, after) + np.arange(len(row))
            taken = np.minimum(taken, len(old) - 1)
        columns = {name: getattr(old, name) for name in ("number", "offset", "time", "commits")}
        if (of_part >= 0).all():  # each row is assigned below
            columns = {name: np.empty(len(row), column.dtype) for name, column in columns.items()}
        else:
            columns = {name: column.copy() if taken is None else column[taken] for name, column in columns.items()}
        for rows, size, slots in changes:
            narrow = slots.narrow()  # one after the other: together they take memory
            at = np.arange(len(slots)) + np.repeat(begin[rows] - (np.cumsum(size) - size), size)
            for name, column in columns.items():
                column[at] = getattr(narrow, name)  # also where a row took what follows it
        return Slots(row, **columns)


def slots_of_rows(slots: Slots, rows: NDArray[np.int64], count: int) -> Slots:
    """Return the slots of these rows (ascending) out of `count`, numbered by their position in `rows`."""
    if len(rows) == count:
        return slots
    if not len(rows):
        return Slots.empty()
    # Of the same type: else the whole column would be converted.
    first, last = np.searchsorted(slots.row, np.array((rows[0], rows[-1] + 1), slots.row.dtype))
    position = np.full(rows[-1] - rows[0] + 1, -1, np.int64)
    position[rows - rows[0]] = np.arange(len(rows))
    row = position[slots.row[first:last] - rows[0]]
    chosen = np.flatnonzero(row >= 0)
    return dataclasses.replace(slots.take(first + chosen), row=row[chosen])


@keep_last
def row_bounds(row: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows that have slots, given that of each slot, and the first and the last slot of each of them."""
    first = np.flatnonzero(np.append(True, row[1:] != row[:-1])[: len(row)])
    return row[first], first, np.append(first[1:], len(row))[: len(first)] - 1


def slot_counts(row: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """Return the number of slots of each of these rows, given the row of each slot."""
    counts = np.zeros(rows, np.int64)
    at, first, last = row_bounds(row)
    counts[at] = last - first + 1
    return counts


def last_breaks(slots: Slots, is_break: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return for each row that has slots its last slot with a break before it, or its first slot.

    `is_break` has one element for each slot but the first of the table; what it says about the first slot of a row does
    not count.
    """
    _, first, _ = row_bounds(slots.row)
    breaks = np.flatnonzero(is_break & (slots.row[1:] == slots.row[:-1])) + 1
    if not len(breaks):
        return first
    begin = first.copy()
    begin[np.searchsorted(first, breaks, side="right") - 1] = breaks
    return begin


def _narrowed(column: NDArray[np.int64]) -> NDArray[np.int64]:
    limits = np.iinfo(np.int32)
    return column if column.dtype == np.int32 else np.clip(column, limits.min, limits.max).astype(np.int32)


def merge(slots: Slots, keep: int) -> Slots:
    """Join slots of equal row and number, and keep the newest `keep` of each row; equal slots are in log order."""
    if not len(slots):
        return slots
    same = slots.row[1:] == slots.row[:-1]
    if not ((slots.row[1:] > slots.row[:-1]) | (same & (slots.number[1:] >= slots.number[:-1]))).all():
        slots = slots.take(np.lexsort((slots.number, slots.row)))  # stable: equal slots stay in log order
    return _newest(_join_equal(slots), keep)


def _join_equal(slots: Slots) -> Slots:
    new = (slots.row[1:] != slots.row[:-1]) | (slots.number[1:] != slots.number[:-1])
    starts = np.flatnonzero(np.concatenate(([True], new)))
    ends = np.append(starts[1:], len(slots)) - 1
    last = slots.take(ends)
    return dataclasses.replace(last, commits=np.add.reduceat(slots.commits, starts))


def _newest(slots: Slots, keep: int) -> Slots:
    """Keep the last `keep` slots of each row."""
    if len(slots) <= keep:
        return slots
    kept = np.ones(len(slots), np.bool_)
    kept[:-keep] = slots.row[:-keep] != slots.row[keep:]  # dropped if the row also has the slot `keep` rows further
    return slots if kept.all() else slots.take(kept)
