"""Lag: commits and ends in, `lag(commits, ends)` out. Read this first; verdicts are a layer on top of it.

`lag` is the definition, and the tick calls it once with all commits of all groups. What surrounds it: the commits are
the driver state (`stream.groups.driver_state`), the ends come from `stream.cluster.partition_offsets` after the state
was copied, `stream.tick.inputs.builder` joins both, `stream.tick.snapshot.build` shows the result. Two corrections
follow: `features.offset_out_of_range` says why a commit does not fit its log, and `features.control_records` removes
offsets that are known to hold no data.
"""

import dataclasses
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stream.health.columns import NOT_KNOWN, Flags, Ints, assigned, replaced, uniform

BEYOND_END: Final = "beyond_end"
"""The committed offset is above the end: the topic was recreated, or its log was truncated."""
UNKNOWN_PARTITION: Final = "unknown_partition"
"""The topic exists, but has no such partition."""
NOT_ASKED: Final = "not_asked"
"""The cluster has not answered for this topic yet."""
NEGATIVE_OFFSET: Final = "negative_offset"
"""The committed offset is negative. A broker treats such a commit as none: the position of the group is not known."""


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionEnds:
    """The ends of monitored partitions, one row each, sorted by place; they are valid only where `known`.

    A place is the number of a (topic, partition): topic number << 32 | partition. The last stable offset and the leader
    epoch are -1 where they are not known; None: not known of any partition.
    """

    place: NDArray[np.int64]
    high_watermark: NDArray[np.int64]
    log_start: NDArray[np.int64]
    known: NDArray[np.bool_]
    last_stable: NDArray[np.int64] | None = None
    leader_epoch: NDArray[np.int32] | None = None

    @property
    def open_transactions(self) -> Flags:
        """Partitions with an open transaction: their last stable offset is below the end."""
        if self.last_stable is None:
            return np.zeros(len(self.place), np.bool_)
        is_open: Flags = (self.last_stable >= 0) & (self.last_stable < self.high_watermark)
        return is_open


@dataclasses.dataclass(frozen=True, slots=True)
class Commits:
    """The committed offsets of groups, one element per commit, in any order."""

    place: Ints
    """The partition, as in `PartitionEnds`."""
    offset: Ints
    """The committed offset: the next one that the group reads."""
    is_made: Flags | None = None
    """False: the group has the partition, but no commit of it, and `offset` is -1. None: all are commits."""

    @property
    def negative(self) -> Flags:
        """Commits that a broker treats as none: the position of the group is not known."""
        negative = self.offset < 0
        return negative if self.is_made is None else negative & self.is_made


@dataclasses.dataclass(frozen=True, slots=True)
class Lag:
    """One element per commit: the lag where `known`; `row` is the row of its partition in the ends, -1 for none."""

    lag: NDArray[np.int64]
    known: NDArray[np.bool_]
    beyond_end: NDArray[np.bool_]
    row: NDArray[np.int64]
    end: NDArray[np.int64]
    """The high watermark and the log start of its partition; -1 where they are not known."""
    start: NDArray[np.int64]


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetDistances:
    """The distances of a commit from the ends of its partition; one element per commit, -1 where not known."""

    high_watermark: Ints
    log_start: Ints
    last_stable: Ints
    stable_lag: Ints
    """Offsets up to the last stable offset: all that a consumer of committed records can read now."""
    lost: Ints
    """Offsets between the commit and the log start: retention removed them before the group read them."""
    margin: Ints
    """Offsets between the log start and the commit: retention must remove these before the group loses data."""


def place(topic: NDArray[np.int64], partition: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the place of each (topic, partition)."""
    return (topic.astype(np.int64) << 32) | partition.astype(np.int64)


def lag(commits: Commits, ends: PartitionEnds) -> Lag:
    """Return the lag of commits by the ends of their partitions: the records that the group has still to read.

        lag = high watermark - max(committed offset, log start offset)

    Offsets below the log start are lost, not waiting. Without a commit, all that the log has counts. The ends must have
    been read after the commits: then a commit above its end is a fact (the topic was re-created, or its log truncated)
    and no race. Its lag is not known, never negative. Nor is the lag known of a negative offset, or without ends.
    """
    if not len(ends.place):
        no = np.zeros(len(commits.place), np.bool_)
        none = np.full(len(no), NOT_KNOWN, np.int64)
        return Lag(np.zeros(len(no), np.int64), no, no, none, none, none)
    at = np.minimum(np.searchsorted(ends.place, commits.place), len(ends.place) - 1)
    row = replaced(at, ends.place[at] != commits.place, NOT_KNOWN)
    answered = (row >= 0) & ends.known[at]
    end, start = (replaced(column[at], ~answered, NOT_KNOWN) for column in (ends.high_watermark, ends.log_start))
    beyond_end = answered & (commits.offset > end)
    known = answered & ~beyond_end & ~commits.negative
    distance = replaced(end - np.clip(commits.offset, start, end), ~known, 0)
    return Lag(distance, known, beyond_end, row, end, start)


def distances(committed: Ints, lags: Lag, ends: PartitionEnds) -> OffsetDistances:
    """Return the distances of commits from the ends of their partitions; `lags` is the result of `lag`."""
    start, is_valid = lags.start, lags.known & (committed >= 0)
    stable, stable_lag = _stable(committed, lags, ends, ~is_valid)
    lost, margin = (replaced(uniform(0, committed), ~is_valid, NOT_KNOWN), committed - start)
    below = np.flatnonzero(is_valid & (margin < 0))
    return OffsetDistances(
        high_watermark=lags.end,
        log_start=start,
        last_stable=stable,
        stable_lag=stable_lag,
        lost=assigned(lost, below, -margin[below]),
        margin=replaced(assigned(margin, below, 0), ~is_valid, NOT_KNOWN),
    )


def _stable(committed: Ints, lags: Lag, ends: PartitionEnds, invalid: Flags) -> tuple[Ints, Ints]:
    """Return the last stable offset of the partition of each commit, and the offsets up to it."""
    stable = ends.last_stable
    if stable is None or not len(ends.place):
        unknown = uniform(NOT_KNOWN, committed)
        return unknown, unknown
    if np.array_equal(stable, ends.high_watermark):  # no transaction is open
        return lags.end, replaced(lags.lag, invalid | (lags.end < 0), NOT_KNOWN)
    of_rows = replaced(stable[lags.row], lags.end == NOT_KNOWN, NOT_KNOWN)
    readable = np.maximum(of_rows - np.maximum(committed, lags.start), 0)
    return of_rows, replaced(readable, invalid | (of_rows < 0), NOT_KNOWN)
