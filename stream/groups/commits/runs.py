"""CommitRuns: what a stretch of consecutive commits of one key amounts to, and how two stretches join.

A *run* stands for all commits of one (group, topic, partition) between two positions of the offsets log. It keeps what
lag, health and expiry need (first and last commit, how many, when the last offset was first reached, the rewinds) and
forgets the rest. `merge` joins adjacent runs and is associative: the summary of a whole is the merge of the summaries
of any split of it, so batch borders cannot change an answer. A tombstone starts a run anew (`reset`); a run that is
nothing but tombstones has no commits and means "the broker has forgotten this key".

Everything here works on columns: one row per run, numpy for numbers, Arrow for bytes. No decoding, no clock.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

TOPIC_ID: Final = pa.binary(16)
NEVER: Final = -1
"""In a time column: no such moment."""


@dataclasses.dataclass(frozen=True, slots=True)
class Spans:
    """The numbers of runs, one element per run. Times are milliseconds of the commit's own timestamp."""

    reset: NDArray[np.bool_]
    """The run begins with a tombstone: nothing before it matters."""
    commits: NDArray[np.int64]
    """How many commits; 0 means the run ends deleted. Then only `reset`, `last_position` and `last_time` mean anything,
    the latter as the timestamp of the last tombstone's record."""
    first_offset: NDArray[np.int64]
    first_position: NDArray[np.int64]
    first_time: NDArray[np.int64]
    last_offset: NDArray[np.int64]
    last_position: NDArray[np.int64]
    last_time: NDArray[np.int64]
    reached_position: NDArray[np.int64]
    """Where the last offset was first committed in the unbroken stretch that ends the run: the moment of progress."""
    reached_time: NDArray[np.int64]
    rewinds: NDArray[np.int64]
    """How often a commit was below the one before it."""
    rewind_from: NDArray[np.int64]
    rewind_to: NDArray[np.int64]
    rewind_time: NDArray[np.int64]
    """The last rewind; `NEVER` where there was none."""

    def take(self, rows: NDArray[Any]) -> Spans:
        """Give these rows (indices or a mask), in this order. Columns that are one array (`units`) are taken once."""
        columns = columns_of(self)
        taken = {id(column): column[rows] for column in {id(column): column for column in columns}.values()}
        return Spans(*(taken[id(column)] for column in columns))

    def __len__(self) -> int:
        return len(self.commits)


def columns_of(value: Any) -> list[Any]:
    """List the columns of a columnar dataclass in the order of its fields."""
    return [getattr(value, field.name) for field in dataclasses.fields(value)]


def units(
    position: NDArray[np.int64], offset: NDArray[np.int64], time: NDArray[np.int64], tombstone: NDArray[np.bool_]
) -> Spans:
    """See each commit or tombstone as a run of its own. Shares the arrays it is given.

    `time` is the commit's own timestamp, for a tombstone that of its record.
    """
    nothing = np.broadcast_to(np.int64(0), len(position))
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
        rewinds=nothing,
        rewind_from=never,
        rewind_to=never,
        rewind_time=never,
    )


def merge(spans: Spans, starts: NDArray[np.intp]) -> tuple[Spans, NDArray[np.intp], NDArray[np.bool_] | None]:
    """Join each stretch of rows `starts[i]:starts[i + 1]`, rows of one key in log order, into one run.

    Give the joined runs, for each the index of the row that it ends with (whose details are the run's), and which rows
    still count (None: all of them; a row before a tombstone does not).
    """
    kept = None
    rows = np.arange(len(spans))
    reset = np.zeros(len(starts), np.bool_)
    if spans.reset.any():
        kept, reset = since_reset(spans.reset, spans.commits > 0, starts)
        rows = np.flatnonzero(kept)
        starts = np.searchsorted(rows, starts)
        spans = spans.take(rows)
    if not len(starts):
        return spans, rows, kept
    return join(spans, starts, reset), rows[ends_of(starts, len(rows))], kept


def since_reset(
    tombstone: NDArray[np.bool_], living: NDArray[np.bool_], starts: NDArray[np.intp]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Keep the rows since the last tombstone of each stretch, and say which stretches have one.

    `living` rows end with a commit; one that does not is kept only where nothing follows it. Something of every stretch
    is kept.
    """
    last = np.full(len(starts), -1, np.int64)
    at = np.flatnonzero(tombstone)
    last[np.searchsorted(starts, at, "right") - 1] = at  # the last assignment of an index wins
    reset = last >= 0
    begins, last = starts[reset], last[reset]
    stops = last + (~living[last] & (last < ends_of(starts, len(tombstone))[reset]))
    # From each start to its stop nothing is kept; no stretch stops where another one starts.
    change = np.zeros(len(tombstone) + 1, np.int8)
    change[begins] += 1
    change[stops] -= 1
    kept: NDArray[np.bool_] = np.cumsum(change[:-1], dtype=np.int8) == 0
    return kept, reset


def ends_of(starts: NDArray[np.intp], rows: int) -> NDArray[np.intp]:
    """Give the last row of each stretch."""
    return np.append(starts[1:], rows) - 1


def join(spans: Spans, starts: NDArray[np.intp], reset: NDArray[np.bool_]) -> Spans:
    """Join stretches of which only what is since their last tombstone is left; `reset` says which have one."""
    return dataclasses.replace(_join(spans, starts, ends_of(starts, len(spans))), reset=reset)


def _join(spans: Spans, starts: NDArray[np.intp], ends: NDArray[np.intp]) -> Spans:
    """Join stretches without inner tombstones."""
    inner = np.ones(len(spans), np.bool_)
    inner[starts] = False
    step = np.empty(len(spans), np.int64)
    step[0] = 0
    np.subtract(spans.first_offset[1:], spans.last_offset[:-1], out=step[1:])
    # Progress: the last row that does not merely repeat the offset its predecessor ended with.
    repeats = inner & (step == 0) & (spans.reached_position == spans.first_position)
    reached = _last_where(~repeats, starts)
    # Rewinds: those inside the rows, and those at the seams between them.
    seam = inner & (step < 0)
    has_rewind = seam | (spans.rewinds > 0)
    rewinds = np.add.reduceat(spans.rewinds + seam, starts)
    at = _last_where(has_rewind, starts)
    rewound, row = at >= 0, np.maximum(at, 0)
    by_seam = spans.rewinds[row] == 0
    before = np.maximum(row - 1, 0)

    def last_rewind(within: NDArray[np.int64], at_seam: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(rewound, np.where(by_seam, at_seam, within[row]), NEVER)

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
        rewind_from=last_rewind(spans.rewind_from, spans.last_offset[before]),
        rewind_to=last_rewind(spans.rewind_to, spans.first_offset[row]),
        rewind_time=last_rewind(spans.rewind_time, spans.first_time[row]),
    )


def _last_where(condition: NDArray[np.bool_], starts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Index of the last true row of each stretch, -1 where there is none."""
    last: NDArray[np.intp] = np.maximum.reduceat(np.where(condition, np.arange(len(condition)), -1), starts)
    return last


def concat(parts: Sequence[Spans]) -> Spans:
    """Put the rows of several one after the other."""
    return Spans(*(np.concatenate(columns) for columns in zip(*(columns_of(part) for part in parts), strict=True)))


def no_spans() -> Spans:
    """Give spans without rows."""
    none = np.empty(0, np.int64)
    return units(none, none, none, np.empty(0, np.bool_))
