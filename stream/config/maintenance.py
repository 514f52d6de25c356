"""Maintenance windows: a single span of time, and a weekly schedule in the local time of a zone; and silences. Pure."""

import dataclasses
import datetime as dt
import math
from typing import Final
from zoneinfo import ZoneInfo

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""The days of a weekly schedule, in the order of `datetime.date.weekday`."""
_DAY_SECONDS: Final = 86_400


@dataclasses.dataclass(frozen=True, slots=True)
class SingleWindow:
    """A window from `start` to `end` (Unix seconds); the end is not part of it."""

    start: float
    end: float

    def open_until(self, now: float) -> float | None:
        """Return the end of the window if it is open at `now` (both Unix seconds), otherwise None."""
        return self.end if self.start <= now < self.end else None


@dataclasses.dataclass(frozen=True, slots=True)
class WeeklyWindow:
    """A window of `seconds` that begins on each of `days` (numbers of DAYS) at the local time `at` of a time zone.

    The length is elapsed time, so that a window over a change of the clock is as long as any other. A local time that
    the clock skips is read with the offset before the change (02:30 becomes 03:30), one that occurs twice is the first,
    as in RFC 5545, section 3.3.5.
    """

    days: frozenset[int]
    at: dt.time
    seconds: float
    zone: str

    def open_until(self, now: float) -> float | None:
        """Return the latest end of the windows that are open at `now` (both Unix seconds), None if there is none."""
        zone = ZoneInfo(self.zone)
        today = dt.datetime.fromtimestamp(now, zone).date()
        # One day more on each side: a change of the clock moves a start over midnight in UTC, but never by a day.
        back = math.ceil(self.seconds / _DAY_SECONDS) + 1
        days = (today - dt.timedelta(days=before) for before in range(-1, back + 1))
        starts = (dt.datetime.combine(day, self.at, zone).timestamp() for day in days if day.weekday() in self.days)
        return max((start + self.seconds for start in starts if start <= now < start + self.seconds), default=None)


MaintenanceWindow = SingleWindow | WeeklyWindow


@dataclasses.dataclass(frozen=True, slots=True)
class Silence:
    """Mutes the alerts about a group for a reason, until `until` (Unix seconds); None: while it is configured."""

    reason: str
    until: float | None = None

    def holds(self, now: float) -> bool:
        """Return whether it mutes at `now` (Unix seconds). The end is not part of it."""
        return self.until is None or now < self.until
