"""What the latest snapshots said of each group's lag, so that a chart does not begin empty. Minutes; not a history.

A snapshot is noted when somebody reads it, be it Prometheus, and only referred to: its columns are shared, not copied.
"""

from __future__ import annotations

import collections
import dataclasses
import threading
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from exporters.page.document import Sample
    from exporters.readmodel import Snapshot

BYTES: Final = 32 * 1024 * 1024
"""How much is kept: some 20 minutes of 5,000 groups."""
SAMPLES: Final = 360
"""How many moments are kept at most: an hour at the default tick."""
_COLUMNS: Final = ("group", "lag_sum", "time_lag_max", "time_lag_max_exact")


@dataclasses.dataclass(frozen=True, slots=True)
class _Moment:
    taken_at: float
    groups: pa.Table
    size: int

    def of(self, group: str) -> Sample | None:
        """Give a group's numbers at this moment."""
        row = pc.index(self.groups.column("group").cast(pa.string()), pa.scalar(group)).as_py()
        if row < 0:
            return None
        lag, time_lag, exact = (self.groups.column(column)[row].as_py() for column in _COLUMNS[1:])
        return self.taken_at, lag, time_lag, exact


class LagSamples:
    """The moments that are kept, the oldest first. May be used from several threads."""

    def __init__(self, limit: int = BYTES) -> None:
        """Keep at most so many bytes; the newest moment is always kept."""
        self._limit = limit
        self._lock = threading.Lock()
        self._moments = collections.deque[_Moment]()
        self._size = 0

    def note(self, snapshot: Snapshot) -> None:
        """Take in a snapshot, unless it is known. What is older than the newest is not put in between."""
        with self._lock:
            if self._moments and snapshot.taken_at <= self._moments[-1].taken_at:
                return
            groups = snapshot.groups.select(_COLUMNS)
            self._moments.append(_Moment(snapshot.taken_at, groups, groups.nbytes))
            self._size += groups.nbytes
            while len(self._moments) > 1 and (self._size > self._limit or len(self._moments) > SAMPLES):
                self._size -= self._moments.popleft().size

    def of(self, group: str) -> list[Sample]:
        """Give what is known of a group, the oldest first."""
        with self._lock:
            moments = list(self._moments)
        return [sample for moment in moments if (sample := moment.of(group)) is not None]
