"""Commit runs: the numbers that summarise consecutive commits of one key, and the merge of adjacent runs.

A *run* summarises all commits of one (group, topic, partition) between two positions of the offsets log. It keeps what
lag, health and expiry need: first and last commit, the number of commits, when the last offset was first reached, and
rewinds. `merge` joins adjacent runs and is associative: the summary of a whole is the merge of the summaries of any
split of it, so batch borders cannot change a result. A tombstone discards what precedes it in the run (`reset`); a run
that ends with a tombstone has no commits and means that the broker has removed the offset.

All functions work on columns: one row per run, numpy for numbers, Arrow for bytes. No decoding, no clock.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOPIC_ID: Final = pa.binary(16)
NEVER: Final = -1
"""In a time or position column: there is none."""


@dataclasses.dataclass(frozen=True, slots=True)
class Spans:
    """The numbers of runs, one element per run. Times are the commits' own timestamps, in ms.

    The field names are column names in stored bytes (`codec`).
    """

    reset: NDArray[np.bool_]
    """The run begins with a tombstone: earlier runs of the key are void."""
    commits: NDArray[np.int64]
    """The number of commits; 0 if the run ends with a tombstone. Then only `reset`, `last_position` and `last_time` are
    valid, and `last_time` is the timestamp of the last tombstone's record."""
    first_offset: NDArray[np.int64]
    first_position: NDArray[np.int64]
    first_time: NDArray[np.int64]
    last_offset: NDArray[np.int64]
    last_position: NDArray[np.int64]
    last_time: NDArray[np.int64]
    reached_position: NDArray[np.int64]
    """Position of the first of the consecutive commits of `last_offset` that end the run: the last progress."""
    reached_time: NDArray[np.int64]
    rewinds: NDArray[np.int64]
    """The number of commits below the preceding one."""
    rewind_from: NDArray[np.int64]
    rewind_to: NDArray[np.int64]
    rewind_time: NDArray[np.int64]
    """The last rewind: offset before, offset after, time; `NEVER` where there was none."""

    def take(self, rows: NDArray[Any]) -> Spans:
        """Return these rows (indices or a mask), in this order.

        An array that serves as several columns (`single_record_spans`) is indexed once.
        """
        columns = columns_of(self)
        selected = {id(column): column[rows] for column in {id(column): column for column in columns}.values()}
        return Spans(*(selected[id(column)] for column in columns))

    def __len__(self) -> int:
        return len(self.commits)


def columns_of(value: Any) -> list[Any]:
    """Return the columns of a columnar dataclass in the order of its fields."""
    return [getattr(value, field.name) for field in dataclasses.fields(value)]


def single_record_spans(
    position: NDArray[np.int64], offset: NDArray[np.int64], time: NDArray[np.int64], tombstone: NDArray[np.bool_]
) -> Spans:
    """Return a run for each commit or tombstone; the columns are the given arrays, not copies.

    `time` is the commit's own timestamp, for a tombstone the timestamp of its record.
    """
    zero = np.broadcast_to(np.int64(0), len(position))
    never = np.broadcast_to(np.int64(NEVER), len(position))
    return Spans(
        reset=tombstone,
        commits=(~tombstone).astype(np.int64),
        first_offset=offset,
        first_position=position,
        first_time=time,
        last_offset=offset,
        last_position=position,
        last_time=time,
        reached_position=position,
        reached_time=time,
        rewinds=zero,
        rewind_from=never,
        rewind_to=never,
        rewind_time=never,
    )


def merge(spans: Spans, starts: NDArray[np.intp]) -> tuple[Spans, NDArray[np.intp], NDArray[np.bool_] | None]:
    """Join the rows `starts[i]:starts[i + 1]` (rows of one key, in log order) into one run, for every i.

    Returns the joined runs; for each the index of its last row, whose details are those of the run; and a mask of the
    rows that no later tombstone voids (None: all rows).
    """
    kept = None
    rows = np.arange(len(spans))
    reset = np.zeros(len(starts), np.bool_)
    if spans.reset.any():
        kept, reset = rows_since_reset(spans.reset, spans.commits > 0, starts)
        rows = np.flatnonzero(kept)
        starts = np.searchsorted(rows, starts)
        spans = spans.take(rows)
    if not len(starts):
        return spans, rows, kept
    return join(spans, starts, reset), rows[last_rows(starts, len(rows))], kept


