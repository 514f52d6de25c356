"""The lags and rates of all groups in the latest snapshots, so that a chart does not start empty. Minutes, no history.

A snapshot is recorded when any client reads it, also Prometheus. Its columns are shared, not copied, except the rates.
"""

import collections
import dataclasses
import threading
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.page.document import Sample
from exporters.page.live_groups import RATES, LagPoint, with_rates
from exporters.readmodel import Snapshot

BYTES: Final = 32 * 1024 * 1024
"""Limit of the kept columns: about 15 minutes of 5,000 groups."""
SAMPLES: Final = 360
"""Limit of the kept snapshots: an hour at the default tick."""
TREND_POINTS: Final = 60
"""Limit of the points of a trend."""
_COLUMNS: Final = ("group", "lag_sum", "time_lag_max", "time_lag_max_exact")


@dataclasses.dataclass(frozen=True, slots=True)
class _SnapshotLags:
    """The columns of the groups of one snapshot, and their size in bytes."""

    taken_at: float
    groups: pa.Table
    size: int

    def of_groups(self, groups: pa.Array) -> list[int | None]:
        """Return the lag of each group; None if it is unknown, or the snapshot does not have the group."""
        names = self.groups.column("group").cast(pa.string()).combine_chunks()
        lags: list[int | None] = self.groups.column("lag_sum").take(pc.index_in(groups, value_set=names)).to_pylist()
        return lags

    def of_group(self, group: str) -> Sample | None:
        """Return the sample of a group, None if the snapshot does not have the group."""
        row = pc.index(self.groups.column("group").cast(pa.string()), pa.scalar(group)).as_py()
        if row < 0:
            return None
        lag, time_lag, exact, produced, consumed = (
            self.groups.column(column)[row].as_py() for column in (*_COLUMNS[1:], *RATES)
        )
        return self.taken_at, lag, time_lag, exact, produced, consumed


class LagSamples:
    """The kept snapshots, the oldest first. Thread-safe."""

    def __init__(self, limit: int = BYTES) -> None:
        """`limit` is in bytes; the newest snapshot is always kept."""
        self._limit = limit
        self._lock = threading.Lock()
        self._snapshots = collections.deque[_SnapshotLags]()
        self._size = 0

    def record(self, snapshot: Snapshot) -> None:
        """Add a snapshot, unless it is not newer than the newest one."""
        with self._lock:
            if self._snapshots and snapshot.taken_at <= self._snapshots[-1].taken_at:
                return
            groups = with_rates(snapshot.groups.select(_COLUMNS), snapshot.partitions)
            self._snapshots.append(_SnapshotLags(snapshot.taken_at, groups, groups.nbytes))
            self._size += groups.nbytes
            while len(self._snapshots) > 1 and (self._size > self._limit or len(self._snapshots) > SAMPLES):
                self._size -= self._snapshots.popleft().size

    def of_group(self, group: str) -> list[Sample]:
        """Return the samples of a group, the oldest first."""
        with self._lock:
            snapshots = list(self._snapshots)
        return [sample for each in snapshots if (sample := each.of_group(group)) is not None]

    def trends(self, groups: Sequence[str]) -> dict[str, list[LagPoint]]:
        """Return the lags of groups over the kept snapshots, the oldest first, at most TREND_POINTS of each."""
        with self._lock:
            snapshots = list(self._snapshots)
        step = -(-len(snapshots) // TREND_POINTS) or 1
        # Counted from the newest, which is always one of the points.
        chosen = snapshots[::-1][::step][::-1]
        names = pa.array(groups, pa.string())
        columns = [each.of_groups(names) for each in chosen]
        times = [each.taken_at for each in chosen]
        return {name: list(zip(times, lags, strict=True)) for name, *lags in zip(groups, *columns, strict=True)}
