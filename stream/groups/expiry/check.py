"""The check of predicted expirations against the tombstones that arrive, or do not arrive.

A prediction depends on the log (times of commits and states) and on the brokers' settings, not on how long lagwarden
has been running: one made in the first second is as good as one a week old. Only the time since which an offset is
overdue is observed, if the predicted time was in the past from the start: a KIP-848 group that becomes empty, or
unsubscribes from a topic, makes old commits due at once.

`expiry.predict` makes the predictions, `expiry.causes` explains removals. `now` is an argument.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream.groups.commits.run_table import find_rows
from stream.groups.expiry.broker_rules import NEVER, OffsetsRetention
from stream.groups.expiry.causes import TOLERANCE_MS, late_after, missing_after
from stream.groups.expiry.predict import Times
from stream.groups.row_order import RemovedOffset

BOUNDS: Final = (0.0, 1.0, 5.0, 15.0, 60.0, 120.0, 240.0, 360.0, 480.0, 600.0, 660.0, 1200.0, 3600.0)
"""Bounds of the error in seconds. A broker that checks every ten minutes spreads its tombstones evenly over the first
ten minutes and may need one more; longer errors mean that something is slow."""


class PredictionOutcome(enum.StrEnum):
    """The outcome of a prediction. The values are metric labels."""

    KEPT = "kept"
    """The tombstone came with the broker's next check."""
    EARLY = "early"
    """It came shortly before the predicted time: the prediction was wrong by less than one check interval."""
    DELETED = "deleted"
    """It came long before the predicted time: the offset, its group or its topic was deleted. No prediction failed."""
    LATE = "late"
    """It came later than one check interval after the predicted time."""
    MISSING = "missing"
    """There is no tombstone after two check intervals."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Overdue:
    """Offsets whose predicted time has passed: key, predicted time, since when they are due, and whether missing."""

    keys: pa.BinaryArray
    predicted: Times
    since: Times
    missing: NDArray[np.bool_]

    def look_up(self, keys: pa.BinaryArray, predicted: Times, since: Times) -> tuple[Times, NDArray[np.bool_]]:
        """Return since when these offsets are due (`since` if not in the table), and which are already missing.

        Another predicted time makes it another prediction: after a new commit, or with another retention.
        """
        if not len(self.keys):
            return since, np.zeros(len(keys), np.bool_)
        rows = find_rows(self.keys, keys)
        same = (rows >= 0) & (self.predicted[rows] == predicted)
        return np.where(same, self.since[rows], since), same & self.missing[rows]

    def only_missing(self) -> _Overdue:
        """Return the rows of missing offsets."""
        rows = np.flatnonzero(self.missing)
        return _Overdue(self.keys.take(pa.array(rows)), self.predicted[rows], self.since[rows], self.missing[rows])


class ExpiryCheck:
    """Counts the outcomes of predictions since its creation. Not thread-safe: the owner holds a lock.

    Keys are those of the runs. Call `update` only while the reader keeps up with the topic, and `restart` after a time
    in which it did not: a tombstone that has not been read yet is not missing.
    """

    def __init__(self) -> None:
        self.counts = dict.fromkeys(PredictionOutcome, 0)
        """The number of predictions by outcome."""
        self.errors = np.zeros(len(BOUNDS) + 1, np.int64)
        """The number of expired offsets by the seconds from their predicted to their actual removal, per bound."""
        self.total_error = 0.0
        """The sum of these seconds; the error of a late tombstone is positive."""
        none = np.empty(0, np.int64)
        self._overdue = _Overdue(pa.array([], pa.binary()), none, none, np.empty(0, np.bool_))
        self._updated: int | None = None

    def update(
        self, keys: pa.BinaryArray, predicted: Times, now: int, retention: OffsetsRetention
    ) -> NDArray[np.bool_]:
        """Return a mask of the offsets whose tombstone is missing, given all offsets and their predicted times.

        Predicted times are in ms, `NEVER` or `UNKNOWN`. Each missing tombstone is counted once.
        """
        rows = np.flatnonzero((predicted >= 0) & (predicted <= now))
        mask = np.zeros(len(predicted), np.bool_)
        keys, predicted = keys.take(pa.array(rows)), predicted[rows]
        since, counted = self._overdue.look_up(keys, predicted, self._due(predicted, now))
        missing = counted | (now - since > missing_after(retention))
        self.counts[PredictionOutcome.MISSING] += int((missing & ~counted).sum())
        self._overdue = _Overdue(keys, predicted, since, missing)
        self._updated = now
        mask[rows[missing]] = True
        return mask

    def restart(self) -> None:
        """Start counting overdue time at the next update, because brokers or the reader were stopped until then."""
        self._overdue = self._overdue.only_missing()
        self._updated = None

    def record_tombstones(
        self, removed: Sequence[RemovedOffset], predicted: Times, retention: OffsetsRetention
    ) -> list[PredictionOutcome | None]:
        """Return the outcomes of removed offsets, given the times predicted for them (`predict_removed`).

        None if there was no prediction. A tombstone that was counted as missing is late and not counted again.
        """
        keys = pa.array([each.key for each in removed], pa.binary())
        time = np.array([each.time for each in removed], np.int64)
        due, counted = self._overdue.look_up(keys, predicted, self._due(predicted, 0))
        deleted = (predicted == NEVER) | ((predicted >= 0) & (time < predicted - _max_early(retention)))
        early = (predicted >= 0) & ~deleted & (time < predicted - TOLERANCE_MS)
        late = (predicted >= 0) & ~deleted & ~early & (time > due + late_after(retention))
        kept = (predicted >= 0) & ~deleted & ~early & ~late
        outcomes = np.full(len(predicted), None, object)
        masks = {
            PredictionOutcome.DELETED: deleted,
            PredictionOutcome.EARLY: early,
            PredictionOutcome.LATE: late,
            PredictionOutcome.KEPT: kept,
        }
        for outcome, rows in masks.items():
            self.counts[outcome] += int((rows & ~counted).sum())
            outcomes[rows] = outcome
        seconds = (time - np.clip(time, predicted, due))[late | kept] / 1000
        self.errors += np.bincount(np.searchsorted(BOUNDS, seconds), minlength=len(self.errors))
        self.total_error += float(seconds.sum())
        return outcomes.tolist()

    def _due(self, predicted: Times, now: int) -> Times:
        """Return since when offsets are due: if before the last update, they became due after it."""
        return np.maximum(predicted, now if self._updated is None else self._updated)


def _max_early(retention: OffsetsRetention) -> int:
    """Return how early (ms) a tombstone can be because of a wrong prediction; earlier ones are deletions.

    The log does not distinguish deletion from expiration. A deletion can happen at any time, but rarely falls into the
    last check interval of the broker or the last tenth of a short retention.
    """
    share = late_after(retention) if retention.retention_ms is None else retention.retention_ms // 10
    return max(min(late_after(retention), share), TOLERANCE_MS)
