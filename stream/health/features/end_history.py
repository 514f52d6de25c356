"""What the ends of partitions were, and when: (time, offset) points per partition in bounded columns.

Answers two questions: when was this record written, and where was the end then. Between two points it interpolates;
beyond them it says so and never extrapolates.

A partition keeps at most `points` of them. A stretch without new records costs two, however long. When a partition's
points run out, a quarter of them goes: those whose loss moves the answer least, measured against how long ago they are.
So the recent past is known to the tick, an hour ago to a minute or so, and the oldest point is kept for ever. Eight
bytes twice per point: 48 points of 200,000 partitions are 154 MB, those of 5,000 partitions 4 MB.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from stream.health.columns import Codes, Flags, Ints

UNKNOWN_OFFSET: Final = -1
NO_LATER_RECORD: Final = -1
"""In a seed: Kafka found no record at or after that time, so the end was then what it is now."""
NOT_ANSWERED: Final = -2
"""In a seed: not known."""
_UNUSED: Final = np.iinfo(np.int64).max
"""In the points of a row that it does not have (yet)."""


class BracketQuality(enum.IntEnum):
    """How well a moment is known."""

    UNKNOWN = 0
    BETWEEN = 1
    """Between two points: interpolated, wrong by less than the time between them."""
    OLDER = 2
    """Older than the oldest point, whose time is given instead."""
    NEWER = 3
    """Not below the newest end: as of the newest point, whose time is given, there was no such record."""


@dataclasses.dataclass(frozen=True, slots=True)
class Brackets:
    """Between which points the moments lie at which offsets were written; one element per offset. Times in ms."""

    since: Ints
    """-1 where the offset is below the oldest point."""
    until: Ints
    start: Ints
    """The ends at these two moments."""
    end: Ints
    quality: Codes
    """`BracketQuality`. Without points on both sides `start` and `end` mean nothing."""


class EndHistory:
    """Rows are numbers that the holder gives to partitions; they start out without points."""

    def __init__(self, points: int = 48) -> None:
        if points < 8:
            raise ValueError(f"a history of {points} points cannot be thinned: 8 at least")
        self._points = points
        self._spare = points // 4
        self._time = np.empty((0, points), np.int64)
        self._offset = np.empty((0, points), np.int64)
        self._count = np.empty(0, np.int64)
        self._turn = 0

    def __len__(self) -> int:
        return len(self._count)

    @property
    def nbytes(self) -> int:
        """How much memory the points take."""
        return self._time.nbytes + self._offset.nbytes + self._count.nbytes

    def grow(self, rows: int) -> None:
        """Make room for at least this many rows."""
        more = rows - len(self)
        if more > 0:
            none = np.full((more, self._points), _UNUSED, np.int64)
            self._time = np.concatenate([self._time, none])
            self._offset = np.concatenate([self._offset, none])
            self._count = np.concatenate([self._count, np.zeros(more, np.int64)])

    def keep_rows(self, rows: Ints) -> None:
        """Keep these rows, in this order; the others are forgotten."""
        self._time, self._offset, self._count = self._time[rows], self._offset[rows], self._count[rows]

    def clear(self, rows: Ints) -> None:
        """Drop the points of these rows: their topic was made anew."""
        self._time[rows] = self._offset[rows] = _UNUSED
        self._count[rows] = 0

    def observe(self, rows: Ints, time: int, offset: Ints) -> None:
        """Note the ends of these rows (none twice) at one moment.

        An end below the last one means that the log was cut: what was known of it goes. A moment not after the last
        one (the clock was set back) is ignored.
        """
        flat = rows * self._points
        count = self._count[rows]
        last = flat + np.maximum(count - 1, 0)
        times, offsets = self._time.reshape(-1), self._offset.reshape(-1)
        later = (count == 0) | (times[last] < time)
        if not later.all():
            self.observe(rows[later], time, offset[later])
            return
        cut = (count > 0) & (offset < offsets[last])
        if cut.any():
            self.clear(rows[cut])
            count = np.where(cut, 0, count)
        still = (count >= 2) & (offsets[last] == offset) & (offsets[np.maximum(last - 1, 0)] == offset)
        at = np.where(still, count - 1, count)
        times[flat + at] = time
        offsets[flat + at] = offset
        self._count[rows] = at + 1
        self._thin(rows, at + 1, time)

    def seed(self, rows: Ints, time: Ints, offset: Ints) -> None:
        """Put what was before in front: the answers of offsets-for-times, `offset[row, time]`, times ascending.

        An answer is the first offset written at or after the time: the end as it was then. Only rows that have a
        point take a seed. Answers that contradict a later one (timestamps need not ascend in a log) are lowered to it.
        """
        rows, which = rows[self._count[rows] > 0], self._count[rows] > 0
        count = self._count[rows]
        first_time, first = self._time[rows, 0], self._offset[rows, 0]
        answers = np.where(offset[which] == NO_LATER_RECORD, first[:, None], offset[which])
        usable = (answers >= 0) & (time[None, :] < first_time[:, None])
        bounded = np.where(usable, np.minimum(answers, first[:, None]), first[:, None])
        bounded = np.minimum.accumulate(bounded[:, ::-1], axis=1)[:, ::-1]
        room = self._points - self._spare - count
        usable &= usable[:, ::-1].cumsum(axis=1)[:, ::-1] <= room[:, None]  # the newest ones, if not all fit
        width = len(time)
        old_time, old_offset = self._time[rows], self._offset[rows]
        given = np.concatenate([np.broadcast_to(time, (len(rows), width)), old_time], axis=1)
        ends = np.concatenate([bounded, old_offset], axis=1)
        wanted = np.concatenate([usable, np.arange(self._points)[None, :] < count[:, None]], axis=1)
        order = np.argsort(~wanted, axis=1, kind="stable")[:, : self._points]
        self._count[rows] = wanted.sum(axis=1)
        used = np.arange(self._points)[None, :] < self._count[rows][:, None]
        self._time[rows] = np.where(used, np.take_along_axis(given, order, axis=1), _UNUSED)
        self._offset[rows] = np.where(used, np.take_along_axis(ends, order, axis=1), _UNUSED)

    def insert(self, rows: Ints, time: Ints, offset: Ints) -> None:
        """Put in what became known later: the end of each row (may repeat) at a time before its newest point.

        What contradicts the points around it is moved to them; a time that has a point already, and one at or after
        the newest, is left out.
        """
        while len(rows):
            _, first = np.unique(rows, return_index=True)
            self._insert(rows[first], time[first], offset[first])
            rest = np.ones(len(rows), np.bool_)
            rest[first] = False
            rows, time, offset = rows[rest], time[rest], offset[rest]

    def _insert(self, rows: Ints, time: Ints, offset: Ints) -> None:
        # One point stays free: the next look puts its own there.
        for size in (self._points - 1, self._points):
            full = rows[self._count[rows] == size]
            if len(full):
                self._thin_rows(full, size, int(self._time[full, size - 1].max()) + 1)
        at = self._search(self._time, rows, time)
        before = np.maximum(at - 1, 0)
        inner = (self._count[rows] > 0) & (at < self._count[rows])
        inner &= (at == 0) | (self._time[rows, before] != time)
        rows, time, offset, at, before = rows[inner], time[inner], offset[inner], at[inner], before[inner]
        low = np.where(at > 0, self._offset[rows, before], 0)
        place = np.arange(self._points)[None, :]
        moved = np.where(place <= at[:, None], place, place - 1)
        offset = np.clip(offset, low, self._offset[rows, at])
        for column, value in ((self._time, time), (self._offset, offset)):
            shifted = np.take_along_axis(column[rows], moved, axis=1)
            shifted[np.arange(len(rows)), at] = value
            column[rows] = shifted
        self._count[rows] += 1

    def brackets(self, rows: Ints, offset: Ints) -> Brackets:
        """Say between which points these offsets were written."""
        after = self._search(self._offset, rows, offset)
        times, left, right, found = self._bracket(rows, after)
        ends = self._offset.reshape(-1)
        since = np.where(found == BracketQuality.OLDER, -1, times[left])
        return Brackets(since, times[right], ends[left], ends[right], found)

    def oldest_time(self, rows: Ints) -> Ints:
        """Give the time of the oldest point, -1 where there is none."""
        return np.where(self._count[rows] > 0, self._time[rows, 0], -1)

    def oldest_end(self, rows: Ints) -> Ints:
        """Give the end at the oldest point, -1 where there is none."""
        return np.where(self._count[rows] > 0, self._offset[rows, 0], UNKNOWN_OFFSET)

    def points(self, row: int) -> tuple[list[int], list[int]]:
        """Give the times and the ends of one row, oldest first."""
        count = int(self._count[row])
        return self._time[row, :count].tolist(), self._offset[row, :count].tolist()

    def time_of(self, rows: Ints, offset: Ints) -> tuple[Ints, Codes]:
        """Say when the records with these offsets were written, and how well that is known (`BracketQuality`)."""
        after = self._search(self._offset, rows, offset)
        times, left, right, found = self._bracket(rows, after)
        o = self._offset.reshape(-1)
        share = (offset - o[left] + 0.5) / np.maximum(o[right] - o[left], 1)
        between = times[left] + (share * (times[right] - times[left])).astype(np.int64)
        return np.where(
            found == BracketQuality.BETWEEN, between, np.where(found == BracketQuality.OLDER, times[left], times[right])
        ), found

    def end_at(self, rows: Ints, time: Ints) -> Ints:
        """Say where the ends were at these times; -1 before the oldest point, the newest end after the newest."""
        if not len(self):  # no end of any partition was ever known
            return np.full(len(rows), UNKNOWN_OFFSET, np.int64)
        after = self._search(self._time, rows, time)
        times, left, right, found = self._bracket(rows, after)
        o = self._offset.reshape(-1)
        share = (time - times[left]) / np.maximum(times[right] - times[left], 1)
        between = o[left] + np.rint(share * (o[right] - o[left])).astype(np.int64)
        given = np.where(found == BracketQuality.BETWEEN, between, o[right])
        return np.where((found == BracketQuality.UNKNOWN) | (found == BracketQuality.OLDER), UNKNOWN_OFFSET, given)

    def _bracket(self, rows: Ints, after: Ints) -> tuple[Ints, Ints, Ints, Codes]:
        """Give all times in one line, the indices of the points on both sides, and where that leaves the question."""
        count = self._count[rows]
        flat, last = rows * self._points, np.maximum(count - 1, 0)
        found = np.full(len(rows), BracketQuality.BETWEEN, np.int8)
        found[after >= count] = BracketQuality.NEWER
        found[after == 0] = BracketQuality.OLDER
        found[count == 0] = BracketQuality.UNKNOWN
        return self._time.reshape(-1), flat + np.maximum(after - 1, 0), flat + np.minimum(after, last), found

    def _search(self, column: Ints, rows: Ints, value: Ints) -> Ints:
        """Count the points of each row that are at or below the value.

        All rows take the same steps, which is what makes it fast: unused points are above any value.
        """
        line = column.reshape(-1)
        first = rows * self._points
        at, size = first.copy(), int(self._count[rows].max(initial=1))
        while size > 1:
            half = size // 2
            at += half * (line[at + (half - 1)] <= value)
            size -= half
        at += line[at] <= value
        at -= first
        return at

    def _thin(self, rows: Ints, count: Ints, now: int) -> None:
        """Make room in rows that are full, and in turn in those that soon will be, so that no tick pays for all."""
        self._turn += 1
        due = (count == self._points) | (
            (count > self._points - self._spare) & ((rows + self._turn) % self._spare == 0)
        )
        full = rows[due & (count > self._points - self._spare)]
        for size in np.unique(self._count[full]).tolist():
            self._thin_rows(full[self._count[full] == size], size, now)

    def _thin_rows(self, rows: Ints, size: int, now: int) -> None:
        """Drop a quarter of the points of rows that have this many. No two neighbours go together."""
        times, offsets = self._time[rows, :size], self._offset[rows, :size]
        inner = np.arange(1 + self._turn % 2, size - 1, 2)
        gone = min(self._spare, len(inner))
        loss = _loss(times, offsets, inner) / np.maximum(now - times[:, inner], 1)
        kept: Flags = np.ones((len(rows), size), np.bool_)
        drop = inner[np.argpartition(loss, gone - 1, axis=1)[:, :gone]]
        np.put_along_axis(kept, drop, values=False, axis=1)
        left = size - gone
        self._time[rows, :left] = times[kept].reshape(-1, left)
        self._offset[rows, :left] = offsets[kept].reshape(-1, left)
        self._time[rows, left:] = self._offset[rows, left:] = _UNUSED
        self._count[rows] = left


def _loss(times: Ints, offsets: Ints, inner: Ints) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """By how much (ms) the answer at each inner point moves if the point goes."""
    before, after = inner - 1, inner + 1
    rise = np.maximum(offsets[:, after] - offsets[:, before], 1)
    share = (offsets[:, inner] - offsets[:, before]) / rise
    line = times[:, before] + share * (times[:, after] - times[:, before])
    still = offsets[:, after] == offsets[:, before]
    return np.where(still, 0.0, np.abs(line - times[:, inner]))
