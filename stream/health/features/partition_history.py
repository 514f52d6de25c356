"""What health remembers of the cluster from tick to tick: ends, log starts, and how long each has stood still.

Lost with the process, and seeded anew by offsets-for-times; only verdicts survive (`stream.health.hysteresis`).
"""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

import numpy as np

from stream.health.features import lag as lags
from stream.health.features.end_history import EndHistory
from stream.health.features.stable_ids import NameIds, PartitionIds
from stream.health.inputs import GroupStage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream.health.columns import Ints
    from stream.health.inputs import HealthInputs

_GAP_TICKS = 3
"""A longer pause between two looks is a time in which nothing was seen."""
_LOG_START_POINTS = 12
"""A log start moves by segments, a few times an hour: twelve points are six moves."""


class PartitionHistory:
    """Rows of the histories belong to (topic, partition), whichever groups read it."""

    def __init__(self, points: int = 48, *, tick: int = 10_000) -> None:
        """Keep so many points of the history of each end; looks are `tick` ms apart."""
        self.high_watermark = EndHistory(points)
        self.log_start = EndHistory(_LOG_START_POINTS)
        self._groups, self._topics = NameIds(), NameIds()
        self._places = PartitionIds()
        self._dropped = 0
        self._stable = np.empty(0, np.int64)
        self._stable_since = np.empty(0, np.int64)
        # By place: the longest standstill of the last stable offset that is over; each one after it halves that.
        self._stood = np.empty(0, np.int64)
        # By place: when the last stable offset last moved on after it stood still (-1: never seen), and where it stood.
        self._freed, self._freed_from = np.empty(0, np.int64), np.empty(0, np.int64)
        self._tick, self._gap = tick, _GAP_TICKS * tick
        # By place: when its end was last known, whether it has been asked for in vain since, since when it is again.
        self._answered, self._back = np.empty(0, np.int64), np.empty(0, np.int64)
        self._missed = np.empty(0, np.bool_)
        # By place: the newest end; the highest one if it has gone back since (-1), and when that was first seen.
        self._end, self._peak, self._fell = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
        self._rebalanced: dict[str, int] = {}
        # By group, topic and partition without any commit: since when it is so, and when it was last seen.
        self._uncommitted: dict[tuple[str, str, int], tuple[int, int]] = {}

    @property
    def nbytes(self) -> int:
        """How much memory the histories take."""
        return self.high_watermark.nbytes + self.log_start.nbytes

    def row_keys(self, seen: HealthInputs) -> Ints:
        """Give each row a number of its own that stays the same from tick to tick (16 M groups, 1 M topics)."""
        group, topic = self._groups.assign(seen.groups.names), self._topics.assign(seen.topics)
        return (group[seen.group] << 40) | (topic[seen.topic] << 20) | seen.partition.astype(np.int64)

    def observe(self, seen: HealthInputs) -> Ints:
        """Note the ends of one moment; give the row of each of them, -1 where it is not known now."""
        topics = self._topics.assign(seen.topics)
        places = (topics[seen.ends.place >> 32] << 32) | (seen.ends.place & 0xFFFFFFFF)
        if self._topics.removed > self._dropped:
            self._dropped = self._topics.removed
            self._keep(self._places.retain(places))
        rows = self._places.assign(places)
        self._grow(len(self._places))
        if seen.recreated is not None and len(seen.recreated):
            self._forget(rows[np.isin(seen.ends.place >> 32, seen.recreated)])
        self._note_answers(rows, seen)
        known = np.flatnonzero(seen.ends.known)
        self._note_falls(rows[known], seen.ends.high_watermark[known], seen.now)
        self.high_watermark.observe(rows[known], seen.now, seen.ends.high_watermark[known])
        self.log_start.observe(rows[known], seen.now, seen.ends.log_start[known])
        self._note_stable(seen, rows)
        return np.where(seen.ends.known, rows, -1)

    def seed(self, seen: HealthInputs, time: Ints, offset: Ints) -> None:
        """Put the answers of offsets-for-times in front of the histories; one row of `offset` per row of `seen.ends`.

        To be called once, right after the first `observe`. See `EndHistory.seed` for what the answers may be.
        """
        topics = self._topics.assign(seen.topics)
        places = (topics[seen.ends.place >> 32] << 32) | (seen.ends.place & 0xFFFFFFFF)
        self.high_watermark.seed(self._places.assign(places), time, offset)

    def add_past_ends(self, rows: Ints, time: Ints, offset: Ints) -> None:
        """Note where ends stood in the past (rows of the histories, ms), as it became known since."""
        self.high_watermark.insert(rows, time, offset)

    def find_rows(self, seen: HealthInputs, places: Ints) -> Ints:
        """Give each place, numbered by the topics of `seen`, its row of the histories; -1: it was never seen."""
        if not len(places):
            return places
        topics = self._topics.assign(seen.topics)
        return self._places.find((topics[places >> 32] << 32) | (places & 0xFFFFFFFF))

    def stable_since(self, rows: Ints) -> Ints:
        """Since when the last stable offset stands where it does, below the high watermark; -1 where it does not."""
        if not len(self._stable_since):
            return np.full(len(rows), -1, np.int64)
        return np.where(rows >= 0, self._stable_since[rows], -1)

    def stood_still(self, rows: Ints) -> Ints:
        """Return how long (ms) earlier transactions kept the last stable offset in place, at least; 0 where unknown."""
        if not len(self._stood):
            return np.zeros(len(rows), np.int64)
        return np.where(rows >= 0, self._stood[rows], 0)

    def readable_since(self, rows: Ints, next_offset: Ints) -> Ints:
        """Return since when consumers of committed records can read these offsets (ms); -1: not known to be recent."""
        if not len(self._freed):
            return np.full(len(rows), -1, np.int64)
        return np.where((rows >= 0) & (next_offset >= self._freed_from[rows]), self._freed[rows], -1)

    def answered_since(self, rows: Ints) -> Ints:
        """Since when the end is known again after it was not (ms); -1: as long as it is watched."""
        if not len(self._back):
            return np.full(len(rows), -1, np.int64)
        return np.where(rows >= 0, self._back[rows], -1)

    def is_truncated(self, rows: Ints, now: int) -> NDArray[np.bool_]:
        """Tell which ends have gone back and have not come up to where they were since.

        Not at the first look: a new leader may for a moment know less than the old one did (KIP-207).
        """
        if not len(self._peak):
            return np.zeros(len(rows), np.bool_)
        cut: NDArray[np.bool_] = (rows >= 0) & (self._peak[rows] >= 0) & (self._fell[rows] < now)
        return cut

    def record_missed_tick(self) -> None:
        """Note that nobody answered at a tick."""
        self._missed[:] = self._answered >= 0

    def settled_since(self, seen: HealthInputs) -> Ints:
        """Since when each group stands where it does (ms, -1 not known), or was last seen to rebalance.

        That a rebalance is over may be told before the record of it has been read.
        """
        names, stage = seen.groups.names, seen.groups.stage
        for at in np.flatnonzero(stage == GroupStage.REBALANCING).tolist():
            self._rebalanced[names[at]] = seen.now
        since = seen.groups.since.copy()
        for name, time in list(self._rebalanced.items()):
            at = bisect.bisect_left(names, name)
            if at == len(names) or names[at] != name or since[at] > time:
                del self._rebalanced[name]
            else:
                since[at] = time if stage[at] != GroupStage.REBALANCING else since[at]
        return since

    def uncommitted_since(self, seen: HealthInputs, rows: Ints, keep: int) -> Ints:
        """Since when each of these rows, all there are without any commit, belongs to its group (ms).

        A rebalance does not begin it anew, nor does an absence of up to `keep` ms: the group may be restarted.
        """
        names, topics = seen.groups.names, seen.topics
        known = {key: told for key, told in self._uncommitted.items() if seen.now - told[1] <= keep}
        since = np.empty(len(rows), np.int64)
        columns = (seen.group[rows].tolist(), seen.topic[rows].tolist(), seen.partition[rows].tolist())
        settled = seen.groups.since[seen.group[rows]].tolist()
        for at, (group, topic, partition, formed) in enumerate(zip(*columns, settled, strict=True)):
            key = names[group], topics[topic], partition
            since[at] = known[key][0] if key in known else formed
            known[key] = int(since[at]), seen.now
        self._uncommitted = known
        return since

    def _note_answers(self, rows: Ints, seen: HealthInputs) -> None:
        asked = self._answered[rows] >= 0
        self._missed[rows[asked & ~seen.ends.known]] = True
        known = rows[seen.ends.known]
        again = known[
            (self._answered[known] >= 0) & (self._missed[known] | (seen.now - self._answered[known] > self._gap))
        ]
        self._back[again] = seen.now
        self._missed[known], self._answered[known] = False, seen.now

    def _note_falls(self, rows: Ints, end: Ints, now: int) -> None:
        before, peak = self._end[rows], self._peak[rows]
        fell = end < before
        self._fell[rows[fell & (peak < 0)]] = now
        peak = np.where(fell, np.maximum(peak, before), peak)
        self._peak[rows], self._end[rows] = np.where(end >= peak, -1, peak), end

    def _note_stable(self, seen: HealthInputs, rows: Ints) -> None:
        stable = seen.ends.last_stable
        if stable is None:
            return
        held = seen.ends.known & (stable >= 0) & (stable < seen.ends.high_watermark)
        moved = stable != self._stable[rows]
        before = self._stable_since[rows]
        ended = seen.ends.known & (stable >= 0) & moved & (before >= 0)
        # It may have moved right after the look before this one.
        lasted = np.maximum(seen.now - before - self._tick, self._stood[rows] // 2)
        self._stood[rows] = np.where(ended, lasted, self._stood[rows])
        self._freed[rows] = np.where(ended, seen.now, self._freed[rows])
        self._freed_from[rows] = np.where(ended, self._stable[rows], self._freed_from[rows])
        since = np.where(moved | (before < 0), seen.now, before)
        self._stable_since[rows] = np.where(held, since, lags.NOT_KNOWN)
        self._stable[rows] = stable

    def _grow(self, rows: int) -> None:
        self.high_watermark.grow(rows)
        self.log_start.grow(rows)
        more = np.full(max(rows - len(self._stable), 0), -1, np.int64)
        self._stable = np.concatenate([self._stable, more])
        self._stable_since = np.concatenate([self._stable_since, more])
        self._stood = np.concatenate([self._stood, np.zeros(len(more), np.int64)])
        self._freed, self._freed_from = np.concatenate([self._freed, more]), np.concatenate([self._freed_from, more])
        self._answered, self._back = np.concatenate([self._answered, more]), np.concatenate([self._back, more])
        self._missed = np.concatenate([self._missed, np.zeros(len(more), np.bool_)])
        self._end, self._peak = np.concatenate([self._end, more]), np.concatenate([self._peak, more])
        self._fell = np.concatenate([self._fell, more])

    def _keep(self, rows: Ints) -> None:
        self.high_watermark.keep_rows(rows)
        self.log_start.keep_rows(rows)
        self._stable, self._stable_since = self._stable[rows], self._stable_since[rows]
        self._stood, self._freed, self._freed_from = self._stood[rows], self._freed[rows], self._freed_from[rows]
        self._answered, self._back, self._missed = self._answered[rows], self._back[rows], self._missed[rows]
        self._end, self._peak, self._fell = self._end[rows], self._peak[rows], self._fell[rows]

    def _forget(self, rows: Ints) -> None:
        self.high_watermark.clear(rows)
        self.log_start.clear(rows)
        self._stable_since[rows] = self._answered[rows] = self._back[rows] = -1
        self._missed[rows] = False
        self._stood[rows] = 0
        self._freed[rows] = self._freed_from[rows] = -1
        self._end[rows] = self._peak[rows] = -1
