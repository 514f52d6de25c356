"""The lags and rates of all groups in the latest snapshots, so that a chart does not start empty. Minutes, no history.

A snapshot is recorded when any client reads it, also Prometheus. Its columns are shared, not copied, except the rates.
"""

import collections
import math
import threading
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from exporters.page.document import Sample
from exporters.page.live_groups import LagPoint, with_rates
from exporters.readmodel import Snapshot

BYTES: Final = 32 * 1024 * 1024
"""Limit of the kept columns: about 15 minutes of 5,000 groups."""
SAMPLES: Final = 360
"""Limit of the kept snapshots: an hour at the default tick."""
TREND_POINTS: Final = 60
"""Limit of the points of a trend."""
_COLUMNS: Final = ("group", "lag_sum", "time_lag_max", "time_lag_max_exact")


class LagSamples:
    """The kept snapshots, the oldest first. Thread-safe."""

    def __init__(self, limit: int = BYTES) -> None:
        """`limit` is in bytes; the newest snapshot is always kept."""
        self._limit = limit
        self._lock = threading.Lock()
        self._snapshots = collections.deque[tuple[float, pa.Table]]()
        self._size = 0

    def record(self, snapshot: Snapshot) -> None:
        """Add a snapshot, unless it is not newer than the newest one."""
        with self._lock:
            if self._snapshots and snapshot.taken_at <= self._snapshots[-1][0]:
                return
            groups = with_rates(snapshot.groups.select(_COLUMNS), snapshot.partitions)
            self._snapshots.append((snapshot.taken_at, groups))
            self._size += groups.nbytes
            while len(self._snapshots) > 1 and (self._size > self._limit or len(self._snapshots) > SAMPLES):
                self._size -= self._snapshots.popleft()[1].nbytes

    def of_group(self, group: str) -> list[Sample]:
        """Return the samples of a group, the oldest first."""
        with self._lock:
            snapshots = list(self._snapshots)
        samples = []
        for taken_at, groups in snapshots:
            row = pc.index(groups.column("group").cast(pa.string()), pa.scalar(group)).as_py()
            if row >= 0:
                _, lag, time_lag, exact, produced, consumed = groups.slice(row, 1).to_pylist()[0].values()
                samples.append((taken_at, lag, time_lag, exact, produced, consumed))
        return samples

    def trends(self, groups: Sequence[str]) -> dict[str, list[LagPoint]]:
        """Return the lags of groups over the kept snapshots, the oldest first, at most TREND_POINTS of each.

        A lag is None if it is unknown, or the snapshot does not have the group.
        """
        with self._lock:
            snapshots = list(self._snapshots)
        # Counted from the newest, which is always one of the points.
        chosen = snapshots[:: -math.ceil(len(snapshots) / TREND_POINTS)][::-1] if snapshots else []
        wanted, columns = pa.array(groups, pa.string()), list[list[int | None]]()
        for _, table in chosen:
            names = table.column("group").cast(pa.string()).combine_chunks()
            columns.append(table.column("lag_sum").take(pc.index_in(wanted, value_set=names)).to_pylist())
        times = [taken_at for taken_at, _ in chosen]
        return {name: list(zip(times, lags, strict=True)) for name, *lags in zip(groups, *columns, strict=True)}
