"""Lag: how far a committed offset is from the end of its partition, or why that is not known.

lag = high watermark - max(committed offset, log start offset). What lies below the log start is lost, not waiting. An
end must have been read after the commit; then a commit above the end cannot be haste, and the lag is unknown, never
negative. `features.offset_out_of_range` says what such a commit means, `features.control_records` what of a lag is no
data at all.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.health.columns import NOT_KNOWN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream.health.columns import Flags, Ints

BEYOND_END: Final = "beyond_end"
"""The committed offset is above the end: the topic was made anew, or its log was cut back."""
UNKNOWN_PARTITION: Final = "unknown_partition"
"""The topic exists, but has no such partition."""
NOT_ASKED: Final = "not_asked"
"""The cluster has not answered for this topic yet."""
NEGATIVE_OFFSET: Final = "negative_offset"
"""The committed offset is below zero. A broker takes such a commit for none: where the group reads is not known."""


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionEnds:
    """The ends of monitored partitions, one row each, sorted by place; unknown where not `known`.

    A place is a number for a (topic, partition): topic number << 32 | partition. The last stable offset and the leader
    epoch are -1 where they are not known; None: of no partition.
    """

    place: NDArray[np.int64]
    high_watermark: NDArray[np.int64]
    log_start: NDArray[np.int64]
    known: NDArray[np.bool_]
    last_stable: NDArray[np.int64] | None = None
    leader_epoch: NDArray[np.int32] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Lag:
    """One element per commit: the lag where `known`; `row` is the row of the ends it was held against, -1 for none."""

    lag: NDArray[np.int64]
    known: NDArray[np.bool_]
    beyond_end: NDArray[np.bool_]
    row: NDArray[np.int64]


@dataclasses.dataclass(frozen=True, slots=True)
class OffsetDistances:
    """What else there is to say of a commit and its partition; one element per commit, -1 where not known."""

    high_watermark: Ints
    log_start: Ints
    last_stable: Ints
    stable_lag: Ints
    """Offsets up to the last stable offset: all that a read_committed consumer can reach now."""
    lost: Ints
    """Offsets between the commit and the log start: retention took them before the group read them."""
    margin: Ints
    """Offsets between the log start and the commit: what retention must still remove before the group loses data."""


def place(topic: NDArray[np.int64], partition: NDArray[np.int32]) -> NDArray[np.int64]:
    """Give each (topic, partition) its number."""
    return (topic.astype(np.int64) << 32) | partition.astype(np.int64)


def lag(committed: NDArray[np.int64], places: NDArray[np.int64], ends: PartitionEnds) -> Lag:
    """Hold committed offsets against the ends of their partitions."""
    if not len(ends.place):
        nowhere = np.full(len(committed), -1, np.int64)
        no = np.zeros(len(committed), np.bool_)
        return Lag(np.zeros(len(committed), np.int64), no, no, nowhere)
    found = np.minimum(np.searchsorted(ends.place, places), len(ends.place) - 1)
    row = np.where(ends.place[found] == places, found, -1)
    answered = (row >= 0) & ends.known[found]
    end, start = ends.high_watermark[found], ends.log_start[found]
    beyond = answered & (committed > end)
    known = answered & ~beyond
    return Lag(np.where(known, end - np.minimum(np.maximum(committed, start), end), 0), known, beyond, row)


def distances(committed: Ints, found: Lag, ends: PartitionEnds) -> OffsetDistances:
    """Measure commits against all ends of their partitions, where these are known."""
    answered = _answered(found, ends)
    high, start = (_of_rows(column, found, answered) for column in (ends.high_watermark, ends.log_start))
    nowhere = np.full(len(committed), NOT_KNOWN, np.int64)
    stable = nowhere if ends.last_stable is None else _of_rows(ends.last_stable, found, answered)
    sound = found.known & (committed >= 0)
    reach = np.maximum(stable - np.maximum(committed, start), 0)
    return OffsetDistances(
        high_watermark=high,
        log_start=start,
        last_stable=stable,
        stable_lag=np.where(sound & (stable >= 0), reach, NOT_KNOWN),
        lost=np.where(sound, np.maximum(start - committed, 0), NOT_KNOWN),
        margin=np.where(sound, np.maximum(committed - start, 0), NOT_KNOWN),
    )


def _answered(found: Lag, ends: PartitionEnds) -> Flags:
    if not len(ends.place):
        return np.zeros(len(found.row), np.bool_)
    answered: Flags = (found.row >= 0) & ends.known[found.row]
    return answered


def _of_rows(column: Ints, found: Lag, answered: Flags) -> Ints:
    if not len(column):
        return np.full(len(found.row), NOT_KNOWN, np.int64)
    return np.where(answered, column[found.row], NOT_KNOWN)
