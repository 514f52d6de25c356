"""How fast something grows that compaction also shrinks: over a window long enough to see both. Pure."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

WINDOW_SECONDS: Final = 3600.0
_MOST_POINTS: Final = 256


class LogGrowth:
    """Remembers what was measured at each poll, by key, for an hour."""

    def __init__(self) -> None:
        self._points: dict[int, deque[tuple[float, int]]] = {}

    def look(self, time: float, values: Mapping[int, int | None]) -> dict[int, float | None]:
        """Take in values at `time` (Unix seconds) and give the change per second of each, None before its second one.

        A value that is not known now leaves a hole, and its growth is not known now either. A key that is not among the
        values any more is forgotten.
        """
        self._points = {key: self._points.get(key, deque(maxlen=_MOST_POINTS)) for key in values}
        return {key: self._of(key, time, value) for key, value in values.items()}

    def _of(self, key: int, time: float, value: int | None) -> float | None:
        points = self._points[key]
        while points and time - points[0][0] > WINDOW_SECONDS:
            points.popleft()
        if value is None:
            return None
        points.append((time, value))
        since, before = points[0]
        return (value - before) / (time - since) if time > since else None
