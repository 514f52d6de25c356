"""Displays the catch-up: a progress bar on a terminal, otherwise a log line every ten seconds."""

import time
from typing import IO, Final

import structlog
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from exporters.readmodel import CatchUp

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