def rows_since_reset(
    tombstone: NDArray[np.bool_], has_commits: NDArray[np.bool_], starts: NDArray[np.intp]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return a mask of the rows since the last tombstone of each stretch, and a mask of the stretches that have one.

    A row without commits (`has_commits`) is kept only if it is the last of its stretch, so at least one row of every
    stretch is kept.
    """
    last = np.full(len(starts), -1, np.int64)
    at = np.flatnonzero(tombstone)
    last[np.searchsorted(starts, at, "right") - 1] = at  # the last assignment of an index wins
    reset = last >= 0
    begins, last = starts[reset], last[reset]
    stops = last + (~has_commits[last] & (last < last_rows(starts, len(tombstone))[reset]))
    # No row between a start and its stop is kept; no stretch stops where another one starts.
    change = np.zeros(len(tombstone) + 1, np.int8)
    change[begins] += 1
    change[stops] -= 1
    kept: NDArray[np.bool_] = np.cumsum(change[:-1], dtype=np.int8) == 0
    return kept, reset


def last_rows(starts: NDArray[np.intp], rows: int) -> NDArray[np.intp]:
    """Return the index of the last row of each stretch of `rows` rows in total."""
    return np.append(starts[1:], rows) - 1


def join(spans: Spans, starts: NDArray[np.intp], reset: NDArray[np.bool_]) -> Spans:
    """Join stretches that are cut to the rows since their last tombstone; `reset` marks the stretches that had one."""
    return dataclasses.replace(_join(spans, starts, last_rows(starts, len(spans))), reset=reset)


def _join(spans: Spans, starts: NDArray[np.intp], ends: NDArray[np.intp]) -> Spans:
    """Join stretches without inner tombstones."""
    inner = np.ones(len(spans), np.bool_)
    inner[starts] = False
    step = np.empty(len(spans), np.int64)
    step[0] = 0
    np.subtract(spans.first_offset[1:], spans.last_offset[:-1], out=step[1:])
    # Progress: the last row that does not merely repeat the last offset of the preceding row.
    repeats = inner & (step == 0) & (spans.reached_position == spans.first_position)
    reached = _last_where(~repeats, starts)
    # Rewinds: those within rows, and those between two rows.
    between = inner & (step < 0)
    has_rewind = between | (spans.rewinds > 0)
    rewinds = np.add.reduceat(spans.rewinds + between, starts)
    at = _last_where(has_rewind, starts)
    rewound, row = at >= 0, np.maximum(at, 0)
    is_between = spans.rewinds[row] == 0
    previous = np.maximum(row - 1, 0)

    def last_rewind(within_rows: NDArray[np.int64], between_rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(rewound, np.where(is_between, between_rows, within_rows[row]), NEVER)

    return Spans(
        reset=spans.reset[starts],
        commits=np.add.reduceat(spans.commits, starts),
        first_offset=spans.first_offset[starts],
        first_position=spans.first_position[starts],
        first_time=spans.first_time[starts],
        last_offset=spans.last_offset[ends],
        last_position=spans.last_position[ends],
        last_time=spans.last_time[ends],
        reached_position=spans.reached_position[reached],
        reached_time=spans.reached_time[reached],
        rewinds=rewinds,
        rewind_from=last_rewind(spans.rewind_from, spans.last_offset[previous]),
        rewind_to=last_rewind(spans.rewind_to, spans.first_offset[row]),
        rewind_time=last_rewind(spans.rewind_time, spans.first_time[row]),
    )


def _last_where(condition: NDArray[np.bool_], starts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the index of the last true row of each stretch, -1 where there is none."""
    return np.maximum.reduceat(np.where(condition, np.arange(len(condition)), -1), starts)


def concat(parts: Sequence[Spans]) -> Spans:
    """Concatenate the rows of several spans."""
    return Spans(*(np.concatenate(columns) for columns in zip(*(columns_of(part) for part in parts), strict=True)))


def no_spans() -> Spans:
    """Return spans without rows."""
    none = np.empty(0, np.int64)
    return single_record_spans(none, none, none, np.empty(0, np.bool_))
