"""The history of the end offsets of partitions: (time, end offset) points per partition in bounded columns.

It answers two questions: when was this record written, and where was the end at that time. Between two points it
interpolates; beyond them it flags the answer and never extrapolates.

A partition keeps at most `points` points. A period without new records costs two points, however long it is. When the
points of a partition run out, a quarter of them is dropped: those whose loss changes answers least, relative to their
age. So the recent past is known to the tick, an hour ago to about a minute, and the oldest point is never dropped. A
point takes 16 bytes: 48 points of 200,000 partitions take 154 MB, those of 5,000 partitions 4 MB.
"""

import dataclasses
import enum
from typing import Final

import numpy as np

from stream.health.columns import NOT_KNOWN, Codes, Flags, Ints

UNKNOWN_OFFSET: Final = -1
NO_LATER_RECORD: Final = -1
"""In a seed: Kafka found no record at or after that time, so the end has not changed since."""
NOT_ANSWERED: Final = -2
"""In a seed: not known."""
_UNUSED: Final = np.iinfo(np.int64).max
"""Value of unused points."""


class BracketQuality(enum.IntEnum):
    """The precision of an answer."""

    UNKNOWN = 0
    BETWEEN = 1
    """Between two points: interpolated, the error is less than the time between them."""
    OLDER = 2
    """Older than the oldest point, whose time is returned instead."""
    NEWER = 3
    """Not below the newest end: no such record existed at the newest point, whose time is returned."""


@dataclasses.dataclass(frozen=True, slots=True)
class Brackets:
    """The two points between which offsets were written; one element per offset. Times in ms."""

    since: Ints
    """-1 where the offset is below the oldest point."""
    until: Ints
    start: Ints
    """The end offsets at these two times."""
    end: Ints
    quality: Codes
    """`BracketQuality`. Unless it is BETWEEN, `start` and `end` mean nothing."""


