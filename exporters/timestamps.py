"""Times within the range of dates, and times as RFC 3339 text. Standard library only."""

import datetime as dt
from typing import Final

EARLIEST_MS: Final = -62_135_596_800_000
"""0001-01-01T00:00:00.000Z in Unix milliseconds."""
LATEST_MS: Final = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z in Unix milliseconds."""


def clamp_ms(milliseconds: int) -> int:
    """Return the nearest time (Unix milliseconds) within the years 1 to 9999."""
    return min(max(milliseconds, EARLIEST_MS), LATEST_MS)


def rfc3339(unix_seconds: float) -> str:
    """Return a time as RFC 3339 text in UTC with milliseconds, clamped to the years 1 to 9999."""
    within = min(max(unix_seconds, EARLIEST_MS / 1000), LATEST_MS / 1000)
    at = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=min(round(within * 1000), LATEST_MS))
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
