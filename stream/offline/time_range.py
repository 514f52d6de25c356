"""Moments that a person types: ISO 8601 or Unix milliseconds, and the stretch between two of them."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stream.offline.rows import TopicRow


def parse_time(text: str) -> int:
    """Read a moment as Unix milliseconds; one without a zone is in UTC. Raises ValueError that says what is wanted."""
    try:
        if text.lstrip("-").isdecimal():
            return int(text)
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither ISO 8601, such as 2026-01-31T09:30, nor Unix milliseconds") from None
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return round(zoned.timestamp() * 1000)


@dataclasses.dataclass(frozen=True, slots=True)
class TimeRange:
    """The stretch of time from `start` to before `end`, in Unix ms; None: without limit on that side."""

    start: int | None = None
    end: int | None = None

    def holds(self, timestamp: int | None) -> bool:
        """Tell whether a record's timestamp lies in it; a record without one lies only in all of time."""
        if timestamp is None:
            return self.start is None and self.end is None
        return (self.start is None or timestamp >= self.start) and (self.end is None or timestamp < self.end)

    def only(self, rows: Iterable[TopicRow]) -> Iterator[TopicRow]:
        """Leave out the rows outside."""
        return (row for row in rows if self.holds(row.timestamp))
