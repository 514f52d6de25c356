"""Times that users enter, as ISO 8601 or Unix milliseconds, and time ranges as filters of rows."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stream.offline.rows import LogRow


def parse_time(text: str) -> int:
    """Parse a time as Unix milliseconds; without a time zone it is in UTC. Raises ValueError for other formats."""
    try:
        if text.lstrip("-").isdecimal():
            return int(text)
        time = dt.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither ISO 8601, such as 2026-01-31T09:30, nor Unix milliseconds") from None
    with_zone = time if time.tzinfo else time.replace(tzinfo=dt.UTC)
    return round(with_zone.timestamp() * 1000)


@dataclasses.dataclass(frozen=True, slots=True)
class TimeRange:
    """The times from `start` to before `end`, in Unix ms. None: no limit."""

    start: int | None = None
    end: int | None = None

    def contains(self, timestamp: int | None) -> bool:
        """Return whether a timestamp is in the range; None is only in the range without limits."""
        if timestamp is None:
            return self.start is None and self.end is None
        return (self.start is None or timestamp >= self.start) and (self.end is None or timestamp < self.end)

    def filter(self, rows: Iterable[LogRow]) -> Iterator[LogRow]:
        """Return the rows with a timestamp in the range."""
        return (row for row in rows if self.contains(row.timestamp))
