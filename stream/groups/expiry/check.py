"""Predicted expiries held against the tombstones that come, and those that do not.

Owns the judgement of each prediction and the counts of all; what was predicted is `expiry`'s, why something went
`causes`'s. A prediction rests on what stands in the log (times of commits and states) and on the brokers' settings, not
on how long we have watched: made in the first second after a start it is as good as one a week old. Only since when an
offset is overdue is our own observation, where its hour lay in the past as soon as it had one: a KIP-848 group that
becomes empty, or drops a topic, makes old commits due at once.

The time is the caller's.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from stream.groups.commits.run_table import find_rows
from stream.groups.expiry.broker_rules import NEVER
from stream.groups.expiry.causes import TOLERANCE_MS, late_after, missing_after
from stream.groups.expiry.predict import CommitTimesByOffset, predict_commits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from stream.groups.driver_state import RemovedOffset
    from stream.groups.expiry.broker_rules import OffsetsRetention
    from stream.groups.expiry.predict import Times
    from stream.groups.membership.memberships import Membership

BOUNDS: Final = (0.0, 1.0, 5.0, 15.0, 60.0, 120.0, 240.0, 360.0, 480.0, 600.0, 660.0, 1200.0, 3600.0)
"""Bounds of the error in seconds. A broker that looks every ten minutes spreads its tombstones evenly over the first
ten; one more minute is what its work may take; beyond it something is slow."""


class PredictionOutcome(enum.StrEnum):
    """What became of a prediction."""

    KEPT = "kept"
    """The tombstone came when the broker next looked."""
    EARLY = "early"
    """It came shortly before its time: the prediction was wrong by less than one look of the broker."""
    DELETED = "deleted"
    """It came long before its time: somebody deleted the offset, its group or its topic. No prediction failed."""
    LATE = "late"
    """It came after the broker must have looked."""
    MISSING = "missing"
    """The broker must have looked twice, and there is no tombstone."""


@dataclasses.dataclass(frozen=True, slots=True)
class PredictionErrors:
    """A cumulative histogram of the seconds between the predicted and the true end of offsets that expired."""

    bounds: tuple[float, ...]
    cumulative: tuple[int, ...]
    count: int
    total: float


@dataclasses.dataclass(frozen=True, slots=True)
class _Overdue:
    """Offsets whose hour has passed, one per row: which, their hour, since when they are due, and whether missed."""

    keys: pa.BinaryArray
    hour: Times
    since: Times
    told: NDArray[np.bool_]

    def look_up(self, keys: pa.BinaryArray, hour: Times, since: Times) -> tuple[Times, NDArray[np.bool_]]:
        """Give since when these offsets are due, and whether they were missed; `since` for one that is not among them.

        With another hour it is another prediction: a new commit, or another retention.
        """
        if not len(self.keys):
            return since, np.zeros(len(keys), np.bool_)
        rows = find_rows(self.keys, keys)
        same = (rows >= 0) & (self.hour[rows] == hour)
        return np.where(same, self.since[rows], since), same & self.told[rows]

    def missed(self) -> _Overdue:
        """Give those that were missed."""
        rows = np.flatnonzero(self.told)
        return _Overdue(self.keys.take(pa.array(rows)), self.hour[rows], self.since[rows], self.told[rows])


def _none_overdue() -> _Overdue:
    none = np.empty(0, np.int64)
    return _Overdue(pa.array([], pa.binary()), none, none, np.empty(0, np.bool_))


class ExpiryCheck:
    """Counts what became of predictions since it was made. Not thread-safe: the holder guards it.

    Keys are those of the runs. Call `tick` only while what is written is also read, and `restart` after a time in which
    it was not: a tombstone that nobody read yet is not missing.
    """

    def __init__(self) -> None:
        self._counts = dict.fromkeys(PredictionOutcome, 0)
        self._fell = np.zeros(len(BOUNDS) + 1, np.int64)
        self._total = 0.0
        self._overdue = _none_overdue()
        self._ticked: int | None = None

    def update(self, keys: pa.BinaryArray, hour: Times, now: int, retention: OffsetsRetention) -> NDArray[np.bool_]:
        """Look at all offsets and their hours (ms, `NEVER`, `UNKNOWN`); say which are missing their tombstone.

        Each is counted once, however long it is missing.
        """
        rows = np.flatnonzero((hour >= 0) & (hour <= now))
        mask = np.zeros(len(hour), np.bool_)
        keys, hour = keys.take(pa.array(rows)), hour[rows]
        since, told = self._overdue.look_up(keys, hour, self._due(hour, now))
        missing = told | (now - since > missing_after(retention))
        self._counts[PredictionOutcome.MISSING] += int((missing & ~told).sum())
        self._overdue = _Overdue(keys, hour, since, missing)
        self._ticked = now
        mask[rows[missing]] = True
        return mask

    def restart(self) -> None:
        """Count anew from the next tick since when offsets are overdue: brokers or reader stood still until then."""
        self._overdue = self._overdue.missed()
        self._ticked = None

    def record_tombstones(
        self, forgotten: Sequence[RemovedOffset], hour: Times, retention: OffsetsRetention
    ) -> list[PredictionOutcome | None]:
        """Judge tombstones by the hours that were predicted for the offsets they ended (`predict_removed`).

        None where nothing was predicted. One that had been counted as missing is late, and not counted again.
        """
        keys = pa.array([each.key for each in forgotten], pa.binary())
        time = np.array([each.time for each in forgotten], np.int64)
        due, told = self._overdue.look_up(keys, hour, self._due(hour, 0))
        deleted = (hour == NEVER) | ((hour >= 0) & (time < hour - _early_by_most(retention)))
        early = (hour >= 0) & ~deleted & (time < hour - TOLERANCE_MS)
        late = (hour >= 0) & ~deleted & ~early & (time > due + late_after(retention))
        kept = (hour >= 0) & ~deleted & ~early & ~late
        outcomes = np.full(len(hour), None, object)
        judged = {
            PredictionOutcome.DELETED: deleted,
            PredictionOutcome.EARLY: early,
            PredictionOutcome.LATE: late,
            PredictionOutcome.KEPT: kept,
        }
        for outcome, rows in judged.items():
            self._counts[outcome] += int((rows & ~told).sum())
            outcomes[rows] = outcome
        self._observe((time - np.clip(time, hour, due))[late | kept] / 1000)
        return outcomes.tolist()

    def _due(self, hour: Times, now: int) -> Times:
        """Say since when offsets are due that were not before: one due before the last tick became so after it."""
        return np.maximum(hour, now if self._ticked is None else self._ticked)

    def outcomes(self) -> dict[PredictionOutcome, int]:
        """Give how many predictions ended how."""
        return dict(self._counts)

    def errors(self) -> PredictionErrors:
        """Give the histogram of the errors; a tombstone later than predicted counts as positive."""
        cumulative = np.cumsum(self._fell)
        return PredictionErrors(BOUNDS, tuple(cumulative[:-1].tolist()), int(cumulative[-1]), self._total)

    def _observe(self, seconds: NDArray[np.float64]) -> None:
        self._fell += np.bincount(np.searchsorted(BOUNDS, seconds), minlength=len(self._fell))
        self._total += float(seconds.sum())


def _early_by_most(retention: OffsetsRetention) -> int:
    """Return by how many ms a tombstone can come too early because of a wrong prediction; what is earlier was deleted.

    The log does not tell a deletion from an expiry, but people delete at any time: hardly ever within the last look of
    the broker, or the last tenth of a short retention.
    """
    share = late_after(retention) if retention.retention_ms is None else retention.retention_ms // 10
    return max(min(late_after(retention), share), TOLERANCE_MS)


def predict_removed(
    forgotten: Sequence[RemovedOffset], memberships: Mapping[str, Membership], retention: OffsetsRetention
) -> Times:
    """Predict for offsets that are gone from their last commits; `memberships` are those before the tombstones came."""
    commits = CommitTimesByOffset(
        pa.array([each.group for each in forgotten], pa.string()).dictionary_encode(),
        pa.array([each.topic for each in forgotten], pa.string()).dictionary_encode(),
        np.array([each.last_time for each in forgotten], np.int64),
        np.array([-1 if each.expire_time is None else each.expire_time for each in forgotten], np.int64),
    )
    return predict_commits(commits, memberships, retention)
