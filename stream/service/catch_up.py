"""The progress of the initial catch-up, and its display: a bar on a terminal, otherwise a log line every ten seconds.

It counts positions, not records: the tail of a partition may be a control record or may have been compacted away, and
an empty partition has no record at all. A partition is caught up when the reader's next offset is at or past the last
stable offset that it had at start. Positions of finished batches are exact. While a batch runs, its tasks report
progress; that is displayed and shows the watchdog that the batch goes on, and does not affect readiness.
"""

import time
from collections import deque
from collections.abc import Mapping
from typing import IO, Final

import structlog
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from exporters.readmodel import CatchUp

_RATE_SECONDS: Final = 10.0
_RATE_SAMPLES: Final = 64


class CatchUpProgress:
    """Progress from the start positions to the ends captured at start."""

    def __init__(self, starts: Mapping[int, int], ends: Mapping[int, int]) -> None:
        """Start from the positions of the state, or log start offsets; `ends` are the last stable offsets at start."""
        self._ends = dict(ends)
        self._starts = {partition: min(starts.get(partition, 0), end) for partition, end in ends.items()}
        self._finished = dict(starts)
        self._displayed = dict(self._starts)
        self._samples: deque[tuple[float, int]] = deque(maxlen=_RATE_SAMPLES)

    @property
    def positions(self) -> dict[int, int]:
        """Next offset to read per partition, after the last finished batch."""
        return dict(self._finished)

    @property
    def caught_up(self) -> bool:
        """True if all records that the log had at start are in the state."""
        return self.is_reached_by(self._finished)

    def is_reached_by(self, positions: Mapping[int, int]) -> bool:
        """Return whether all records that the log had at start are before these positions."""
        return all(positions.get(partition, 0) >= end for partition, end in self._ends.items())

    @property
    def behind(self) -> list[int]:
        """The partitions that are not caught up."""
        return [partition for partition, end in self._ends.items() if self._finished.get(partition, 0) < end]

    @property
    def offsets_read(self) -> int:
        """The number of offsets read so far, also by the tasks of a running batch."""
        return sum(self._displayed[partition] - start for partition, start in self._starts.items())

    def finish(self, positions: Mapping[int, int]) -> None:
        """Record the positions after a finished batch."""
        self._finished.update(positions)
        self.record_task_progress(positions)

    def record_task_progress(self, positions: Mapping[int, int]) -> None:
        """Record the positions that tasks of a running batch report."""
        for partition, position in positions.items():
            if partition in self._ends:
                self._displayed[partition] = max(self._displayed[partition], min(position, self._ends[partition]))

    def catch_up(self, now: float) -> CatchUp:
        """Return the catch-up at `now` (seconds of a monotonic clock)."""
        done = self.offsets_read
        total = sum(self._ends[partition] - start for partition, start in self._starts.items())
        while self._samples and now - self._samples[0][0] > _RATE_SECONDS:
            self._samples.popleft()
        self._samples.append((now, done))
        (since, done_then) = self._samples[0]
        rate = (done - done_then) / (now - since) if now > since else None
        left = (total - done) / rate if rate else None
        return CatchUp(done / total if total else 1.0, rate, 0.0 if done >= total else left)


_log = structlog.get_logger(__name__)
_LINE_SECONDS: Final = 10.0
_NO_PACE: Final = "no pace yet"


class CatchUpView:
    """Displays a catch-up until it is done."""

    def __init__(self, stream: IO[str]) -> None:
        self._bar: Progress | None = None
        self._pace_shown = False
        self._next_line = time.monotonic() + _LINE_SECONDS
        if stream.isatty():
            columns = (TextColumn("catching up"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[pace]}"))
            self._bar = Progress(*columns, console=Console(file=stream), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("catching up", total=1.0, pace=_NO_PACE)

    def show(self, now: CatchUp) -> None:
        """Display the progress; cheap enough for ten calls per second."""
        if self._bar is not None:
            self._bar.update(self._task, completed=now.ratio, pace=_pace(now))
        elif time.monotonic() >= self._next_line or (not self._pace_shown and now.rate and now.ratio < 1):
            # The first line comes with the first pace, so that a short catch-up is logged as well.
            self._pace_shown = self._pace_shown or bool(now.rate)
            self._next_line = time.monotonic() + _LINE_SECONDS
            _log.info("catch-up running", percent=round(100 * now.ratio, 1), pace=_pace(now))

    def done(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _pace(now: CatchUp) -> str:
    if not now.rate:
        return _NO_PACE
    left = "" if now.seconds_left is None else f", about {now.seconds_left:.0f} s left"
    return f"{now.rate:,.0f} offsets/s{left}"
