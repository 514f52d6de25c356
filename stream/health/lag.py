"""Lag: how far a committed offset is from the end of its partition, or why that is not known.

lag = high watermark - max(committed offset, log start offset). What lies below the log start is lost, not waiting. An
end must have been read after the commit; then a commit above the end cannot be haste, and the lag is unknown, never
negative.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BEYOND_END: Final = "beyond_end"
"""The committed offset is above the end: the topic was made anew, or its log was cut back."""
UNKNOWN_PARTITION: Final = "unknown_partition"
"""The topic exists, but has no such partition."""
NOT_ASKED: Final = "not_asked"
"""The cluster has not answered for this topic yet."""


@dataclasses.dataclass(frozen=True, slots=True)
class Ends:
    """The ends of monitored partitions, one row each, sorted by place; unknown where not `known`.

    A place is a number for a (topic, partition): topic number << 32 | partition.
    """

    place: NDArray[np.int64]
    high_watermark: NDArray[np.int64]
    log_start: NDArray[np.int64]
    known: NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, slots=True)
class Lag:
    """One element per commit: the lag where `known`; `row` is the row of the ends it was held against, -1 for none."""

    lag: NDArray[np.int64]
    known: NDArray[np.bool_]
    beyond_end: NDArray[np.bool_]
    row: NDArray[np.int64]


def place(topic: NDArray[np.int64], partition: NDArray[np.int32]) -> NDArray[np.int64]:
    """Give each (topic, partition) its number."""
    return (topic.astype(np.int64) << 32) | partition.astype(np.int64)


def lag(committed: NDArray[np.int64], places: NDArray[np.int64], ends: Ends) -> Lag:
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