class EndHistory:
    """The histories of many partitions. Rows are assigned by the caller; a new row has no points."""

    def __init__(self, points: int = 48) -> None:
        if points < 8:
            raise ValueError(f"a history needs at least 8 points, not {points}")
        self._points = points
        self._spare = points // 4
        self._time, self._offset = np.empty((2, 0, points), np.int64)
        self._count, self._version = np.empty((2, 0), np.int64)
        self._changes = 0
        self._turn = 0

    def __len__(self) -> int:
        return len(self._count)

    def grow(self, rows: int) -> None:
        """Add rows without points until there are at least `rows`."""
        more = rows - len(self)
        if more > 0:
            none, new = np.full((more, self._points), _UNUSED, np.int64), np.zeros(more, np.int64)
            self._time, self._offset = (np.concatenate([each, none]) for each in (self._time, self._offset))
            self._count, self._version = (np.concatenate([each, new]) for each in (self._count, self._version))

    def keep_rows(self, rows: Ints) -> None:
        """Keep these rows, in this order, and drop all others."""
        self._time, self._offset = self._time[rows], self._offset[rows]
        self._count, self._version = self._count[rows], self._version[rows]

    def versions(self, rows: Ints) -> Ints:
        """Return a number per row (-1: none) that changes with its answers; the same end again changes none."""
        return np.append(self._version, NOT_KNOWN)[rows]

    def _record_change(self, rows: Ints) -> None:
        self._changes += 1
        self._version[rows] = self._changes

    def clear(self, rows: Ints) -> None:
        """Drop the points of these rows, whose topic was recreated or whose log was truncated."""
        self._time[rows] = self._offset[rows] = _UNUSED
        self._count[rows] = 0
        self._record_change(rows)

    def observe(self, rows: Ints, time: int, offset: Ints) -> None:
        """Add the end offsets of these rows (without duplicates) at one time.

        An end below the previous one means that the log was truncated: the earlier points are dropped. If the clock was
        set back, the points that are not before this time are dropped.
        """
        flat = rows * self._points
        count = self._count[rows]
        last = flat + np.maximum(count - 1, 0)
        times, offsets = self._time.reshape(-1), self._offset.reshape(-1)
        is_later = (count > 0) & (times[last] >= time)
        if is_later.any():
            self._drop_from(rows[is_later], time)
            count = self._count[rows]
            last = flat + np.maximum(count - 1, 0)
        cut = (count > 0) & (offset < offsets[last])
        if cut.any():
            self.clear(rows[cut])
            count = np.where(cut, 0, count)
        still = (count >= 2) & (offsets[last] == offset) & (offsets[np.maximum(last - 1, 0)] == offset)
        at = count - still
        times[flat + at], offsets[flat + at] = time, offset
        self._count[rows] = at + 1
        self._record_change(rows[~still])
        self._thin(rows, at + 1, time)

    def seed(self, rows: Ints, time: Ints, offset: Ints) -> None:
        """Prepend the answers of ListOffsets by timestamp, `offset[row, time]`, times ascending.

        An answer is the first offset written at or after the time, which was the end at that time. Rows without a point
        are not seeded. Answers that contradict a later one (timestamps need not ascend in a log) are lowered to it.
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
        self._record_change(rows)
        order = np.argsort(~wanted, axis=1, kind="stable")[:, : self._points]
        self._count[rows] = wanted.sum(axis=1)
        used = np.arange(self._points)[None, :] < self._count[rows][:, None]
        self._time[rows] = np.where(used, np.take_along_axis(given, order, axis=1), _UNUSED)
        self._offset[rows] = np.where(used, np.take_along_axis(ends, order, axis=1), _UNUSED)

    def insert(self, rows: Ints, time: Ints, offset: Ints) -> None:
        """Insert end offsets that became known later, at times before the newest point; rows may repeat.

        An end that contradicts the points around it is clipped to them. A time that has a point already, and one at or
        after the newest point, is ignored.
        """
        while len(rows):
            _, first = np.unique(rows, return_index=True)
            self._insert(rows[first], time[first], offset[first])
            rest = np.ones(len(rows), np.bool_)
            rest[first] = False
            rows, time, offset = rows[rest], time[rest], offset[rest]

    def _insert(self, rows: Ints, time: Ints, offset: Ints) -> None:
        # One point stays free for the next tick.
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
        self._record_change(rows)

    def brackets(self, rows: Ints, offset: Ints) -> Brackets:
        """Return the points between which these offsets were written."""
        times, left, right, quality = self._bracket(rows, self._search(self._offset, rows, offset))
        ends = self._offset.reshape(-1)
        since = np.where(quality == BracketQuality.OLDER, -1, times[left])
        return Brackets(since, times[right], ends[left], ends[right], quality)

    def oldest_time(self, rows: Ints) -> Ints:
        """Return the time of the oldest point, -1 where there is none."""
        return np.where(self._count[rows] > 0, self._time[rows, 0], -1)

    def oldest_end(self, rows: Ints) -> Ints:
        """Return the end at the oldest point, -1 where there is none."""
        return np.where(self._count[rows] > 0, self._offset[rows, 0], UNKNOWN_OFFSET)

    def points(self, row: int) -> tuple[list[int], list[int]]:
        """Return the times and the ends of one row, oldest first."""
        count = int(self._count[row])
        return self._time[row, :count].tolist(), self._offset[row, :count].tolist()

    def time_of(self, rows: Ints, offset: Ints) -> tuple[Ints, Codes]:
        """Return when the records with these offsets were written (ms), and the `BracketQuality` of each answer."""
        times, left, right, quality = self._bracket(rows, self._search(self._offset, rows, offset))
        ends = self._offset.reshape(-1)
        share = (offset - ends[left] + 0.5) / np.maximum(ends[right] - ends[left], 1)
        # Beyond the points both neighbours are the same one.
        return times[left] + (share * (times[right] - times[left])).astype(np.int64), quality

    def end_at(self, rows: Ints, time: Ints) -> Ints:
        """Return the ends at these times (ms); -1 before the oldest point, the newest end after the newest point."""
        if not len(self):  # no end of any partition has been observed yet
            return np.full(len(rows), UNKNOWN_OFFSET, np.int64)
        after = self._search(self._time, rows, time)
        times, left, right = self._neighbours(rows, after)
        ends = self._offset.reshape(-1)
        share = (time - times[left]) / np.maximum(times[right] - times[left], 1)
        end = ends[left] + np.rint(share * (ends[right] - ends[left])).astype(np.int64)
        return np.where(after > 0, end, UNKNOWN_OFFSET)

    def _bracket(self, rows: Ints, after: Ints) -> tuple[Ints, Ints, Ints, Codes]:
        """Return `_neighbours`, and the quality."""
        count = self._count[rows]
        quality = np.full(len(rows), BracketQuality.BETWEEN, np.int8)
        quality[after >= count] = BracketQuality.NEWER
        quality[after == 0] = BracketQuality.OLDER
        quality[count == 0] = BracketQuality.UNKNOWN
        return *self._neighbours(rows, after), quality

    def _neighbours(self, rows: Ints, after: Ints) -> tuple[Ints, Ints, Ints]:
        """Return all times as one flat array, and the indices in it of the points before and at `after`.

        Beyond the points of a row both are its oldest or its newest one.
        """
        flat, last = rows * self._points, np.maximum(self._count[rows] - 1, 0)
        return self._time.reshape(-1), flat + np.maximum(after - 1, 0), flat + np.minimum(after, last)

    def _search(self, column: Ints, rows: Ints, value: Ints) -> Ints:
        """Return how many points of each row are at or below the value.

        A binary search in which all rows take the same steps; unused points are above any value.
        """
        line = column.reshape(-1)
        first = rows * self._points
        at, size = first.copy(), int(self._count.max(initial=1))
        while size > 1:
            half = size // 2
            at += half * (line[at + (half - 1)] <= value)
            size -= half
        at += line[at] <= value
        at -= first
        return at

    def _drop_from(self, rows: Ints, time: int) -> None:
        """Drop the points at or after a time."""
        kept = self._search(self._time, rows, np.full(len(rows), time - 1))
        is_dropped = np.arange(self._points)[None, :] >= kept[:, None]
        for column in (self._time, self._offset):
            column[rows] = np.where(is_dropped, _UNUSED, column[rows])
        self._count[rows] = kept
        self._record_change(rows)

    def _thin(self, rows: Ints, count: Ints, now: int) -> None:
        """Drop points of full rows, and in turn of those that soon will be, so that no tick thins all of them."""
        self._turn += 1
        is_due = (count == self._points) | ((rows + self._turn) % self._spare == 0)
        full = rows[is_due & (count > self._points - self._spare)]
        for size in np.unique(self._count[full]).tolist():
            self._thin_rows(full[self._count[full] == size], size, now)

    def _thin_rows(self, rows: Ints, size: int, now: int) -> None:
        """Drop a quarter of the points of rows that have `size` of them, never two neighbours at once."""
        times, offsets = self._time[rows, :size], self._offset[rows, :size]
        inner = np.arange(1 + self._turn % 2, size - 1, 2)
        dropped = min(self._spare, len(inner))
        loss = _loss(times, offsets, inner) / np.maximum(now - times[:, inner], 1)
        kept: Flags = np.ones((len(rows), size), np.bool_)
        drop = inner[np.argpartition(loss, dropped - 1, axis=1)[:, :dropped]]
        np.put_along_axis(kept, drop, values=False, axis=1)
        left = size - dropped
        self._time[rows, :left] = times[kept].reshape(-1, left)
        self._offset[rows, :left] = offsets[kept].reshape(-1, left)
        self._time[rows, left:] = self._offset[rows, left:] = _UNUSED
        self._count[rows] = left
        self._record_change(rows)


def _loss(times: Ints, offsets: Ints, inner: Ints) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return by how much (ms) the answer at each inner point changes if the point is dropped."""
    before, after = inner - 1, inner + 1
    rise = np.maximum(offsets[:, after] - offsets[:, before], 1)
    share = (offsets[:, inner] - offsets[:, before]) / rise
    line = times[:, before] + share * (times[:, after] - times[:, before])
    still = offsets[:, after] == offsets[:, before]
    return np.where(still, 0.0, np.abs(line - times[:, inner]))
